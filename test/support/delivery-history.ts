import { randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import {
  MATCHED,
  type MatchedEvent,
  type Message,
  type Outcome,
  partitionStream,
  type PartitionEvent,
} from '../../src/domain/deliveries/delivery-events';
import { messageIdOf, partitionOf } from '../../src/domain/subscriptions/receiver-id';

/** An organisation of the network, and a subscription of it that need not exist. */
const SAMPLE = {
  subscriptionId: '0'.repeat(32),
  organisationId: 1,
  receiver: '0123456789abcdef',
  topic: 'transactions',
} as const;

/** Writes a delivery log as the matcher and the sender do. */
export class DeliveryHistory {
  private readonly revisions = new Map<string, number>();

  constructor(private readonly log: EventLog) {}

  /** A message is due, by default one of `SAMPLE`; returns it with the revision of its event. */
  async due(name: string, message: Partial<Message> = {}): Promise<Message & { readonly revision: number }> {
    const receiver = message.receiver ?? SAMPLE.receiver;
    const due: Message = {
      ...SAMPLE,
      id: messageIdOf(name, receiver),
      subject: name,
      sequence: 0,
      stateId: 1,
      at: new Date(0).toISOString(),
      // After everything: its receiver has not changed since.
      cause: '0009000000000000000',
      request: {
        method: 'POST',
        url: 'https://receiver.example/a?b=c',
        contentType: 'text/plain',
        body: name,
      },
      ...message,
    };
    const revision = await this.append(MATCHED, { type: 'MessageDue', data: due });
    return { ...due, revision };
  }

  /** The outcome of a message, by default a delivery at its first attempt. */
  async outcome(
    message: Message & { readonly revision: number },
    outcome: Partial<Outcome> = {},
  ): Promise<void> {
    const { id, receiver, subscriptionId, organisationId, revision } = message;
    const data: Outcome = {
      ...{ id, receiver, subscriptionId, organisationId, revision },
      outcome: 'delivered',
      at: message.at,
      attempt: 1,
      ms: 12,
      status: outcome.outcome === undefined || outcome.outcome === 'delivered' ? 200 : 500,
      ...outcome,
    };
    await this.append(partitionStream(partitionOf(receiver)), { type: 'MessageAttempted', data });
  }

  /** What is decided about a message without an attempt. */
  async decided(
    { id, receiver, subscriptionId, organisationId, revision, at }: Message & { readonly revision: number },
    { outcome, error }: Pick<Outcome, 'outcome' | 'error'>,
  ): Promise<void> {
    const reason = error === undefined ? {} : { error };
    const data: Outcome = { id, receiver, subscriptionId, organisationId, revision, outcome, at, ...reason };
    await this.append(partitionStream(partitionOf(receiver)), { type: 'MessageAttempted', data });
  }

  /** The id of the message about an event. */
  idOf(event: string, receiver: string): string {
    return messageIdOf(event, receiver);
  }

  /** A receiver is to be tried at once. */
  async probe(receiver: string, at: string): Promise<void> {
    const { subscriptionId, organisationId } = SAMPLE;
    await this.append(MATCHED, { type: 'ProbeDue', data: { subscriptionId, organisationId, receiver, at } });
  }

  /** A message is to be sent again, as earlier versions have stored it; returns the revision of that. */
  async redeliver(message: Message & { readonly revision: number }, at: string): Promise<number> {
    const { id, receiver, subscriptionId, organisationId, revision } = message;
    return await this.append(MATCHED, {
      type: 'RedeliveryDue',
      data: { id, receiver, subscriptionId, organisationId, revision, at },
    });
  }

  /** What the matcher has made. */
  async matched(event: MatchedEvent): Promise<void> {
    await this.append(MATCHED, event);
  }

  async append(stream: string, event: MatchedEvent | PartitionEvent): Promise<number> {
    const before = this.revisions.get(stream) ?? (await lastRevision(this.log, stream));
    const { revision } = await this.log.append(stream, before, [
      toNewEvent(event satisfies DomainEvent, randomUUID()),
    ]);
    this.revisions.set(stream, revision);
    return revision;
  }
}

async function lastRevision(log: EventLog, stream: string): Promise<number> {
  for await (const [event] of log.readStream(stream, { backwards: true, limit: 1 }))
    return event?.revision ?? NO_STREAM;
  return NO_STREAM;
}
