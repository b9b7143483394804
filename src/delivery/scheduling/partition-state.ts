import {
  type DeadLetter,
  type Outcome,
  type MatchedEvent,
  type Message,
  type OutcomeKind,
} from '../../domain/deliveries/delivery-events';
import { afterProbeRequest, type Health, HEALTHY } from '../../domain/deliveries/health';
import { deadLetterOf, deletedDeadLetter } from './outcome';
import { ReceiverState, type Retry } from './receiver-state';
import { type RecordedEvent } from '../../kernel/event';
import { isObject, isText, isTime } from '../../kernel/values';

/** How much is kept in memory; beyond it, a part of long queues is read again later. */
interface QueueLimits {
  /** Messages of a partition. */
  readonly partition: number;
  /** Messages of a receiver that are always kept. */
  readonly receiver: number;
}

const LIMITS: QueueLimits = { partition: 100_000, receiver: 1_000 };

/**
 * What has to be sent to the receivers of a partition: the fold of the stream `matched`, and of the outcomes in the
 * partition's stream, in any order of the two. Pure: no clock.
 */
export class PartitionState {
  readonly receivers = new Map<string, ReceiverState>();
  /** Messages that are dead, by their ids, unless the domain log is known to have them. */
  readonly deadLetters = new Map<string, DeadLetter>();
  /** The revision of `matched` up to which it was taken in. */
  matchedUpTo = -1;
  private queued = 0;

  constructor(private readonly limits: QueueLimits = LIMITS) {}

  /** Messages in all queues. */
  get size(): number {
    return this.queued;
  }

  /**
   * Takes a message of a receiver of this partition. Messages are taken in order; one that was taken before is ignored.
   */
  due(receiver: string, revision: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    const state = this.receiver(receiver);
    if (state.unreadFrom !== undefined) return;
    const isLong = state.queue.size >= this.limits.receiver && this.queued >= this.limits.partition;
    if (isLong) state.unreadFrom = revision;
    else this.counting(state, () => state.take(revision));
  }

  /** Takes a redelivery: `revision` is that of the message, `redelivery` that of the event. */
  redeliver(receiver: string, redelivery: number, revision: number): void {
    if (redelivery <= this.matchedUpTo) return;
    this.matchedUpTo = redelivery;
    this.receiver(receiver).takeRedelivery(redelivery, revision);
  }

  /** Takes a request not to make the redeliveries to a receiver that were taken before. */
  cancelRedeliveries(receiver: string, revision: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    this.receiver(receiver).redeliveries.clear();
  }

  /** Takes a request for a probe, of a time (epoch ms): the receiver no longer rests. */
  probe(receiver: string, revision: number, at: number): void {
    if (revision <= this.matchedUpTo) return;
    this.matchedUpTo = revision;
    const state = this.receiver(receiver);
    state.health = afterProbeRequest(state.health, at);
  }

  /** `matched` has been read up to here. */
  reach(revision: number): void {
    this.matchedUpTo = Math.max(this.matchedUpTo, revision);
  }

  settle(outcome: Outcome, state = this.receiver(outcome.receiver)): void {
    this.counting(state, () => state.settle(outcome, this.matchedUpTo));
    const deadLetter = deadLetterOf(outcome);
    if (deadLetter !== undefined) this.deadLetters.set(deadLetter.id, deadLetter);
  }

  /** Receivers whose queue has become short: the messages that are not in it are to be read. */
  *short(): Generator<{ readonly receiver: string; readonly unreadFrom: number }> {
    for (const [receiver, { unreadFrom, queue }] of this.receivers)
      if (unreadFrom !== undefined && queue.size <= this.limits.receiver / 2) yield { receiver, unreadFrom };
  }

  /**
   * Takes the messages of a receiver from its `unreadFrom` on, as far as they were read; `unreadFrom` is where to
   * continue, if anywhere.
   */
  refill(receiver: string, revisions: readonly number[], unreadFrom: number | undefined): void {
    const state = this.receiver(receiver);
    this.counting(state, () => {
      for (const revision of revisions) state.take(revision);
    });
    state.unreadFrom = unreadFrom;
  }

  /** The message was deleted from the log: if it was still to be sent, it is a dead letter. */
  forget(receiver: string, revision: number, known: Pick<DeadLetter, 'at' | 'subscriptionId'>): void {
    const state = this.receivers.get(receiver);
    if (state === undefined) return;
    const deadLetter = deletedDeadLetter(receiver, revision, state, known);
    if (deadLetter !== undefined) this.deadLetters.set(deadLetter.id, deadLetter);
    this.counting(state, () => state.forget(revision));
  }

  /** Makes the receiver's state if there is none. */
  receiver(id: string): ReceiverState {
    let state = this.receivers.get(id);
    if (state === undefined) {
      state = new ReceiverState();
      this.receivers.set(id, state);
    }
    return state;
  }

  /** Puts back what was saved. */
  restore(receivers: Iterable<readonly [string, ReceiverState]>, matchedUpTo: number): void {
    this.matchedUpTo = matchedUpTo;
    for (const [id, state] of receivers) {
      this.receivers.set(id, state);
      this.queued += state.queue.size;
    }
  }

  private counting({ queue }: ReceiverState, change: () => void): void {
    const before = queue.size;
    change();
    this.queued += queue.size - before;
  }
}

/**
 * The data of `PartitionSaved`: a state that fits into events of limited size. A large one has several parts, which
 * follow one another in the stream; the last one completes it. The shape is the storage format: add, never rename.
 */
export interface SavedPart {
  /** From 1. */
  readonly part: number;
  readonly parts: number;
  readonly matchedUpTo: number;
  readonly receivers: readonly SavedReceiver[];
  /** Those that the domain log is not known to have. */
  readonly deadLetters?: readonly DeadLetter[];
}

/** All of a receiver, or a part of it. Integers are encoded by `encodeIntegers`. */
interface SavedReceiver {
  readonly id: string;
  /** Ascending revisions, as differences. */
  readonly queue?: string;
  readonly settled?: string;
  /** For each: the difference of revisions, attempt, next. */
  readonly retries?: string;
  /** The subjects of retries that others wait for, by revision. */
  readonly subjects?: Readonly<Record<string, string>>;
  /** For each: the revision of the redelivery, and that of its message. */
  readonly redeliveries?: string;
  /** `unreadFrom` of its state. */
  readonly rest?: number;
  readonly health?: Health;
}

/** Integers in one `SavedReceiver`, and the maximum characters of a part: less than an append may have. */
const SLICE = 5_000;
const PART_CHARACTERS = 700_000;

export function savePartition(state: PartitionState): readonly SavedPart[] {
  const { matchedUpTo } = state;
  const receivers = inParts(saveReceivers(state));
  const deadLetters = inParts(state.deadLetters.values());
  const empty = { receivers: [] };
  const saved = [
    ...receivers.map((part) => ({ receivers: part })),
    ...deadLetters.map((part) => ({ ...empty, deadLetters: part })),
  ];
  const parts = saved.length === 0 ? [empty] : saved;
  return parts.map((part, at) => ({ part: at + 1, parts: parts.length, matchedUpTo, ...part }));
}

/** Puts the parts of a saved state back into an empty one. */
export function restorePartition(state: PartitionState, parts: readonly SavedPart[]): void {
  const receivers = new Map<string, ReceiverState>();
  for (const saved of parts.flatMap((part) => part.receivers)) {
    const receiver = receivers.get(saved.id) ?? new ReceiverState();
    receivers.set(saved.id, receiver);
    restoreReceiver(receiver, saved);
  }
  for (const deadLetter of parts.flatMap((part) => part.deadLetters ?? []))
    state.deadLetters.set(deadLetter.id, deadLetter);
  state.restore(receivers, parts[0]?.matchedUpTo ?? -1);
}

/** Divides what is saved into parts of limited size. */
function inParts<Saved>(all: Iterable<Saved>): readonly (readonly Saved[])[] {
  const parts: Saved[][] = [];
  let characters = Infinity;
  for (const saved of all) {
    const { length } = JSON.stringify(saved);
    if (characters + length > PART_CHARACTERS) {
      parts.push([]);
      characters = 0;
    }
    parts.at(-1)?.push(saved);
    characters += length;
  }
  return parts;
}

function* saveReceivers({ receivers }: PartitionState): Generator<SavedReceiver> {
  for (const [id, state] of receivers) if (!state.isBlank) yield* saveReceiver(id, state);
}

function* saveReceiver(id: string, state: ReceiverState): Generator<SavedReceiver> {
  const { unreadFrom: rest, health, redeliveries, settled } = state;
  yield { id, ...(rest === undefined ? {} : { rest }), ...(health === HEALTHY ? {} : { health }) };
  for (const slice of slicesOf([...state.queue])) yield { id, queue: ascending(slice) };
  for (const slice of slicesOf([...settled].sort((a, b) => a - b))) yield { id, settled: ascending(slice) };
  for (const slice of slicesOf([...redeliveries])) yield { id, redeliveries: encodeIntegers(slice.flat()) };
  const retries = [...state.retries].sort(([a], [b]) => a - b);
  for (const slice of slicesOf(retries)) yield { id, ...saveRetries(slice) };
}

function saveRetries(
  retries: readonly (readonly [number, Retry])[],
): Pick<SavedReceiver, 'retries' | 'subjects'> {
  const revisions = differences(retries.map(([revision]) => revision));
  const integers = retries.flatMap(([, { attempt, next }], at) => [revisions[at] ?? 0, attempt, next]);
  const subjects = retries.flatMap(([revision, { subject }]) =>
    subject === undefined ? [] : [[String(revision), subject] as const],
  );
  return {
    retries: encodeIntegers(integers),
    ...(subjects.length === 0 ? {} : { subjects: Object.fromEntries(subjects) }),
  };
}

function restoreReceiver(state: ReceiverState, saved: SavedReceiver): void {
  const { queue = '', settled = '', redeliveries = '', retries = '', subjects = {}, rest, health } = saved;
  for (const revision of sums(decodeIntegers(queue))) state.queue.add(revision);
  for (const revision of sums(decodeIntegers(settled))) state.settled.add(revision);
  for (const [redelivery = 0, revision = 0] of tuplesOf(decodeIntegers(redeliveries), 2))
    state.redeliveries.set(redelivery, revision);
  let before = 0;
  for (const [difference = 0, attempt = 0, next = 0] of tuplesOf(decodeIntegers(retries), 3)) {
    before += difference;
    const subject = subjects[String(before)];
    state.retries.set(before, { attempt, next, ...(subject === undefined ? {} : { subject }) });
  }
  if (rest !== undefined) state.unreadFrom = rest;
  if (health !== undefined) state.health = health;
}

function ascending(revisions: readonly number[]): string {
  return encodeIntegers(differences(revisions));
}

function* slicesOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += SLICE) yield items.slice(at, at + SLICE);
}

function* tuplesOf(integers: readonly number[], length: number): Generator<readonly number[]> {
  for (let at = 0; at < integers.length; at += length) yield integers.slice(at, at + length);
}

/** Encodes integers of at least 0, below 2^53, in base64: small ones in one byte. */
export function encodeIntegers(integers: Iterable<number>): string {
  const bytes: number[] = [];
  for (const integer of integers) {
    let left = integer;
    while (left >= 0x80) {
      bytes.push((left % 0x80) + 0x80);
      left = Math.floor(left / 0x80);
    }
    bytes.push(left);
  }
  return Buffer.from(bytes).toString('base64');
}

export function decodeIntegers(text: string): readonly number[] {
  const integers: number[] = [];
  let integer = 0;
  let factor = 1;
  for (const byte of Buffer.from(text, 'base64')) {
    integer += (byte % 0x80) * factor;
    factor *= 0x80;
    if (byte >= 0x80) continue;
    integers.push(integer);
    integer = 0;
    factor = 1;
  }
  return integers;
}

/** Ascending integers as their differences, and back. */
function differences(ascending: Iterable<number>): readonly number[] {
  let before = 0;
  return Array.from(ascending, (integer) => {
    const difference = integer - before;
    before = integer;
    return difference;
  });
}

function sums(differences: readonly number[]): readonly number[] {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

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
