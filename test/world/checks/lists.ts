import { type Position, START } from '../../../src/kernel/event';
import { groupedBy } from '../../support/oracle';
import { type Command, type Happened, type Sent, textOf } from '../clients';
import { type Feed, FEEDS, PROGRAMS, PUBLISHER } from '../workloads/network-file';
import { askList, follow, type Follow, type Followed } from '../workloads/lists';
import { type Compared, searchProducts, totalTransactions } from '../workloads/searches';
import { POSTED_ID } from '../workloads/categories';
import { require } from './broken';
import { Categories } from './categories';
import { disabledIn, expectedOf } from './messages';
import { type Check, deliveriesOf, historyOf, type Observed, once, streamOf, subjectOf } from './check';

/** What lists show of something after an event; undefined: it is not listed. */
export type Row = { readonly shows: string; readonly parties: readonly number[] } | undefined;

interface Version {
  readonly position: Position;
  /** Ms of the world. */
  readonly time: number;
  readonly row: Row;
}

/** By what is listed: its versions, the oldest first. */
type Histories = Map<string, Version[]>;

/** Document 2, States and transitions; an amendment leaves the state as it is. */
const STATES: readonly string[] = [
  ...['', 'Tracked', 'Invalidated', 'Paused', 'BecamePending', 'TrackedApproved', 'PendingApproved'],
  ...['PausedDeleted', 'Deleted', 'Paid'],
];

/**
 * What becomes of a row of a list by an event, and how it is called there; undefined: the event is about no such row.
 */
function listedBy(
  event: Happened,
): readonly [list: string, id: string, after: (before: Row) => Row] | undefined {
  const { type, data } = event;
  const id = subjectOf(event);
  switch (type) {
    case 'VoucherPublished': {
      const program = PROGRAMS.find(({ programId }) => programId === data.programId);
      const parties = program === undefined ? [] : [program.organisationId];
      return ['vouchers', id, () => ({ shows: data.voucher.title, parties })];
    }
    case 'VoucherRevised':
      return ['vouchers', id, (before) => before && { ...before, shows: data.voucher.title }];
    case 'VoucherWithdrawn':
      return ['vouchers', id, () => undefined];
    case 'ClaimFiled':
      return ['claims', id, () => ({ shows: '1', parties: [data.publisherId, data.advertiserId ?? 0] })];
    case 'ClaimScreened':
    case 'ClaimRuled':
      return ['claims', id, (before) => before && { ...before, shows: String(data.statusId) }];
    case 'ClaimWithdrawn':
      return ['claims', id, () => undefined];
    case 'SubscriptionCreated':
    case 'SubscriptionReplaced': {
      const shows = data.subscription.receivers
        .map(({ receiverUrl, disabled = false }) => `${receiverUrl} ${disabled}`)
        .join();
      const parties = 'organisationId' in data ? [data.organisationId] : undefined;
      return ['subscriptions', id, (before) => ({ shows, parties: parties ?? before?.parties ?? [] })];
    }
    case 'SubscriptionDeleted':
      return ['subscriptions', id, () => undefined];
    default: {
      if (!('transaction' in data)) return undefined;
      const { programId, eventId, orderNumber, orderValue, advertiserId, publisherId } = data.transaction;
      const state = type === 'TransactionAmended' ? 4 : STATES.indexOf(type.slice('Transaction'.length));
      const row = { shows: [state, orderValue / 100].join(), parties: [advertiserId, publisherId ?? 0] };
      return ['transactions', [programId, eventId, orderNumber].join(), () => row];
    }
  }
}

interface Listed {
  readonly feed: Feed;
  readonly price: number;
  readonly brand: string;
}

/** Publishers see what is mapped; what is posted with a category of the platform shows that in any case. */
function productRow(name: string, product: Listed | undefined, categories: Categories): Row {
  if (product === undefined) return undefined;
  const { feed, price, brand } = product;
  const id = name.slice(`${feed.id} `.length);
  const mapped = categories.of(feed.id, id, brand);
  const shown = mapped === '' && id === POSTED_ID.of ? POSTED_ID.id : mapped;
  const parties = [feed.organisationId, ...(mapped === '' ? [] : [PUBLISHER])];
  return { shows: [price, brand, shown].join(), parties };
}

/** All that lists may have shown, by their names, from the events alone. */
export const historiesOf = once((world): ReadonlyMap<string, Histories> => {
  const all = new Map<string, Histories>();
  const add = (event: Omit<Version, 'row'>, list: string, id: string, after: (before: Row) => Row): void => {
    const histories = all.get(list) ?? new Map<string, Version[]>();
    const versions = histories.get(id) ?? [];
    all.set(list, histories.set(id, versions));
    const { position, time } = event;
    versions.push({ position, time, row: after(versions.at(-1)?.row) });
  };
  const [categories, products] = [new Categories(), new Map<string, Listed>()];
  for (const event of historyOf(world)) {
    const listed = listedBy(event);
    if (listed !== undefined) add(event, ...listed);
    const feed = FEEDS.find(({ id }) => event.stream === `feed-${id}`);
    const { data } = event;
    if (feed !== undefined && 'sourceProductId' in data) {
      const id = `${feed.id} ${data.sourceProductId}`;
      const brand = ('product' in data ? data.product.brand : products.get(id)?.brand) ?? '';
      if ('price' in data) products.set(id, { feed, price: data.price, brand });
      else products.delete(id);
      add(event, 'products', id, () => productRow(id, products.get(id), categories));
    }
    if (categories.take(event))
      for (const [id, product] of products)
        add(event, 'products', id, () => productRow(id, product, categories));
  }
  // What has become of messages, and how receivers fare: from the delivery log (N14).
  for (const event of deliveriesOf(world)) {
    const { type, data } = event;
    if (type !== 'MessageDue' && type !== 'MessageAttempted') continue;
    const parties = [data.organisationId];
    if (type === 'MessageDue') add(event, 'deliveries', data.id, () => ({ shows: 'due', parties }));
    if (type !== 'MessageAttempted') continue;
    const { id, receiver, outcome, attempt, isManual } = data;
    const isDecided = (before: Row): boolean =>
      outcome !== 'delivered' && (isManual === true || before?.shows === 'delivered');
    const shows = outcome === 'failed' ? 'retrying' : outcome;
    add(event, 'deliveries', id, (before) => (isDecided(before) ? before : { shows, parties }));
    const counted = [attempt !== undefined, attempt !== undefined && outcome !== 'delivered'];
    const counts = [...counted, outcome === 'delivered', outcome === 'dead'];
    add(event, 'receivers', receiver, (before) => {
      const sums = (before?.shows ?? NOTHING_SENT).split(',').map(Number);
      return { shows: sums.map((count, at) => count + Number(counts[at])).join(), parties };
    });
  }
  return all;
});

const NOTHING_SENT = '0,0,0,0';

/** What lists of deliveries may show beside that, since they know of changes of subscriptions at once. */
function withSubscriptions(
  world: Observed,
  { name, id, during }: { name: string; id: string; during: Pick<Sent, 'sentAt' | 'answeredAt'> },
  may: Set<string | undefined>,
): void {
  if (name === 'receivers') {
    if (may.has(undefined)) may.add(NOTHING_SENT);
    may.add(undefined);
  }
  const message = expectedOf(world).get(id);
  if (name !== 'deliveries' || message === undefined) return;
  const stream = streamOf(world, `subscription-${message.subscription}`);
  if (stream.at(-1)?.type === 'SubscriptionDeleted') may.add(undefined);
  if (!may.has('due') && !may.has('retrying')) return;
  const held = disabledIn(world).filter(
    ({ receiver, from, until }) =>
      receiver === message.receiver && from <= during.answeredAt && until >= during.sentAt,
  );
  if (held.length > 0) may.add('held');
  if (held.some(({ from, until }) => from < during.sentAt && until > during.answeredAt))
    for (const state of ['due', 'retrying']) may.delete(state);
}

/** As of some position from one to what there was at a time. */
export function rowsWithin(versions: readonly Version[], from: Position, until: number): readonly Row[] {
  const at = versions.findLast(({ position }) => position <= from);
  const later = versions.filter(({ position, time }) => position > from && time <= until);
  return [at, ...later].map((version) => version?.row);
}

/** What a party may have been shown then. */
function possible(
  versions: readonly Version[],
  party: number,
  from: Position,
  until: number,
): Set<string | undefined> {
  const shownIn = (row: Row): string | undefined =>
    row?.parties.includes(party) === true ? row.shows : undefined;
  return new Set(rowsWithin(versions, from, until).map(shownIn));
}

const lists: Check = {
  promise:
    'An answer to a query has everything up to the position that was asked for, and nothing that never was; pages by cursor have each result that does not change once (A7, X53).',
  verify: (world) => {
    const histories = historiesOf(world);
    for (const one of world.clients.done(askList)) {
      const { list, caller, from } = one.what;
      const [name = '', paged] = [list.split(' ')[0], list.includes(' by ')];
      const known = histories.get(name) ?? new Map<string, Version[]>();
      const shown = groupedBy(one.result, ([id]) => id);
      for (const id of new Set([...known.keys(), ...shown.keys()])) {
        const found = (shown.get(id) ?? []).map(([, shows]) => shows);
        const may = possible(known.get(id) ?? [], caller.organisationId, from, one.answeredAt);
        withSubscriptions(world, { name, id, during: one }, may);
        const explained = (found.length === 0 ? [undefined] : found).every((shows) => may.has(shows));
        const isOnce = found.length <= 1 || (paged && may.size > 1);
        require(isOnce && (explained || (paged && may.size > 1 && found.length === 0)), () =>
          `${textOf(one)} at ${one.answeredAt} shows ${id} as ${found.join(' and ')}, not as ${[...may].join(' or ')}`);
      }
    }
  },
};

const copies: Check = {
  promise:
    'Who follows `X-Next-Since` misses nothing: what did not change since is in the copy as it is (T6, P28, X51, X135).',
  verify: (world) => {
    const histories = historiesOf(world);
    const sent = world.clients.of(follow);
    const copies = new Map<number, ReadonlyMap<string, string>>();
    for (const [at, { what, answer, answeredAt }] of sent.entries()) {
      if (answer.is !== 'done') continue;
      const copy = brought(copies.get(what.after ?? -1), answer.result);
      copies.set(at, copy);
      const next = /\d{19}/.exec(answer.result.next)?.[0] ?? START;
      const [list, beginning] = typeof what.of === 'number' ? ['products', `${what.of} `] : [what.of, ''];
      for (const [id, versions] of histories.get(list) ?? []) {
        if (!id.startsWith(beginning)) continue;
        // Also by what shows nothing else: it is brought once what follows it is.
        const isChanged = versions.some(({ position, time }) => position > next && time <= answeredAt);
        const may = possible(versions, what.caller.organisationId, next, answeredAt);
        require(isChanged || may.has(copy.get(id)), () =>
          `the copy of ${textOfFollow(what)} at ${answeredAt}, up to ${next}, has ${id} as ${copy.get(id) ?? 'nothing'}, not as ${[...may].join()}`);
      }
    }
  },
};

function brought(
  copy: ReadonlyMap<string, string> | undefined,
  { parts }: Followed,
): ReadonlyMap<string, string> {
  const next = new Map(copy);
  for (const { isReset, shown, removed } of parts) {
    if (isReset) next.clear();
    for (const id of removed) next.delete(id);
    for (const [id, shows] of shown) next.set(id, shows);
  }
  return next;
}

const textOfFollow = ({ of, caller, since = 'the beginning' }: Follow): string =>
  `${of} of ${caller.organisationId} since ${since}`;

/** What is answered is what a reference model answers, which looks at everything that was read. */
const asModel = (promise: string, command: Command<object, Compared>): Check => ({
  promise,
  verify: ({ clients }) => {
    for (const one of clients.done(command))
      require(one.result.found === one.result.expected, () =>
        `${textOf(one)} at ${one.answeredAt} found ${one.result.found}, not ${one.result.expected}`);
  },
});

const searches = asModel(
  'A search of products finds what matches in what it reads, in its order, grouped, counted and page by page, whole words, beginnings and corrected ones, as one does who looks at everything (P4, P5, P7, P8, P31 to P33).',
  searchProducts,
);
const totals = asModel('Totals of transactions are those of what they read (T6).', totalTransactions);

export const QUERIES = [lists, copies, searches, totals] as const;
