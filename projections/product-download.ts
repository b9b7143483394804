import { numberOf, type Position, positionOf } from '../src/kernel/event';
import { allOf, type Filter, filtersOn } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { customFieldNames, type Offer } from '../src/domain/products/offer';
import { EngineUnavailable } from '../src/kernel/event-log';
import { type Projection } from '../src/projector/projection';
import { waitForPosition } from '../src/projector/wait';
import { type Clock } from '../src/runtime/clock';
import { type FeedVersion } from './feeds';
import { type ProductField, products, toOffer } from './products';

/** What has changed in a feed: products that were changed after a position, or are mapped to a changed category. */
export interface ChangesAfter {
  readonly after: Position;
  readonly categoryIds: readonly string[];
}

/** Selects products of a feed. */
export interface WantedOffers {
  readonly feedId: number;
  /** Only those that are mapped to a platform category, or that are not (`docs/decisions.md#p13`). */
  readonly isVisible?: boolean;
  readonly changes?: ChangesAfter;
}

/** Some offers of a feed, in the order of their ids. */
export interface FeedBatch {
  readonly offers: readonly Offer[];
  readonly total: number;
  /** The snapshot is as of this position, or later. */
  readonly checkpoint: Position;
  /** The names of all custom fields, if requested. */
  readonly customFields: ReadonlySet<string>;
}

const TARGET = { collection: products.collection.name };

/** How long other read models may be behind the products (ms). */
const PATIENCE = 2_000;

/** Waits a while until read models have reached a position of the products; raises `EngineUnavailable`. */
export async function requireUpTo(
  clock: Clock,
  store: ReadStore,
  position: Position,
  readModels: readonly Projection[],
): Promise<void> {
  if (await waitForPosition(clock, store, readModels, position, PATIENCE)) return;
  const names = readModels.map(({ collection }) => collection.name).join(', ');
  throw new EngineUnavailable(`${names}: behind what has been read`);
}

/** Offers from one snapshot; the first batch is empty and is returned at once. `isFlat` requests custom fields. */
export async function* offersFromSnapshot(
  store: ReadStore,
  wanted: WantedOffers,
  isFlat = false,
): AsyncGenerator<FeedBatch, undefined> {
  const customFields = new Set<string>();
  const samplesOf = isFlat ? ('fieldNames' satisfies ProductField) : undefined;
  for await (const { found, samples = [], ...facts } of store.snapshot(TARGET, filterOf(wanted), samplesOf)) {
    for (const name of customFieldNames(samples.map((sample) => toOffer(sample).product)))
      customFields.add(name);
    if (samples.length === 0) yield { offers: found.map(toOffer), ...facts, customFields };
  }
}

/** The same offers, without a snapshot. Counted first: often there are none, and a count takes less than a scan. */
export async function* scanOffers(store: ReadStore, wanted: WantedOffers): AsyncGenerator<readonly Offer[]> {
  if ((await countOffers(store, wanted)) === 0) return;
  for await (const found of store.scan(TARGET, filterOf(wanted))) yield found.map(toOffer);
}

export async function countOffers(store: ReadStore, wanted: WantedOffers): Promise<number> {
  await store.refresh(TARGET);
  return await store.count(TARGET, filterOf(wanted));
}

/** Which of these offers exist now. */
export async function presentOffers(store: ReadStore, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await store.get(TARGET, ids)).map(({ id }) => id));
}

/** The last change of what products of a feed are mapped by, of those after a position and up to another. */
export async function lastRemapping(
  store: ReadStore,
  feedId: number,
  after: Position,
  upTo: Position,
): Promise<FeedVersion | undefined> {
  await store.refresh(TARGET);
  const min = numberOf(after) + 1;
  const remapped = 'remapped' satisfies ProductField;
  // The first bound follows from the second; it has an index.
  const filter = allOf(
    among('feedId', [feedId]),
    between('changed', { min }),
    between(remapped, { min, max: numberOf(upTo) }),
  );
  const order = [{ field: remapped, descending: true }];
  const { found } = await store.search(TARGET, { filter, order, offset: 0, size: 1 });
  const [last = null] = found.map((one) => toOffer(one).remapped);
  return last === null ? undefined : { position: positionOf(last[0]), at: new Date(last[1]).toISOString() };
}

const { among, between } = filtersOn<ProductField>();

function filterOf({ feedId, isVisible, changes }: WantedOffers): Filter {
  return allOf(
    among('feedId', [feedId]),
    among('visible', isVisible === undefined ? undefined : [isVisible ? 1 : 0]),
    changes && changedIn(changes),
  );
}

function changedIn({ after, categoryIds }: ChangesAfter): Filter {
  const changed = between('changed', { min: numberOf(after) + 1 });
  const mapped = among('tdCategoryId', categoryIds.length === 0 ? undefined : categoryIds);
  return { any: [changed, mapped].filter((filter) => filter !== undefined) };
}
