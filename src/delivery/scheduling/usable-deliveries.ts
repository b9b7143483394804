import { type RecordedEvent } from '../../kernel/event';
import { type Message, type Outcome, type OutcomeKind } from '../../domain/deliveries/delivery-events';
import { type SavedPart } from './saved-partition';

/*
 * Whether events of the delivery log have what scheduling needs. Ours have; one that another program has written must not end the sending
 * of everything else (`docs/decisions.md#x103`).
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
  const isRequest =
    request === undefined ||
    (typeof request === 'object' && request !== null && isText(Reflect.get(request, 'url')));
  return (
    [id, subscriptionId, receiver, subject, cause].every(isText) &&
    [organisationId, sequence, stateId].every(Number.isInteger) &&
    isTime(at) &&
    isRequest
  );
}

/** Of events about a receiver, besides messages. */
export function isUsableMatched({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): boolean {
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

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}
