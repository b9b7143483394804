import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { messageId, receiverId } from '../../delivery/matching/matching-model';
import { EPOCH } from '../simulation';
import { type Happened, type Sent, textOf } from '../clients';
import { CALLERS, FEEDS, PROGRAMS, PUBLISHER } from '../workloads/network-file';
import {
  backfill,
  enabled,
  enableReceiver,
  redeliverAll,
  replaceSubscription,
  type SubscribedTopic,
} from '../workloads/subscriptions';
import { require } from './broken';
import { type Check, deliveriesOf, historyOf, type Observed, streamOf, subjectOf } from './check';
import { Vouchers } from './vouchers';

/** A message that is due because of the log alone. */
export interface Expected {
  readonly id: string;
  readonly subscription: string;
  readonly receiver: string;
  readonly url: string;
  readonly subject: string;
  readonly sequence: number;
  /** It is about a transition of the past: those after it were made before. */
  readonly isOfPast: boolean;
  /** Its receiver was removed at some time, or it is of a backfill that was cancelled: it may be cancelled. */
  isCancellable: boolean;
  /** Since when its subscription has no such receiver any more (ms of the world). */
  removedAt: number | undefined;
  /**
   * When somebody has asked for it to be sent again, and which of these requests is not cancelled (ms of the world).
   */
  readonly requests: number[];
  pending: number | undefined;
}

/** Since when the system, or its owner, has disabled a receiver, and until when (ms of the world). */
interface Disabled {
  readonly subscription: string;
  readonly receiver: string;
  readonly isByOwner: boolean;
  readonly from: number;
  until: number;
}

/** What has become of a transaction, voucher, product or feed: subscriptions may select it. */
interface Change {
  readonly topic: SubscribedTopic;
  readonly subject: string;
  readonly state: number;
  readonly parties: readonly number[];
  /** What filters select by, beside the state (N20). */
  readonly facts?: {
    readonly feedId: number;
    /** The price before, and now. */
    readonly fall?: readonly [before: number, now: number];
    readonly categories?: readonly string[];
    readonly brand?: string;
  };
}

interface Transition extends Change {
  readonly id: string;
  readonly sequence: number;
  /** By the clock of whoever has appended it, and of the world (ms of the world). */
  readonly at: number;
  readonly time: number;
}

function isSelected({ filter }: SubscriptionContent, { state, facts }: Change): boolean {
  const { feedIds, minFallPercent = 0, tdCategoryIds, keywords } = filter;
  const { feedId = 0, fall: [before, now] = [1, 0], categories = [], brand = '' } = facts ?? {};
  return (
    filter.stateIds.includes(state) &&
    feedIds?.includes(feedId) !== false &&
    (before - now) * 100 >= before * minFallPercent &&
    tdCategoryIds?.some((id) => categories.includes(String(id))) !== false &&
    keywords?.includes(brand) !== false
  );
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

function receiversOf(subscription: string, content: SubscriptionContent | undefined) {
  return (content?.receivers ?? []).map((one) => ({
    receiver: one.id ?? receiverId(subscription, one.receiverUrl),
    url: one.receiverUrl.split('?')[0] ?? '',
    isDisabled: content?.disabled === true || one.disabled === true,
  }));
}

/** All messages of a log, in their order, from the documents alone: whatever processes did. */
class Model {
  readonly all = new Map<string, Expected>();
  readonly disabled: Disabled[] = [];
  readonly transitions: Transition[] = [];
  private read = 0;
  readonly active = new Map<
    string,
    { readonly topic: SubscribedTopic; readonly organisation: number; readonly content: SubscriptionContent }
  >();
  private readonly vouchers = new Vouchers();

  /** Up to now. */
  advance(world: Observed): void {
    for (const event of historyOf(world, this.read)) this.take(event);
    this.read = world.disks.log.all.length;
  }

  private take(event: Happened): void {
    const { type, data, time } = event;
    const id = subjectOf(event);
    switch (type) {
      case 'SubscriptionCreated':
        this.active.set(id, {
          ...{ topic: data.topic as SubscribedTopic, organisation: data.organisationId },
          content: data.subscription,
        });
        return this.disable(id, time);
      case 'SubscriptionReplaced':
        this.active.set(id, { ...this.active.get(id)!, content: data.subscription });
        this.changed(event);
        return this.disable(id, time);
      case 'SubscriptionDeleted':
        this.active.delete(id);
        return this.changed(event);
      case 'ReceiverDisabled':
        this.disabled.push({
          ...{ subscription: id, receiver: data.receiver, isByOwner: false, from: time, until: Infinity },
        });
        return;
      case 'ReceiverEnabled':
      case 'BackfillsCancelled':
      case 'RedeliveriesCancelled':
        return this.changed(event);
      case 'TestRequested': {
        const one = this.receiver(id, data.receiver);
        if (one?.isDisabled === false)
          this.add(event.id, id, one, { subject: `test-${event.id}`, sequence: 1 });
        return;
      }
      case 'MessageRequested': {
        if (!this.active.has(id)) return;
        const { receiver, subject, sequence } = data;
        const { topic } = this.active.get(id)!;
        const cause = this.transitions.find(
          (of) => of.topic === topic && of.subject === subject && of.sequence === sequence,
        );
        const one = this.receiver(id, receiver);
        const to = one ?? { receiver, url: '' };
        const message = this.add(cause?.id ?? '', id, to, { subject, sequence }, true);
        if (one === undefined) [message.isCancellable, message.removedAt] = [true, time];
        return;
      }
      case 'RedeliveryRequested': {
        const again = this.all.get(data.message);
        again?.requests.push(time);
        if (again !== undefined) again.pending = time;
        return;
      }
      default:
        this.entered(event, this.changeIn(event));
    }
  }

  private entered({ id, revision, time, data }: Happened, change: Change | undefined): void {
    if (change === undefined) return;
    const sequence = revision + 1;
    this.transitions.push({ ...change, id, sequence, at: Date.parse(data.at) - EPOCH, time });
    for (const [subscription, { topic, organisation, content }] of this.active)
      if (topic === change.topic && change.parties.includes(organisation) && isSelected(content, change))
        for (const one of receiversOf(subscription, content))
          if (!one.isDisabled) this.add(id, subscription, one, { subject: change.subject, sequence });
  }

  private changeIn(event: Happened): Change | undefined {
    const { type, data, stream } = event;
    const id = subjectOf(event);
    if ('transaction' in data) {
      const [state, { advertiserId, publisherId = 0 }] = [STATE[type], data.transaction];
      const parties = [advertiserId, publisherId];
      return state === undefined ? undefined : { topic: 'transactions', subject: id, state, parties };
    }
    const turned = this.vouchers.take(event);
    if (turned !== undefined) {
      const owner = PROGRAMS.find(({ programId }) => programId === turned.programId)?.organisationId ?? 0;
      const [was, is] = [turned.before === 'shown', turned.after === 'shown'];
      const state = was ? (is ? 2 : 3) : 1;
      return was || is ? { topic: 'vouchers', subject: id, state, parties: [owner, PUBLISHER] } : undefined;
    }
    const feed = FEEDS.find((one) => stream === `feedchanges-${one.id}`);
    return feed && changeOfFeed(event, feed.id, feed.organisationId);
  }

  /** What its owner has disabled. */
  private disable(subscription: string, from: number): void {
    for (const { receiver, isDisabled } of receiversOf(subscription, this.active.get(subscription)?.content))
      if (isDisabled) this.disabled.push({ subscription, receiver, isByOwner: true, from, until: Infinity });
  }

  /** A subscription has changed, or what was requested for it. */
  private changed(event: Happened): void {
    const { type, data, time } = event;
    const id = subjectOf(event);
    const receiver = 'receiver' in data ? data.receiver : undefined;
    if (!type.endsWith('Cancelled'))
      for (const one of this.disabled)
        if (
          one.subscription === id &&
          (receiver === undefined || (one.receiver === receiver && !one.isByOwner))
        )
          one.until = Math.min(one.until, time);
    const left = new Set(receiversOf(id, this.active.get(id)?.content).map((one) => one.receiver));
    for (const one of this.all.values()) {
      if (one.subscription !== id) continue;
      const isLeft = left.has(one.receiver);
      one.isCancellable ||= !isLeft || (one.isOfPast && type === 'BackfillsCancelled');
      if (!isLeft || type === 'RedeliveriesCancelled') one.pending = undefined;
      one.removedAt = isLeft ? undefined : (one.removedAt ?? time);
    }
  }

  private receiver(id: string, receiver: string) {
    return receiversOf(id, this.active.get(id)?.content).find((one) => one.receiver === receiver);
  }

  private add(
    event: string,
    subscription: string,
    to: Pick<Expected, 'receiver' | 'url'>,
    about: Pick<Expected, 'subject' | 'sequence'>,
    isOfPast = false,
  ): Expected {
    const id = messageId(event, to.receiver);
    const known = { isCancellable: false, removedAt: undefined, requests: [], pending: undefined };
    const message: Expected = { id, subscription, ...to, ...about, isOfPast, ...known };
    this.all.set(id, message);
    return message;
  }
}

/** Publishers see what is mapped (P13). */
function changeOfFeed({ type, data }: Happened, feedId: number, owner: number): Change | undefined {
  const topic = 'products';
  if (type === 'FeedChangesRecorded')
    return (
      data.load && { topic, subject: `${feedId}`, state: 3, parties: [owner, PUBLISHER], facts: { feedId } }
    );
  if (type !== 'ProductPriceFell' && type !== 'ProductBackInStock') return undefined;
  const { sourceProductId, categoryIds: categories, brand = '', price } = data;
  const facts = { feedId, categories, brand };
  const about = {
    ...({ topic, subject: `${feedId}-${sourceProductId}` } as const),
    parties: categories.length === 0 ? [owner] : [owner, PUBLISHER],
  };
  return 'fellFrom' in data
    ? { ...about, state: 1, facts: { ...facts, fall: [data.fellFrom, price] } }
    : { ...about, state: 2, facts };
}

const models = new WeakMap<Observed, Model>();

function modelOf(world: Observed): Model {
  const model = models.get(world) ?? new Model();
  models.set(world, model);
  model.advance(world);
  return model;
}

export function expectedOf(world: Observed): ReadonlyMap<string, Expected> {
  return modelOf(world).all;
}

/** Receivers that were disabled at some time. */
export function disabledIn(world: Observed): readonly Disabled[] {
  return modelOf(world).disabled;
}

/** What the owner of a receiver that is disabled asks for, so that it is not. */
export function enabling(
  world: Observed,
  { subscription: id, receiver, isByOwner }: Disabled,
): Pick<Sent, 'command' | 'what'> {
  const { organisation, topic, content } = modelOf(world).active.get(id)!;
  const caller = CALLERS.find(({ organisationId }) => organisationId === organisation)!;
  const which = { topic, id, caller };
  return isByOwner
    ? { command: replaceSubscription, what: enabled(which, content) }
    : { command: enableReceiver, what: { ...which, receiver } };
}

/** Messages that receivers have got so far. */
export function receivedBy(world: Observed): readonly Expected[] {
  const expected = expectedOf(world);
  return [...new Set(world.receivers.all.map(({ id }) => id))].flatMap((id) => expected.get(id) ?? []);
}

const madeIn = (world: Observed): readonly string[] =>
  deliveriesOf(world).flatMap(({ type, data }) => (type === 'MessageDue' ? data.id : []));

const matched: Check = {
  promise: 'Exactly the messages that are due by the log are made, once each, and in its order (N11, N15).',
  left: (world) => {
    const [due, made] = [expectedOf(world).size, madeIn(world).length];
    return made < due ? `${due - made} messages are not matched` : undefined;
  },
  verify: (world) => {
    const expected = expectedOf(world);
    const made = new Set<string>();
    const sequences = new Map<string, number>();
    for (const id of madeIn(world)) {
      require(!made.has(id), () => `message ${id} was matched twice`);
      made.add(id);
      const message = expected.get(id);
      require(message !== undefined, () => `message ${id} was matched, but is not due`);
      const { receiver, subject, sequence, isOfPast } = message;
      if (isOfPast) continue;
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

const again: Check = {
  promise:
    'A message that somebody has asked for again is sent again, unless the request was cancelled or its receiver removed (N17).',
  left: (world) => {
    const sent = new Map<string, number>();
    // What is accepted meanwhile need not be sent again.
    for (const { id, isManual, isAccepted, started, ended = started } of world.receivers.all)
      if (isManual || isAccepted)
        sent.set(id, Math.max(sent.get(id) ?? -1, isManual ? started : -1, isAccepted ? ended : -1));
    const left = [...expectedOf(world).values()].find(
      ({ id, pending, isCancellable }) => !isCancellable && (pending ?? -1) > (sent.get(id) ?? -1),
    );
    return left && `${left.id} is not sent again, as was asked for at ${left.pending ?? ''}`;
  },
};

const requested: Check = {
  promise: 'Redeliveries and backfills that were acknowledged are requested, as many as was answered (N17).',
  verify: (world) => {
    for (const one of [...world.clients.done(redeliverAll), ...world.clients.done(backfill)]) {
      const type = one.command.name === 'backfill' ? 'MessageRequested' : 'RedeliveryRequested';
      const made = streamOf(world, `deliveryrequests-${one.what.id}`).filter(
        (event) => event.type === type && isWithin(event, one),
      ).length;
      require(made >= one.result.requested, () =>
        `${textOf(one)} was answered with ${one.result.requested}, but there are ${made}`);
    }
  },
};

const isWithin = ({ time }: Happened, { sentAt, answeredAt }: Sent): boolean =>
  time >= sentAt && time <= answeredAt;

/** By how much clocks may differ (ms): backfills read so much more. */
const CLOCKS_MS = 3_600_000;

const past: Check = {
  promise:
    'After a backfill there is a message about each transition of its time that the subscription selects (N17).',
  verify: (world) => {
    const { transitions, all } = modelOf(world);
    if (transitions.some(({ at, time }) => Math.abs(at - time) > CLOCKS_MS / 2)) return;
    for (const one of world.clients.done(backfill)) {
      const changes = streamOf(world, `subscription-${one.what.id}`).filter(({ type }) =>
        type.startsWith('Subscription'),
      );
      if (changes.some((event) => isWithin(event, one))) continue;
      const { data } = changes.findLast(({ time }) => time < one.sentAt)!;
      const content = 'subscription' in data ? data.subscription : undefined;
      const [min, max] = [one.what.posted.minTime, one.what.posted.maxTime].map(
        (at) => Date.parse(at) - EPOCH,
      );
      for (const change of transitions) {
        const { topic, id, parties, at, time } = change;
        const isOwn = topic === one.what.topic && parties.includes(one.what.caller.organisationId);
        if (isOwn && time < one.sentAt && at >= min! && at <= max! && content && isSelected(content, change))
          for (const { receiver, isDisabled } of receiversOf(one.what.id, content))
            require(isDisabled || all.has(messageId(id, receiver)), () =>
              `${textOf(one)} has made no message of ${id} to ${receiver}`);
      }
    }
  },
};

const bySystemIn = (world: Observed): readonly Disabled[] =>
  disabledIn(world).filter(({ isByOwner }) => !isByOwner);

const disabled: Check = {
  promise: 'A receiver that answers 410 is disabled, and the system disables no other (N8).',
  left: (world) => {
    const known = new Set(bySystemIn(world).map(({ receiver }) => receiver));
    const expected = expectedOf(world);
    for (const { type, data } of deliveriesOf(world))
      if (type === 'MessageAttempted' && data.status === 410 && !known.has(data.receiver))
        if (expected.get(data.id)?.isCancellable === false) return `${data.receiver} is not disabled`;
    return undefined;
  },
  verify: (world) => {
    const expected = expectedOf(world);
    for (const { receiver, from } of bySystemIn(world)) {
      // Times in the log are rounded.
      const isGone = world.receivers.all.some(
        ({ id, end, ended = Infinity }) =>
          end === 'gone' && ended <= from + 1 && expected.get(id)?.receiver === receiver,
      );
      require(isGone, () => `${receiver} was disabled at ${from}, but had not answered 410`);
    }
  },
};

export const MESSAGES = [matched, owed, again, requested, past, disabled] as const;
