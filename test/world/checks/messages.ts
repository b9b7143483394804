import { createHash } from 'node:crypto';
import { type RecordedEvent } from '../../../src/kernel/event';
import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { EPOCH } from '../simulation';
import { require } from './broken';
import { type Check, dataOf, type Observed } from './check';

/** A message that is due because of the log alone. */
export interface Expected {
  readonly id: string;
  readonly subscription: string;
  readonly receiver: string;
  readonly url: string;
  readonly subject: string;
  readonly sequence: number;
  /** Its receiver was removed at some time: it may be cancelled. */
  isCancellable: boolean;
  /** Since when its subscription has no such receiver any more (ms of the world). */
  removedAt: number | undefined;
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

function receiversOf(subscription: string, content: SubscriptionContent | undefined) {
  return (content?.receivers ?? []).map((one) => ({
    receiver: one.id ?? base32(JSON.stringify([subscription, one.httpMethod, one.receiverUrl]), 10),
    url: one.receiverUrl.split('?')[0] ?? '',
  }));
}

/** All messages of a log, in their order, from the documents alone: whatever processes did. */
class Model {
  readonly all = new Map<string, Expected>();
  private read = 0;
  private readonly active = new Map<
    string,
    { readonly organisation: number; readonly content: SubscriptionContent }
  >();

  /** Up to now. */
  advance({ disks: { log }, unusable }: Observed): void {
    for (; this.read < log.all.length; this.read += 1) {
      const event = log.all[this.read]!;
      if (!unusable.has(event.stream)) this.take(event, log.timeOf(event) - EPOCH);
    }
  }

  private take(event: RecordedEvent, time: number): void {
    const [, category, id = ''] = /^(\w+)-(.*)$/.exec(event.stream) ?? [];
    if (category === 'subscription') this.subscription(id, event.type, dataOf(event), time);
    if (category === 'deliveryrequests' && event.type === 'TestRequested') {
      const one = receiversOf(id, this.active.get(id)?.content).find(
        ({ receiver }) => receiver === dataOf(event)['receiver'],
      );
      if (one !== undefined) this.add(event.id, id, one, { subject: `test-${event.id}`, sequence: 1 });
    }
    const state = category === 'transaction' ? STATE[event.type] : undefined;
    if (state === undefined) return;
    const { transaction } = dataOf(event) as {
      readonly transaction: { readonly advertiserId: number; readonly publisherId: number };
    };
    for (const party of new Set([transaction.advertiserId, transaction.publisherId]))
      for (const [subscription, { organisation, content }] of this.active)
        if (organisation === party && content.filter.stateIds.includes(state))
          for (const one of receiversOf(subscription, content))
            this.add(event.id, subscription, one, { subject: id, sequence: event.revision + 1 });
  }

  private subscription(
    id: string,
    type: string,
    data: Readonly<Record<string, unknown>>,
    time: number,
  ): void {
    const content = data['subscription'] as SubscriptionContent;
    const organisation = Number(data['organisationId'] ?? this.active.get(id)?.organisation);
    if (type === 'SubscriptionDeleted') this.active.delete(id);
    else if (/Created$|Replaced$/.test(type)) this.active.set(id, { organisation, content });
    const left = new Set(receiversOf(id, this.active.get(id)?.content).map(({ receiver }) => receiver));
    for (const one of this.all.values()) {
      if (one.subscription !== id) continue;
      const isLeft = left.has(one.receiver);
      one.isCancellable ||= !isLeft;
      one.removedAt = isLeft ? undefined : (one.removedAt ?? time);
    }
  }

  private add(
    event: string,
    subscription: string,
    to: Pick<Expected, 'receiver' | 'url'>,
    about: Pick<Expected, 'subject' | 'sequence'>,
  ): void {
    const id = `msg_${base32(`${event} ${to.receiver}`, 20)}`;
    this.all.set(id, { id, subscription, ...to, ...about, isCancellable: false, removedAt: undefined });
  }
}

const models = new WeakMap<Observed, Model>();

export function expectedOf(world: Observed): ReadonlyMap<string, Expected> {
  const model = models.get(world) ?? new Model();
  models.set(world, model);
  model.advance(world);
  return model.all;
}

/** Messages that receivers have got so far. */
export function receivedBy(world: Observed): readonly Expected[] {
  const expected = expectedOf(world);
  return [...new Set(world.receivers.all.map(({ id }) => id))].flatMap((id) => expected.get(id) ?? []);
}

const madeIn = ({ disks }: Observed): readonly RecordedEvent[] =>
  disks.deliveries.stream('matched').filter(({ type }) => type === 'MessageDue');

const matched: Check = {
  promise: 'Exactly the messages that are due by the log are made, once each, and in its order (N11, N15).',
  left: (world) => {
    const [due, made] = [expectedOf(world).size, madeIn(world).length];
    return made < due ? `${due - made} messages are not matched` : undefined;
  },
  verify: (world) => {
    const expected = expectedOf(world);
    const ids = madeIn(world).map((event) => String(dataOf(event)['id']));
    const made = new Set<string>();
    const sequences = new Map<string, number>();
    for (const id of ids) {
      require(!made.has(id), () => `message ${id} was matched twice`);
      made.add(id);
      const message = expected.get(id);
      require(message !== undefined, () => `message ${id} was matched, but is not due`);
      const { receiver, subject, sequence } = message;
      const key = `${receiver} ${subject}`;
      require((sequences.get(key) ?? 0) < sequence, () =>
        `messages about ${subject} to ${receiver} are out of order`);
      sequences.set(key, sequence);
    }
    for (const id of expected.keys()) require(made.has(id), () => `message ${id} was not matched`);
  },
};

const owed: Check = {
  promise: 'Every message that is due arrives, unless its receiver was removed before (N3).',
  left: (world) => {
    const accepted = new Set(world.receivers.all.filter(({ isAccepted }) => isAccepted).map(({ id }) => id));
    const left = [...expectedOf(world).values()].filter(
      ({ id, isCancellable }) => !accepted.has(id) && !isCancellable,
    );
    const [first] = left;
    return (
      first &&
      `${left.length} messages are not delivered, the first is ${first.id} to ${first.url} (${first.receiver})`
    );
  },
};

export const MESSAGES = [matched, owed] as const;
