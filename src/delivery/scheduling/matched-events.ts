import {
  type MatchedEvent,
  type Message,
  type Outcome,
  type OutcomeKind,
} from '../../domain/deliveries/delivery-events';
import { type RecordedEvent } from '../../kernel/event';
import { isObject, isText, isTime } from '../../kernel/unknown';
import { type PartitionState, type SavedPart } from './partition-state';

/** Within a text of JSON the quotes are escaped, so this finds the property only. */
const RECEIVER = /"receiver":"([^"]*)"/;

const OF_RECEIVERS: ReadonlySet<string> = new Set<MatchedEvent['type']>([
  'MessageDue',
  'RedeliveryDue',
  'ProbeDue',
  'RedeliveriesWithdrawn',
]);

/** The receiver that an event is about, without parsing all of it; undefined for other events. */
export function receiverIn({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): string | undefined {
  return OF_RECEIVERS.has(type) ? RECEIVER.exec(data)?.[1] : undefined;
}

/**
 * Lets the state of the receiver's partition take an event of `matched`. False if it was taken before, or is not
 * usable.
 */
export function takeMatched(
  state: PartitionState,
  receiver: string,
  { type, data, revision }: RecordedEvent,
): boolean {
  if (revision <= state.matchedUpTo || !isUsableMatched({ type, data })) return false;
  if (type === 'MessageDue') state.due(receiver, revision);
  else if (type === 'RedeliveriesWithdrawn') state.cancelRedeliveries(receiver, revision);
  else if (type === 'ProbeDue')
    state.probe(receiver, revision, Date.parse((JSON.parse(data) as DataOf<'ProbeDue'>).at));
  else state.redeliver(receiver, revision, (JSON.parse(data) as DataOf<'RedeliveryDue'>).revision);
  return true;
}

/** Whether a `MessageDue` is a test, without parsing all of it. */
export function isTestMessage({ data }: Pick<RecordedEvent, 'data'>): boolean {
  return data.includes('"isTest":true');
}

type DataOf<Type extends MatchedEvent['type']> = Extract<MatchedEvent, { readonly type: Type }>['data'];

/*
 * Whether events of the delivery log have what scheduling needs. Ours have; one that another program has written must
 * not end the sending of everything else (`docs/decisions.md#x103`).
 */

const OUTCOMES: Readonly<Record<OutcomeKind, true>> = {
  delivered: true,
  failed: true,
  dead: true,
  cancelled: true,
};

export function isUsableMessage(message: Partial<Record<keyof Message, unknown>>): boolean {
  const { id, subscriptionId, organisationId, receiver, subject, sequence, stateId, at, cause, request } =
    message;
  return (
    isText(id) &&
    isText(subscriptionId) &&
    isText(receiver) &&
    isText(subject) &&
    isText(cause) &&
    Number.isInteger(organisationId) &&
    Number.isInteger(sequence) &&
    Number.isInteger(stateId) &&
    isTime(at) &&
    (request === undefined || (isObject(request) && isText(request['url'])))
  );
}

/** Of events about a receiver, besides messages. */
function isUsableMatched({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): boolean {
  if (type === 'ProbeDue') return isTime((JSON.parse(data) as { readonly at?: unknown }).at);
  if (type !== 'RedeliveryDue') return true;
  return Number.isInteger((JSON.parse(data) as { readonly revision?: unknown }).revision);
}

export function isUsableOutcome(outcome: Partial<Record<keyof Outcome, unknown>>): boolean {
  const { id, receiver, revision, outcome: kind, at, next, deadLetter } = outcome;
  return (
    isText(id) &&
    isText(receiver) &&
    Number.isInteger(revision) &&
    isText(kind) &&
    Object.hasOwn(OUTCOMES, kind) &&
    isTime(at) &&
    (next === undefined || isTime(next)) &&
    (deadLetter === undefined || typeof deadLetter === 'object')
  );
}

export function isUsablePart(part: Partial<Record<keyof SavedPart, unknown>>): boolean {
  const { part: number, parts, matchedUpTo, receivers } = part;
  return [number, parts, matchedUpTo].every(Number.isInteger) && Array.isArray(receivers);
}
