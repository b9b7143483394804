import { randomUUID } from 'node:crypto';
import { execute, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, type Position } from '../../src/kernel/event';
import { APPEND_LIMITS, type EventLog } from '../../src/kernel/event-log';
import { MATCHED, type MatchedEvent, type Message } from '../../src/domain/deliveries/delivery-events';
import { messageIdOf, receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { type Receiver, subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';

const AT = '2026-03-01T12:00:00.000Z';
const PER_SUBSCRIPTION = 10;

/** Nothing else is due because of subscriptions to it. */
const NO_EVENT = 999;

/** A receiver that messages can be made for. */
export interface Target {
  readonly subscriptionId: string;
  readonly receiver: string;
  readonly url: string;
}

/** Creates subscriptions with these receivers, which no transaction matches. */
export async function subscribe(log: EventLog, urls: readonly string[]): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (let at = 0; at < urls.length; at += PER_SUBSCRIPTION) {
    const subscriptionId = randomUUID();
    const receivers = urls.slice(at, at + PER_SUBSCRIPTION).map((receiverUrl): Receiver => ({
      receiverUrl,
      httpMethod: 'POST',
      receiverBody: '{}',
      receiverFormat: 'JSON',
    }));
    const subscription = { filter: { stateIds: [1], eventIds: [NO_EVENT] }, receivers };
    const command = { do: 'create', at: AT, topic: 'transactions', organisationId: 2, subscription } as const;
    await execute(SYSTEM_CLOCK, log, subscriptionDecider, subscriptionId, command);
    for (const receiver of receivers)
      targets.push({
        subscriptionId,
        receiver: receiverIdOf(subscriptionId, receiver),
        url: receiver.receiverUrl,
      });
  }
  return targets;
}

/** What a message is about; its body has all of it. */
interface MessageContent {
  readonly subject: string;
  readonly sequence: number;
  readonly cause: Position;
  /** Makes the body longer. */
  readonly more?: string;
}

/** A message that is due. */
export function messageTo(
  { subscriptionId, receiver, url }: Target,
  { subject, sequence, cause, more = '' }: MessageContent,
): Message {
  return {
    id: messageIdOf(`${subject} ${sequence}`, receiver),
    subscriptionId,
    organisationId: 2,
    receiver,
    topic: 'transactions',
    subject,
    sequence,
    stateId: 1,
    at: new Date().toISOString(),
    cause,
    request: {
      method: 'POST',
      url,
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify({ subject, sequence, more }),
    },
  };
}

/** Appends to `matched`, as the matcher does. */
export class Matched {
  private revision = NO_STREAM;

  constructor(private readonly deliveries: EventLog) {}

  async append(messages: readonly Message[], upTo: Position): Promise<void> {
    const most = APPEND_LIMITS.events - 1;
    for (let at = 0; at < messages.length; at += most) {
      const due = messages.slice(at, at + most).map((data): MatchedEvent => ({ type: 'MessageDue', data }));
      const cursor: MatchedEvent = { type: 'Matched', data: { upTo, messages: 0 } };
      const events = [...due, cursor].map((event) => toNewEvent(event, randomUUID()));
      this.revision = (await this.deliveries.append(MATCHED, this.revision, events)).revision;
    }
  }
}
