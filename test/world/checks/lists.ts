import { type Position, type RecordedEvent, START } from '../../../src/kernel/event';
import { type Outcome } from '../../../src/domain/deliveries/delivery-events';
import { type Command, type Sent, textOf } from '../clients';
import { EPOCH } from '../simulation';
import { FEEDS, PROGRAMS } from '../workloads/network-file';
import { askList, follow, type Follow, type Followed } from '../workloads/lists';
import { type Compared, searchProducts, totalTransactions } from '../workloads/searches';
import { POSTED_ID } from '../workloads/categories';
import { require } from './broken';
import { Categories } from './categories';
import { disabledIn, expectedOf } from './messages';
import { type Check, dataOf, type Observed } from './check';

/** What lists show of something after an event; undefined: it is not listed. */
type Row = { readonly shows: string; readonly parties: readonly number[] } | undefined;

interface Version {
  readonly position: Position;
  /** Epoch ms. */
  readonly time: number;
  readonly row: Row;
}

/** By what is listed: its versions, the oldest first. */
type Histories = Map<string, Version[]>;

const PUBLISHER = 11;

/** Document 2, States and transitions; an amendment leaves the state as it is. */
const STATES: readonly string[] = [
  ...['', 'Tracked', 'Invalidated', 'Paused', 'BecamePending', 'TrackedApproved', 'PendingApproved'],
  ...['PausedDeleted', 'Deleted', 'Paid'],
];

type Data = Readonly<Record<string, unknown>>;

/** What a row becomes, by category of streams. `id` is what follows the category in the name of the stream. */
const AFTER: Readonly<Record<string, (before: Row, event: RecordedEvent, data: Data) => Row>> = {
  voucher: (before, { type }, data) => {
    if (type === 'VoucherWithdrawn') return undefined;
    const program = PROGRAMS.find(({ programId }) => programId === data['programId']);
    const { title } = data['voucher'] as { readonly title: string };
    return {
      shows: title,
      parties: program === undefined ? (before?.parties ?? []) : [program.organisationId],
    };
  },
  transaction: (_, { type }, data) => {
    const { orderValue, advertiserId, publisherId } = data['transaction'] as Readonly<Record<string, number>>;
    const state = type === 'TransactionAmended' ? 4 : STATES.indexOf(type.slice('Transaction'.length));
    return { shows: [state, (orderValue ?? 0) / 100].join(), parties: [advertiserId ?? 0, publisherId ?? 0] };
  },
  claim: (before, { type }, data) => {
    if (type === 'ClaimWithdrawn') return undefined;
    if (type === 'ClaimFiled')
      return { shows: '1', parties: [Number(data['publisherId']), Number(data['advertiserId'])] };
    const { statusId } = data;
    return before && typeof statusId === 'number' ? { ...before, shows: String(statusId) } : before;
  },
  subscription: (before, { type }, data) => {
    const { subscription: content } = data as {
      readonly subscription?: { readonly receivers: readonly Receiver[] };
    };
    if (content === undefined) return type === 'SubscriptionDeleted' ? undefined : before;
    const parties = before?.parties ?? [Number(data['organisationId'])];
    const shows = content.receivers
      .map(({ receiverUrl, disabled = false }) => `${receiverUrl} ${disabled}`)
      .join();
    return { shows, parties };
  },
};

interface Receiver {
  readonly receiverUrl: string;
  readonly disabled?: boolean;
}

/** How things in lists are called, by the category of their streams. */
const idOf = (category: string, stream: string, data: Data): string => {
  if (category !== 'transaction') return stream.slice(category.length + 1);
  const { programId, eventId, orderNumber } = data['transaction'] as Data;
  return [programId, eventId, orderNumber].join();
};

interface Listed {
  readonly feed: (typeof FEEDS)[number];
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

const LISTED = [
  ...Object.keys(AFTER).map((category) => `${category}s`),
  'products',
  'deliveries',
  'receivers',
];

/** All that lists may have shown, by their names, from the events alone. */
function historiesOf(world: Observed): ReadonlyMap<string, Histories> {
  const all = new Map<string, Histories>(LISTED.map((name) => [name, new Map()]));
  const [categories, products] = [new Categories(), new Map<string, Listed>()];
  const { log } = world.disks;
  for (const event of log.all) {
    const category = event.stream.slice(0, event.stream.indexOf('-'));
    if (world.unusable.has(event.stream)) continue;
    const data = dataOf(event);
    const add = (name: string, id: string, rowAfter: (before: Row) => Row): void => {
      const versions = all.get(name)?.get(id) ?? [];
      all.get(name)?.set(id, versions);
      const { position } = event;
      versions.push({ position, time: log.timeOf(event), row: rowAfter(versions.at(-1)?.row) });
    };
    const after = AFTER[category];
    if (after !== undefined)
      add(`${category}s`, idOf(category, event.stream, data), (before) => after(before, event, data));
    const feed = FEEDS.find(({ id }) => event.stream === `feed-${id}`);
    const { sourceProductId } = data as { readonly sourceProductId?: string };
    if (feed !== undefined && sourceProductId !== undefined) {
      const { price, product } = data as {
        readonly price: number;
        readonly product?: { readonly brand: string };
      };
      const id = `${feed.id} ${sourceProductId}`;
      const brand = product?.brand ?? products.get(id)?.brand ?? '';
      if (event.type === 'ProductDelisted') products.delete(id);
      else products.set(id, { feed, price, brand });
      add('products', id, () => productRow(id, products.get(id), categories));
    }
    if (categories.take(event))
      for (const [id, product] of products) add('products', id, () => productRow(id, product, categories));
  }
  addDeliveries(world, all);
  return all;
}

const NOTHING_SENT = [0, 0, 0, 0];

/** What has become of messages, and how receivers fare: from the delivery log (N14). */
function addDeliveries({ disks: { deliveries } }: Observed, all: ReadonlyMap<string, Histories>): void {
  for (const event of deliveries.all) {
    const { id, organisationId, receiver, outcome, attempt, isManual } = dataOf(event) as unknown as Outcome;
    const add = (name: string, key: string, showsAfter: (before: string | undefined) => string): void => {
      const versions = all.get(name)?.get(key) ?? [];
      all.get(name)?.set(key, versions);
      const row = { shows: showsAfter(versions.at(-1)?.row?.shows), parties: [organisationId] };
      versions.push({ position: event.position, time: deliveries.timeOf(event), row });
    };
    if (event.type === 'MessageDue') add('deliveries', id, () => 'due');
    if (event.type !== 'MessageAttempted') continue;
    const isDecided = (before: string | undefined): boolean =>
      outcome !== 'delivered' && (isManual === true || before === 'delivered');
    const state = outcome === 'failed' ? 'retrying' : outcome;
    add('deliveries', id, (before) => (isDecided(before) ? (before ?? '') : state));
    const counted = [attempt !== undefined, attempt !== undefined && outcome !== 'delivered'];
    const counts = [...counted, outcome === 'delivered', outcome === 'dead'];
    add('receivers', receiver, (before) =>
      (before?.split(',').map(Number) ?? NOTHING_SENT).map((count, at) => count + Number(counts[at])).join(),
    );
  }
}

/** What lists of deliveries may show beside that, since they know of changes of subscriptions at once. */
function withSubscriptions(
  world: Observed,
  { name, id, during }: { name: string; id: string; during: Pick<Sent, 'sentAt' | 'answeredAt'> },
  may: Set<string | undefined>,
): void {
  if (name === 'receivers') {
    if (may.has(undefined)) may.add(NOTHING_SENT.join());
    may.add(undefined);
  }
  const message = expectedOf(world).get(id);
  if (name !== 'deliveries' || message === undefined) return;
  const stream = world.disks.log.stream(`subscription-${message.subscription}`);
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

/** What a party may have been shown, as of some position from one to what there was at a time. */
function possible(
  versions: readonly Version[],
  party: number,
  from: Position,
  until: number,
): Set<string | undefined> {
  const shownIn = (row: Row): string | undefined =>
    row?.parties.includes(party) === true ? row.shows : undefined;
  const at = versions.findLast(({ position }) => position <= from);
  const later = versions.filter(({ position, time }) => position > from && time <= until);
  return new Set([at, ...later].map((version) => shownIn(version?.row)));
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
      for (const id of new Set([...known.keys(), ...one.result.map(([id]) => id)])) {
        const found = one.result.filter(([other]) => other === id).map(([, shows]) => shows);
        const may = possible(known.get(id) ?? [], caller.organisationId, from, one.answeredAt + EPOCH);
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
    'Who follows `X-Next-Since` misses nothing: what did not change since is in the copy as it is (T6, P28, X51).',
  verify: (world) => {
    const histories = historiesOf(world);
    const sent = world.clients.of(follow);
    const copies = new Map<number, ReadonlyMap<string, string>>();
    for (const [at, { what, answer, answeredAt }] of sent.entries()) {
      if (answer.is !== 'done') continue;
      const copy = brought(copies.get(what.after ?? -1), answer.result);
      copies.set(at, copy);
      const next = /\d{19}/.exec(answer.result.next)?.[0] ?? START;
      for (const [id, versions] of histories.get(what.of === 'transactions' ? 'transactions' : 'products') ??
        []) {
        if (what.of !== 'transactions' && !id.startsWith(`${what.of} `)) continue;
        const may = possible(versions, what.caller.organisationId, next, answeredAt + EPOCH);
        require(may.size > 1 || may.has(copy.get(id)), () =>
          `the copy of ${textOfFollow(what)} at ${answeredAt}, up to ${next}, has ${id} as ${copy.get(id) ?? 'nothing'}, not as ${[...may].join()}`);
      }
    }
  },
};

function brought(
  copy: ReadonlyMap<string, string> | undefined,
  { shown, removed }: Followed,
): ReadonlyMap<string, string> {
  const next = new Map(copy);
  for (const id of removed) next.delete(id);
  for (const [id, shows] of shown) next.set(id, shows);
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
