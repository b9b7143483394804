import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type RecordedEvent } from '../../src/kernel/event';
import { type SubscriptionContent } from '../../src/domain/subscriptions/subscription';
import { type Disks } from './host';
import { type MemoryCollections } from './memory-store';
import { type Network } from './network';
import { type Received, type Receivers } from './receivers';
import { EPOCH, type Simulation } from './simulation';
import { type Sent } from './workload';

/** What is known of a world. */
interface World {
  readonly disks: Disks;
  readonly stores: readonly MemoryCollections[];
  readonly sent: readonly Sent[];
  readonly receivers: Receivers;
  readonly network: Network;
  readonly simulation: Simulation;
  readonly unusable: ReadonlySet<string>;
}

/** A promise of the system that a world has broken. */
class Broken extends Error {
  override readonly name = 'Broken';
}

function require(isSo: boolean, what: () => string): asserts isSo {
  if (!isSo) throw new Broken(what());
}

/** Checks everything that the system promises. Raises `Broken`. */
export function check(world: World): void {
  transactions(world);
  vouchers(world);
  claims(world);
  subscriptions(world);
  messages(world);
  attempts(world);
  require(owed(world) === undefined, () => owed(world) ?? '');
  readModels(world);
}

// Commands ------------------------------------------------------------------------------------------------------

const dataOf = ({ data }: RecordedEvent) => JSON.parse(data) as Readonly<Record<string, unknown>>;

function streamsOf(
  { disks: { log }, unusable }: World,
  category: string,
): ReadonlyMap<string, readonly RecordedEvent[]> {
  const names = log.names.filter((name) => name.startsWith(`${category}-`) && !unusable.has(name));
  return new Map(names.map((name) => [name.slice(category.length + 1), log.stream(name)]));
}

const isDone = ({ answer }: Sent): boolean => answer.is === 'done';
const resultOf = ({ answer }: Sent) =>
  (answer.is === 'done' ? answer.result : {}) as Readonly<Record<string, unknown>>;
const saidOf = ({ name, what }: Sent): string => `${name} ${JSON.stringify(what)}`;

/** Decisions T1. */
function transactionIdOf({ orderNumber, eventId, organisationId, programId }: Sent['what']): string {
  const name = [orderNumber, eventId, organisationId, `program${String(programId)}`].join('_');
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

/** Document 2, States and transitions. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  '': ['Tracked'],
  Tracked: ['Invalidated', 'Paused', 'BecamePending', 'TrackedApproved'],
  Paused: ['Invalidated', 'BecamePending', 'TrackedApproved', 'PausedDeleted'],
  BecamePending: ['PendingApproved', 'Deleted', 'Amended'],
  Amended: ['PendingApproved', 'Deleted', 'Amended'],
  TrackedApproved: ['Deleted', 'Paid'],
  PendingApproved: ['Deleted', 'Paid'],
};
const EVENT_OF: Readonly<Record<string, string>> = {
  approve: 'PendingApproved',
  deny: 'Deleted',
  delete: 'Deleted',
  amend: 'Amended',
};
/** What the system does by itself (decisions T4). */
const AUTOMATIC: readonly unknown[] = [3, 4];

/** What was acknowledged is there once, nothing else is, and every transaction has a history that is allowed. */
function transactions(world: World): void {
  const { disks, sent } = world;
  const streams = streamsOf(world, 'transaction');
  const timeOf = (event: RecordedEvent): number => disks.log.timeOf(event) - EPOCH;
  const reports = sent.filter(({ name }) => name === 'report');
  const moves = sent.filter(({ name }) => name === 'move');
  for (const one of reports.filter(isDone)) {
    const id = transactionIdOf(one.what);
    require(resultOf(one)['transactionId'] === id, () =>
      `${saidOf(one)} was answered with another id than ${id}`);
    const [first] = streams.get(id) ?? [];
    require(first !== undefined && timeOf(first) <= one.answeredAt, () =>
      `${saidOf(one)} was acknowledged, but is not there`);
  }
  for (const [id, events] of streams) {
    const own = reports.filter(({ what }) => transactionIdOf(what) === id);
    const { transaction } = dataOf(events[0]!) as { readonly transaction: Sent['what'] };
    const isClaimed = sent.some(
      ({ name, what }) => name === 'file claim' && what['orderNumber'] === transaction['orderNumber'],
    );
    require(isClaimed || own.some(({ sentAt }) => sentAt <= timeOf(events[0]!)), () =>
      `nobody has reported transaction ${id}`);
    const created = own.filter((one) => resultOf(one)['outcome'] === 'created');
    require(created.length <= 1, () => `transaction ${id} was created ${created.length} times`);
    let before = '';
    for (const event of events) {
      const entered = event.type.slice('Transaction'.length);
      require(NEXT[before]?.includes(entered) === true, () =>
        `transaction ${id}: ${entered} after ${before}`);
      before = entered;
    }
    for (const action of ['approve', 'deny', 'delete', 'amend']) {
      const type = EVENT_OF[action];
      const ofKind = moves.filter(
        ({ what }) => what['transactionId'] === id && EVENT_OF[String(what['action'])] === type,
      );
      const entered = events.filter((event) => event.type === `Transaction${type ?? ''}`);
      for (const event of entered)
        require(isClaimed ||
          AUTOMATIC.includes(dataOf(event)['deniedReasonId']) ||
          ofKind.some(({ sentAt }) => sentAt <= timeOf(event)), () =>
          `transaction ${id}: nobody has asked for ${event.type}`);
      for (const one of ofKind.filter((one) => resultOf(one)['outcome'] === 'moved'))
        require(entered.some((event) => timeOf(event) >= one.sentAt && timeOf(event) <= one.answeredAt), () =>
          `${saidOf(one)} was acknowledged, but has not happened`);
    }
  }
}

/** A `sourceId` has one voucher at a time; what was acknowledged is in its history (decisions V15). */
function vouchers(world: World): void {
  const { disks, sent } = world;
  const streams = streamsOf(world, 'voucher');
  const timeOf = (event: RecordedEvent): number => disks.log.timeOf(event) - EPOCH;
  const posts = sent.filter(({ name }) => name === 'post voucher');
  const live = new Map<string, string>();
  for (const [id, events] of streams) {
    const { programId, sourceId } = dataOf(events[0]!) as { programId: number; sourceId?: string };
    const isWithdrawn = events.at(-1)?.type === 'VoucherWithdrawn';
    require(events.filter(({ type }) => type === 'VoucherWithdrawn').length === (isWithdrawn ? 1 : 0), () =>
      `voucher ${id} goes on after it was withdrawn`);
    for (const event of events) {
      const title = (dataOf(event)['voucher'] as { readonly title?: string } | undefined)?.title;
      require(title === undefined || posts.some(({ what }) => what['title'] === title), () =>
        `voucher ${id}: nobody has posted ${title ?? ''}`);
    }
    if (isWithdrawn || sourceId === undefined) continue;
    const key = `${programId} ${sourceId}`;
    require(!live.has(key), () => `vouchers ${live.get(key) ?? ''} and ${id} have the sourceId ${key}`);
    live.set(key, id);
  }
  for (const one of posts.filter(isDone)) {
    const events = streams.get(String(resultOf(one)['id'])) ?? [];
    const isThere = events.some(
      (event) =>
        (dataOf(event)['voucher'] as { readonly title?: string } | undefined)?.title === one.what['title'] &&
        timeOf(event) <= one.answeredAt,
    );
    require(isThere, () => `${saidOf(one)} was acknowledged, but is not there`);
  }
  for (const one of sent.filter((one) => one.name === 'withdraw voucher' && isDone(one)))
    require(streams.get(String(one.what['id']))?.at(-1)?.type === 'VoucherWithdrawn', () =>
      `${saidOf(one)} was acknowledged, but has not happened`);
}

/** What was acknowledged is there; a key has one claim (decisions C4); an approved one becomes one transaction (C10). */
function claims(world: World): void {
  const { disks, sent } = world;
  const filed = sent.filter(({ name }) => name === 'file claim');
  const keys = new Map<string, string>();
  const tracked = new Map<unknown, string>();
  const streams = new Map([...streamsOf(world, 'claim')].filter(([id]) => /^\d+$/.test(id)));
  for (const [id, events] of streams) {
    const first = events.find(({ type }) => type === 'ClaimFiled');
    // Somebody else wanted its key before it could be filed.
    if (first === undefined) continue;
    const { programId, orderNumber } = dataOf(first)['claim'] as Sent['what'];
    const key = `${String(programId)} ${String(orderNumber)}`;
    require(filed.some(
      ({ what }) => what['orderNumber'] === orderNumber && what['programId'] === programId,
    ), () => `nobody has filed claim ${id}`);
    require(!keys.has(key), () => `claims ${keys.get(key) ?? ''} and ${id} have the key ${key}`);
    keys.set(key, id);
    const made = events.filter(({ type }) => type === 'ClaimTracked');
    const rulings = events.filter(({ type }) => type === 'ClaimRuled');
    const isApproved = rulings.some((event) => dataOf(event)['statusId'] === 3);
    require(made.length === (isApproved ? 1 : 0), () =>
      `claim ${id} was tracked ${made.length} times (${isApproved})`);
    for (const event of made) {
      const { transactionId } = dataOf(event);
      require(!tracked.has(transactionId), () =>
        `claims ${tracked.get(transactionId) ?? ''} and ${id} are one transaction`);
      tracked.set(transactionId, id);
      require(disks.log.stream(`transaction-${String(transactionId)}`).length > 0, () =>
        `claim ${id} has no transaction`);
    }
  }
  for (const one of filed.filter(isDone))
    for (const id of resultOf(one)['ids'] as readonly number[])
      require(disks.log.timeOf(streams.get(String(id))?.[0] as RecordedEvent) - EPOCH <= one.answeredAt, () =>
        `${saidOf(one)} was acknowledged, but is not there`);
}

/** Each that was acknowledged exists, and there are no more than were asked for. */
function subscriptions(world: World): void {
  const { sent } = world;
  const streams = streamsOf(world, 'subscription');
  const created = sent.filter(({ name }) => name === 'create subscription');
  const ids = created.filter(isDone).map((one) => String(resultOf(one)['subscriptionId']));
  require(new Set(ids).size === ids.length, () => 'two posts were answered with one subscription');
  for (const id of ids)
    require(streams.has(id), () => `subscription ${id} was acknowledged, but is not there`);
  const most = created.reduce((sum, { times }) => sum + times, 0);
  require(streams.size <= most, () => `${streams.size} subscriptions of ${most} posts`);
  for (const one of sent.filter((one) => one.name === 'delete subscription' && isDone(one)))
    require(streams.get(String(one.what['id']))?.at(-1)?.type === 'SubscriptionDeleted', () =>
      `${saidOf(one)} was acknowledged, but has not happened`);
}

// Messages ------------------------------------------------------------------------------------------------------

/** A message that is due because of the log alone. */
interface Expected {
  readonly id: string;
  readonly subscription: string;
  readonly receiver: string;
  readonly url: string;
  readonly subject: string;
  readonly sequence: number;
  /** Its receiver was removed at some time: it may be cancelled. */
  isCancellable: boolean;
}

/** Message types by events (Document 2). */
const STATE: Readonly<Record<string, number>> = {
  TransactionTracked: 1,
  TransactionInvalidated: 2,
  TransactionPaused: 3,
  TransactionBecamePending: 4,
  TransactionTrackedApproved: 5,
  TransactionPendingApproved: 6,
  TransactionPausedDeleted: 7,
  TransactionDeleted: 8,
  TransactionPaid: 9,
};

/** Decisions N15: hashes in base 32. */
function base32(text: string, bytes: number): string {
  const hex = createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * bytes);
  return BigInt(`0x${hex}`)
    .toString(32)
    .padStart((bytes * 8) / 5, '0');
}

const expectations = new WeakMap<
  World,
  { readonly head: string; readonly all: ReadonlyMap<string, Expected> }
>();

/** All messages of the log up to now, in their order, from the documents alone: whatever processes did. */
function expectedOf(world: World): ReadonlyMap<string, Expected> {
  const { log } = world.disks;
  const known = expectations.get(world);
  if (known?.head === log.head) return known.all;
  const all = new Map<string, Expected>();
  const add = (
    event: string,
    subscription: string,
    { receiver, url }: { readonly receiver: string; readonly url: string },
    about: { readonly subject: string; readonly sequence: number },
  ): void => {
    const id = `msg_${base32(`${event} ${receiver}`, 20)}`;
    all.set(id, { id, subscription, receiver, url, ...about, isCancellable: false });
  };
  const active = new Map<string, { readonly organisation: number; content: SubscriptionContent }>();
  for (const event of log.all) {
    if (world.unusable.has(event.stream)) continue;
    const data = dataOf(event);
    const id = event.stream.slice(event.stream.indexOf('-') + 1);
    if (/^(subscription|deliveryrequests)-/.test(event.stream)) {
      const content = data['subscription'] as SubscriptionContent;
      if (event.type === 'SubscriptionCreated')
        active.set(id, { organisation: Number(data['organisationId']), content });
      if (event.type === 'SubscriptionReplaced')
        active.set(id, { organisation: active.get(id)?.organisation ?? 0, content });
      if (event.type === 'SubscriptionDeleted') active.delete(id);
      const left = new Set(receiversOf(id, active.get(id)?.content).map(({ receiver }) => receiver));
      for (const one of all.values())
        if (one.subscription === id && !left.has(one.receiver)) one.isCancellable = true;
      const tested = receiversOf(id, active.get(id)?.content).find(
        ({ receiver }) => receiver === data['receiver'],
      );
      if (event.type === 'TestRequested' && tested !== undefined)
        add(event.id, id, tested, { subject: `test-${event.id}`, sequence: 1 });
      continue;
    }
    const state = event.stream.startsWith('transaction-') ? STATE[event.type] : undefined;
    if (state === undefined) continue;
    const { advertiserId, publisherId } = data['transaction'] as {
      readonly advertiserId: number;
      readonly publisherId: number;
    };
    for (const party of new Set([advertiserId, publisherId]))
      for (const [subscription, { organisation, content }] of active) {
        if (organisation !== party || !content.filter.stateIds.includes(state)) continue;
        for (const { receiver, url } of receiversOf(subscription, content)) {
          const subject = event.stream.slice('transaction-'.length);
          add(event.id, subscription, { receiver, url }, { subject, sequence: event.revision + 1 });
        }
      }
  }
  expectations.set(world, { head: log.head, all });
  return all;
}

function receiversOf(subscription: string, content: SubscriptionContent | undefined) {
  return (content?.receivers ?? []).map((one) => ({
    receiver: one.id ?? base32(JSON.stringify([subscription, one.httpMethod, one.receiverUrl]), 10),
    url: one.receiverUrl.split('?')[0] ?? '',
  }));
}

/** Exactly what is due is matched, once and in the order of the log. */
function messages(world: World): void {
  const expected = [...expectedOf(world).keys()];
  const matched = world.disks.deliveries
    .stream('matched')
    .filter(({ type }) => type === 'MessageDue')
    .map((event) => String(dataOf(event)['id']));
  const counts = new Map<string, number>();
  for (const id of matched) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const id of expected) require(counts.has(id), () => `message ${id} was not matched`);
  for (const [id, count] of counts) {
    require(count === 1, () => `message ${id} was matched ${count} times`);
    require(expectedOf(world).has(id), () => `message ${id} was matched, but is not due`);
  }
  const subjects = new Map<string, number>();
  for (const id of matched) {
    const { receiver, subject, sequence } = expectedOf(world).get(id) as Expected;
    const key = `${receiver} ${subject}`;
    require((subjects.get(key) ?? 0) < sequence, () =>
      `messages about ${subject} to ${receiver} are out of order`);
    subjects.set(key, sequence);
  }
}

/** What is still to be delivered; undefined: nothing. */
export function owed(world: World): string | undefined {
  const accepted = new Set(world.receivers.all.filter(({ isAccepted }) => isAccepted).map(({ id }) => id));
  const left = [...expectedOf(world).values()].filter(
    ({ id, isCancellable }) => !accepted.has(id) && !isCancellable,
  );
  const [first] = left;
  return first === undefined
    ? undefined
    : `${left.length} messages are not delivered, the first is ${first.id} to ${first.url} (${first.receiver})`;
}

/** None twice, unless its attempt was in flight at a kill, freeze or partition; in the promised order (decisions N3, N6). */
function attempts(world: World): void {
  const expected = expectedOf(world);
  const byId = new Map<string, Received[]>();
  for (const one of world.receivers.all) {
    require(expected.has(one.id), () => `${one.id} was sent, but is not due`);
    byId.set(one.id, [...(byId.get(one.id) ?? []), one]);
  }
  const delivered = new Map<string, number>();
  for (const event of world.disks.deliveries.all.filter(({ type }) => type === 'MessageAttempted')) {
    const { id, outcome } = dataOf(event);
    if (outcome !== 'failed' && !delivered.has(String(id)))
      delivered.set(String(id), world.disks.deliveries.timeOf(event) - EPOCH);
  }
  for (const [id, received] of byId) {
    for (const [at, one] of received.entries()) {
      const next = received.slice(at + 1).find(({ isManual }) => !isManual);
      if (next === undefined || one.isManual) continue;
      const durable = delivered.get(id) ?? Infinity;
      require(next.started <= durable, () =>
        `${id} was sent by ${next.process} at ${next.started}, though it was over at ${durable}`);
      if (one.end === 'failure' || one.end === 'timeout') continue;
      // It was accepted, or nobody knows.
      require(world.network.troubles.some(
        ({ process, from, until }) => process === one.process && from <= next.started && until >= one.started,
      ), () =>
        `${id} was sent by ${one.process} at ${one.started} and again by ${next.process} at ${next.started}, though nothing was wrong with ${one.process}`);
    }
  }
  const last = new Map<string, { readonly sequence: number; readonly id: string }>();
  for (const { id, receiver, subject, sequence } of expected.values()) {
    const first = byId.get(id)?.find(({ isManual }) => !isManual);
    if (first === undefined) continue;
    const key = `${receiver} ${subject}`;
    const before = last.get(key);
    const earlier = before && byId.get(before.id)?.find(({ isManual }) => !isManual);
    require(earlier === undefined || earlier.started <= first.started, () =>
      `${id}, ${sequence} of ${subject}, was sent to ${receiver} before ${before?.sequence ?? ''}`);
    last.set(key, { sequence, id });
  }
}

// Read models -----------------------------------------------------------------------------------------------------

/** Nothing is parked that can be used, and all stores have what the last one has, which was projected without faults. */
function readModels({ stores, unusable }: World): void {
  const rebuilt = stores.at(-1);
  for (const [number, store] of stores.entries()) {
    for (const { body } of store.documentsOf('parked').values())
      require(unusable.has((JSON.parse(body) as { readonly stream: string }).stream), () =>
        `parked: ${body}`);
    for (const { collection } of [...PROJECTIONS, ...DELIVERY_PROJECTIONS]) {
      const [live, expected] = [store.documentsOf(collection.name), rebuilt?.documentsOf(collection.name)];
      for (const id of new Set([...live.keys(), ...(expected?.keys() ?? [])]))
        require(isDeepStrictEqual(live.get(id), expected?.get(id)), () =>
          `${id} of ${collection.name} in store ${number} is ${JSON.stringify(live.get(id))}, but rebuilt ${JSON.stringify(expected?.get(id))}`);
    }
  }
}

/** Messages that receivers have got so far, with their subscriptions. */
export function receivedBy(world: World): readonly { readonly id: string; readonly subscription: string }[] {
  const expected = expectedOf(world);
  return [...new Set(world.receivers.all.map(({ id }) => id))].flatMap((id) => expected.get(id) ?? []);
}

/** What the system has to do by itself by now, and has not done; undefined: nothing (decisions T4, C9, C10). */
export function overdue({ stores, simulation }: World): string | undefined {
  const now = EPOCH + simulation.now - HOUR;
  for (const [collection, fields] of Object.entries(WORK))
    for (const { id, fields: has } of stores[0]?.documentsOf(collection).values() ?? [])
      for (const field of fields)
        if (Number(has[field] ?? Infinity) <= now) return `${id} of ${collection} waits for ${field}`;
  return undefined;
}

const HOUR = 3_600_000;
const WORK = {
  transactions: ['due'],
  claims: ['autoApproveAt', 'unscreened', 'untracked'],
  'claim-batches': ['accepted'],
};
