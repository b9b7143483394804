import {
  appendIdempotently,
  type EventOf,
  eventsOf,
  lastEvent,
  toDomainEvent,
  toNewEvent,
} from '../../kernel/decider';
import { type Ids, NO_STREAM, type Position, streamOf } from '../../kernel/event';
import { type Appended, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { isText, isTime } from '../../kernel/values';
import { isPosted } from '../../wire/api/posted';

/**
 * What somebody asks to be sent for a subscription, in the stream `deliveryrequests-<subscription id>`: a test, a
 * probe, a redelivery, or a message of a backfill. It changes no state of the subscription, and there may be
 * any number of it.
 *
 * The names and shapes of these events are the storage format: add, never rename. Until requests had a stream of their
 * own they were in that of their subscription, where old logs have them; probes because of a PUT still are.
 */

/** `receiver`: its id (`receiver-id.ts`). */
export type DeliveryRequest =
  /** A message with example values, about a state. */
  | EventOf<'TestRequested', { receiver: string; stateId: number }>
  /** A receiver that rests is to be tried at once. */
  | EventOf<'ProbeRequested', { receiver: string }>
  /**
   * A message is made of a transition of the past, at `time`: the event before the revision `sequence` of its subject's
   * stream.
   */
  | EventOf<
      'MessageRequested',
      {
        receiver: string;
        message: string;
        subject: string;
        sequence: number;
        stateId: number;
        time: string;
        /**
         * The messages of the backfill about the event exceed what is sent (`docs/decisions.md#n15`): it is a dead
         * letter.
         */
        isBeyond?: true;
      }
    >
  /** A message is to be sent again; `revision` is that of its `MessageDue` in the stream `matched`. */
  | EventOf<'RedeliveryRequested', { receiver: string; message: string; revision: number }>;

const DELIVERY_REQUESTS = 'deliveryrequests';

export const REQUEST_STREAMS = `${DELIVERY_REQUESTS}-`;

export function requestStream(subscriptionId: string): string {
  return streamOf(DELIVERY_REQUESTS, subscriptionId);
}

interface Requested extends Appended {
  /** Of the events, in their order. */
  readonly ids: readonly string[];
}

/**
 * Appends requests, as many as an append has room for. At `revision` of the requests, unless there are others by now:
 * then it raises `RevisionConflict`. By default after whatever is there.
 */
export async function appendRequests(
  uuids: Ids,
  log: EventLog,
  subscriptionId: string,
  requests: readonly DeliveryRequest[],
  revision?: number,
): Promise<Requested> {
  const stream = requestStream(subscriptionId);
  const events = requests.map((request) => toNewEvent(request, uuids.uuid()));
  for (;;) {
    const expected = revision ?? (await lastRequest(log, subscriptionId));
    try {
      const appended = await appendIdempotently(log, stream, expected, events);
      return { ...appended, ids: events.map(({ id }) => id) };
    } catch (error) {
      if (revision !== undefined || !(error instanceof RevisionConflict)) throw error;
    }
  }
}

/** The revision of the last request; `NO_STREAM` without one. */
export async function lastRequest(log: EventLog, subscriptionId: string): Promise<number> {
  return (await lastEvent(log, requestStream(subscriptionId)))?.revision ?? NO_STREAM;
}

/** By how much the clocks of those who append may differ (ms), with room to spare. */
const CLOCKS_MS = 60 * 60 * 1000;

/**
 * The usable events of a stream from one back to a time (epoch ms), newest first: those whose `at` is an hour before
 * it at most, since clocks differ by less.
 */
export async function* backTo<Event extends EventOf<string>>(
  log: EventLog,
  stream: string,
  since: number | Position,
  from?: number,
): AsyncGenerator<Event & { readonly position: Position }, undefined> {
  if (from === NO_STREAM) return;
  const options = { backwards: true, batchSize: 100, ...(from === undefined ? {} : { from }) };
  for await (const recorded of eventsOf(log, stream, options)) {
    const event = toDomainEvent(recorded) as Event;
    if (!isUsable(event)) continue;
    if (typeof since === 'string') {
      if (recorded.position <= since) return;
      // The time of a `ReceiverDisabled` is that of the attempt, which may have been recorded much later.
    } else if (event.type !== 'ReceiverDisabled' && Date.parse(event.data.at) < since - CLOCKS_MS) return;
    yield { ...event, position: recorded.position };
  }
}

/**
 * Whether an event of a subscription has the fields of its type. One that has not, or is of an unknown type, was
 * written by another program: readers skip it (`docs/decisions.md#x103`).
 */
export function isUsable({ type, data }: { readonly type: string; readonly data: object }): boolean {
  const { at, topic, organisationId, subscription, receiver, secret, stateId, message, revision } =
    data as Readonly<Record<string, unknown>>;
  if (!isTime(at)) return false;
  switch (type) {
    case 'SubscriptionCreated':
      return isText(topic) && Number.isInteger(organisationId) && isContent(subscription);
    case 'SubscriptionReplaced': {
      const { kept } = data as Readonly<Record<string, unknown>>;
      return isContent(subscription) && (kept === undefined || isKept(kept));
    }
    case 'ReceiverDisabled':
    case 'ReceiverEnabled':
    case 'ProbeRequested':
      return isText(receiver);
    case 'SecretRotated':
      return Number.isInteger(secret);
    case 'TestRequested':
      return isText(receiver) && Number.isInteger(stateId);
    case 'MessageRequested': {
      const { subject, sequence, time } = data as Readonly<Record<string, unknown>>;
      const isAbout = isText(subject) && Number.isInteger(sequence) && Number.isInteger(stateId);
      return isText(receiver) && isText(message) && isAbout && isTime(time);
    }
    case 'RedeliveryRequested':
      return isText(receiver) && isText(message) && Number.isInteger(revision);
    case 'SubscriptionDeleted':
    case 'BackfillsCancelled':
    case 'RedeliveriesCancelled':
      return true;
    default:
      return false;
  }
}

function isContent(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { filter, receivers, currencyConversion, customAttribute } = value;
  return (
    isPosted(filter) &&
    Array.isArray(filter.stateIds) &&
    [filter.programIds, filter.siteIds, filter.eventIds, filter.eventTypeIds].every(isListIfAny) &&
    Array.isArray(receivers) &&
    receivers.every(isReceiver) &&
    (currencyConversion === undefined || (isPosted(currencyConversion) && isText(currencyConversion.to))) &&
    (customAttribute === undefined || isCustomAttribute(customAttribute))
  );
}

function isKept(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { secret, replacedSecrets, redeliveriesCancelled } = value;
  return (
    isPosted(secret) &&
    Number.isInteger(secret.number) &&
    isTime(secret.since) &&
    Array.isArray(replacedSecrets) &&
    replacedSecrets.every((one) => isPosted(one) && Number.isInteger(one.number) && isTime(one.until)) &&
    (redeliveriesCancelled === undefined || isTime(redeliveriesCancelled))
  );
}

function isReceiver(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { id, httpMethod, receiverUrl, receiverBody, receiverFormat } = value;
  if (!isText(receiverUrl) || !(id === undefined || isText(id))) return false;
  return httpMethod === 'GET' || (httpMethod === 'POST' && isText(receiverBody) && isText(receiverFormat));
}

function isCustomAttribute(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { tdAttributes, userAttribute, rules } = value;
  return (
    Array.isArray(tdAttributes) &&
    isText(userAttribute) &&
    Array.isArray(rules) &&
    rules.every((rule) => isPosted(rule) && Array.isArray(rule.inputs))
  );
}

function isListIfAny(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}
