import { type SubscriptionFilter } from '../../../src/domain/subscriptions/subscription';
import { type Position, START } from '../../../src/kernel/event';
import { type Happened } from '../clients';
import { CALLERS, type Feed, FEEDS, feedsOf, PUBLISHER } from '../workloads/network-file';
import { STOCK } from '../workloads/products';
import { require } from './broken';
import { type Check, historyOf, type Observed, once, streamOf } from './check';
import { historiesOf, type Row, rowsWithin } from './lists';

const END: Position = '9'.repeat(START.length);

/** What somebody wants to know of products between two positions. */
interface Interest {
  readonly organisationId: number;
  readonly filter: SubscriptionFilter;
  /** When it was created. */
  readonly since: Position;
  readonly from: Position;
  until: Position;
}

/** All that subscriptions to products have wanted. */
function interestsIn(history: readonly Happened[]): readonly Interest[] {
  const all: Interest[] = [];
  const open = new Map<string, Interest>();
  for (const { type, data, stream, position } of history) {
    const before = open.get(stream);
    if (type === 'SubscriptionCreated' ? data.topic !== 'products' : before === undefined) continue;
    if (!type.startsWith('Subscription')) continue;
    if (before !== undefined) before.until = position;
    open.delete(stream);
    if (!('subscription' in data)) continue;
    const { organisationId = NaN, since = position } = { ...data, ...before };
    const { filter } = data.subscription;
    const next = { organisationId, filter, since, from: position, until: END };
    open.set(stream, next);
    all.push(next);
  }
  return all;
}

/** A load or deletion of a feed that has ended, with its changes, and those of loads that never end. */
interface EndedLoad {
  readonly end: Happened;
  readonly changes: readonly Happened[];
}

function loadsOf(events: readonly Happened[]): readonly EndedLoad[] {
  const loads: EndedLoad[] = [];
  let changes: Happened[] = [];
  for (const event of events)
    if ('sourceProductId' in event.data) changes.push(event);
    else {
      loads.push({ end: event, changes });
      changes = [];
    }
  return loads;
}

type Recorded = Extract<Happened, { readonly type: 'FeedChangesRecorded' }>;

/** What was recorded up to the end of a load. */
interface Recording {
  readonly end: Recorded;
  readonly events: readonly Happened[];
}

function recordingsOf(events: readonly Happened[]): readonly Recording[] {
  let from = 0;
  return events.flatMap((event, at) => {
    if (event.type !== 'FeedChangesRecorded') return [];
    const recording = { end: event, events: events.slice(from, at) };
    from = at + 1;
    return [recording];
  });
}

const COUNTED = {
  ProductListed: 'new',
  ProductRevised: 'revised',
  ProductRepriced: 'repriced',
  ProductDelisted: 'removed',
} as const;
const [FALL, BACK] = ['ProductPriceFell', 'ProductBackInStock'] as const;

/** What of a load is recorded, if these want to know it. */
function wantedOf({ changes }: EndedLoad, interests: readonly Interest[]) {
  const since = interests.reduce((first, one) => (one.since < first ? one.since : first), END);
  const falls = interests.filter(({ filter }) => filter.stateIds.includes(1));
  const least = Math.min(...falls.map(({ filter }) => filter.minFallPercent ?? 0));
  const hasStock = interests.some(({ filter }) => filter.stateIds.includes(2));
  const keys = new Set<string>();
  const counts = { new: 0, revised: 0, repriced: 0, removed: 0, fallen: 0, restocked: 0 };
  for (const { type, data, position } of changes) {
    if (position <= since || !(type in COUNTED) || !('sourceProductId' in data)) continue;
    counts[COUNTED[type as keyof typeof COUNTED]] += 1;
    if ('fellFrom' in data) {
      counts.fallen += 1;
      const { fellFrom, price } = data;
      if ((fellFrom - price) * 100 >= least * fellFrom) keys.add(`${FALL} ${data.sourceProductId}`);
    }
    if (!('backInStock' in data)) continue;
    counts.restocked += 1;
    if (hasStock) keys.add(`${BACK} ${data.sourceProductId}`);
  }
  const isUnmapped = interests.some(({ organisationId }) => organisationId !== PUBLISHER);
  return { keys, counts, isUnmapped };
}

const keyOf = ({ type, data }: Happened): string =>
  `${type} ${'sourceProductId' in data ? data.sourceProductId : ''}`;

/** Whether somebody who wants to know of a product sees it. */
const isShown = (row: Row, isUnmapped: boolean): boolean =>
  row !== undefined && (isUnmapped || row.parties.includes(PUBLISHER));

const isAbout = ({ organisationId, filter: { feedIds } }: Interest, feed: Feed): boolean =>
  feedIds?.includes(feed.id) !== false &&
  CALLERS.some((one) => one.organisationId === organisationId && feedsOf(one).includes(feed));

const interestsOf = once((world) => interestsIn(historyOf(world)));

/** One load: what had to be recorded, and what could be, by who wanted to know it when it was. */
function verifyLoad(world: Observed, feed: Feed, load: EndedLoad, { end, events }: Recording): void {
  const { position: ended, data: closing } = load.end;
  const interests = interestsOf(world).filter((one) => isAbout(one, feed));
  const owed = wantedOf(
    load,
    interests.filter(({ from, until }) => from < ended && until > end.position),
  );
  const allowed = wantedOf(
    load,
    interests.filter(({ from, until }) => from < end.position && until > ended),
  );
  const isOwn = end.data.upTo === load.end.revision;
  const [found, counts] = isOwn ? [events, end.data.load] : [[], undefined];
  const loadId = 'importId' in closing ? closing.importId : undefined;
  const text = `load ${loadId ?? ''} of feed ${feed.id}, recorded at ${end.position}`;
  const versionsOf = (id: string) =>
    rowsWithin(historiesOf(world).get('products')?.get(`${feed.id} ${id}`) ?? [], ended, end.time);
  const keys = new Set(found.map(keyOf));
  require(keys.size === found.length, () => `${text}, has a change twice`);
  for (const key of owed.keys) {
    const isSeen = versionsOf(key.split(' ')[1] ?? '').every((row) => isShown(row, owed.isUnmapped));
    require(!isSeen || keys.has(key), () => `${text}, lacks ${key}`);
  }
  for (const event of found) {
    if (event.type !== FALL && event.type !== BACK) continue;
    const { sourceProductId: id, price, brand = '', categoryIds } = event.data;
    require(allowed.keys.has(keyOf(event)) && event.data.loadId === loadId, () =>
      `${text}, has ${keyOf(event)}, of which nobody wants to know`);
    const fellFrom = 'fellFrom' in event.data ? event.data.fellFrom : undefined;
    const isChange = load.changes.some(
      ({ data }) =>
        'price' in data &&
        data.sourceProductId === id &&
        data.price === price &&
        (fellFrom === undefined ? 'backInStock' in data : 'fellFrom' in data && data.fellFrom === fellFrom),
    );
    require(isChange, () => `${text}, has ${keyOf(event)} to ${price}, which is none of its changes`);
    const rows = versionsOf(id).filter((row) => isShown(row, allowed.isUnmapped));
    const isAsShown = rows.some((row) => {
      const [, ...shows] = row?.shows.split(',') ?? [];
      const category = row?.parties.includes(PUBLISHER) === true ? shows[1] : '';
      return shows[0] === brand && category === (categoryIds[0] ?? '');
    });
    require(isAsShown, () => `${text}, has ${keyOf(event)} as ${brand} in ${categoryIds.join()}`);
  }
  for (const [name, least] of Object.entries(owed.counts)) {
    const kind = name as keyof typeof owed.counts;
    const count = counts?.[kind] ?? 0;
    require(count >= least && count <= allowed.counts[kind], () =>
      `${text}, counts ${count} as ${kind}, not from ${least} to ${allowed.counts[kind]}`);
  }
}

const recorded: Check = {
  promise:
    'What a load has changed is recorded once it has ended, exactly as far as a subscription may want to know it that was there before (N20).',
  left: (world) => {
    const history = historyOf(world);
    const open = interestsIn(history).filter(({ until }) => until === END);
    const oldest = open.reduce((first, { since }) => (since < first ? since : first), END);
    for (const { id } of FEEDS) {
      const of = (stream: string) => history.filter((event) => event.stream === `${stream}-${id}`);
      const upTo = recordingsOf(of('feedchanges')).at(-1)?.end.data.upTo ?? -1;
      const last = loadsOf(of('feed')).findLast(({ changes }) => changes.length > 0)?.end;
      if (last !== undefined && last.position > oldest && last.revision > upTo)
        return `the changes of feed ${id} up to ${last.position} are not recorded`;
    }
    return undefined;
  },
  verify: (world) => {
    for (const feed of FEEDS) {
      const loads = loadsOf(streamOf(world, `feed-${feed.id}`));
      const recordings = recordingsOf(streamOf(world, `feedchanges-${feed.id}`));
      let before = -1;
      for (const { end } of recordings) {
        const { upTo } = end.data;
        require(upTo > before && loads.some((load) => load.end.revision === upTo), () =>
          `feed ${feed.id} is recorded up to ${upTo} after ${before}, which is no end of a load`);
        before = upTo;
      }
      for (const load of loads) {
        const recording = recordings.find(({ end }) => end.data.upTo >= load.end.revision);
        if (recording !== undefined) verifyLoad(world, feed, load, recording);
      }
    }
  },
};

const facts: Check = {
  promise: 'The event of a product has the price from which it fell, and whether it is back in stock (N19).',
  verify: (world) => {
    for (const { id: feedId } of FEEDS) {
      const last = new Map<string, { readonly price: number; readonly isOut: boolean }>();
      for (const { type, data, position } of streamOf(world, `feed-${feedId}`)) {
        if (!('price' in data) || 'categoryIds' in data) continue;
        const { sourceProductId: id, price, fellFrom } = data;
        const before = last.get(id);
        const stock = 'product' in data ? STOCK[data.product.brand ?? ''] : undefined;
        const fell = before !== undefined && price < before.price ? before.price : undefined;
        const isBack = before?.isOut === true && (stock ?? 0) > 0;
        require(fellFrom === fell && 'backInStock' in data === isBack, () =>
          `feed ${feedId}: ${type} of ${id} at ${position} fell from ${fellFrom ?? ''}, not ${fell ?? ''}`);
        last.set(id, { price, isOut: 'product' in data ? stock === 0 : before?.isOut === true });
      }
    }
  },
};

export const RECORDED = [recorded, facts] as const;
