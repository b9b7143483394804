import fc from 'fast-check';
import { type PostedCategory } from '../../src/categories/mapped-category';
import { type Product } from '../../src/products/feed';
import { offerId } from '../../src/products/offer';
import { type DirectoryEvent } from '../../src/directory/events';
import {
  defined,
  delisted,
  listed,
  mapped,
  removed,
  repriced,
  revised,
  streamFor,
  unmapped,
} from './sample-events';
import { type Documents, type FeedSample } from './world';

type History = readonly (FeedSample | DirectoryEvent)[];

const feeds = fc.constantFrom(7, 22);
const products = fc.constantFrom('a', 'b', 'c');
const categoryIds = fc.constantFrom('1', '2');
const names = fc.constantFrom('Audio', 'Lamps', 'Speakers');
const prices = fc.integer({ min: 1, max: 3 });

const categories: fc.Arbitrary<PostedCategory> = fc
  .record({ id: categoryIds, name: names, tdCategoryName: names }, { requiredKeys: [] })
  .filter(({ id, name }) => id !== undefined || name !== undefined);

const contents = fc.record({ categories: fc.array(categories, { minLength: 1, maxLength: 2 }) });

/** Histories of two feeds with three products, two categories and their mappings. */
export const histories: fc.Arbitrary<History> = fc
  .array(
    fc.oneof(
      fc.record({
        feedId: feeds,
        event: fc.oneof(
          fc.tuple(products, prices, contents).map(([id, price, over]) => listed(id, price, over)),
          fc.tuple(products, prices, contents).map(([id, price, over]) => revised(id, price, over)),
          fc.tuple(products, prices).map(([id, price]) => repriced(id, price)),
          products.map((id) => delisted(id)),
        ),
      }),
      fc.oneof(
        fc.tuple(categoryIds, names, names).map(([id, en, de]) => defined(id, en, { de })),
        categoryIds.map(removed),
        fc.tuple(feeds, names, categoryIds).map(([feedId, name, id]) => mapped(feedId, name, id)),
        fc.tuple(feeds, names).map(([feedId, name]) => unmapped(feedId, name)),
      ),
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map(possible);

/** Omits impossible events: changes of products that are not listed. */
function possible(history: History): History {
  const present = new Set<string>();
  return history.filter((sample) => {
    if (!('event' in sample)) return true;
    const key = `${sample.feedId}:${sample.event.data.sourceProductId}`;
    if (sample.event.type === 'ProductListed') return !present.has(key) && present.add(key);
    if (!present.has(key)) return false;
    if (sample.event.type === 'ProductDelisted') present.delete(key);
    return true;
  });
}

/** A history, and another one with the same streams interleaved differently. */
export function interleaved(history: History): fc.Arbitrary<readonly [History, History]> {
  const streams = new Map<string, (FeedSample | DirectoryEvent)[]>();
  for (const sample of history) {
    const stream = 'event' in sample ? `feed-${sample.feedId}` : streamFor(sample);
    streams.set(stream, [...(streams.get(stream) ?? []), sample]);
  }
  return fc.array(fc.nat(), { minLength: history.length, maxLength: history.length }).map((picks) => {
    const left = [...streams.values()].map((samples) => [...samples]);
    const other = picks.flatMap((pick) => {
      const open = left.filter((samples) => samples.length > 0);
      return open[pick % open.length]?.shift() ?? [];
    });
    return [history, other];
  });
}

/** The expected documents after a history, computed without projections or the directory. */
export function expectedAfter(history: History): readonly [products: Documents, prices: Documents] {
  const categoryNames = new Map<string, readonly string[]>();
  const mappings = new Map<string, string>();
  const offers = new Map<
    string,
    { feedId: number; id: string; price: number; at: string; product: Product }
  >();
  const prices: Record<string, { prices: [number, number][] }> = {};
  for (const sample of history) {
    if (!('event' in sample)) {
      applyTo(categoryNames, mappings, sample);
      continue;
    }
    const { feedId, event } = sample;
    const id = offerId(feedId, event.data.sourceProductId);
    const before = offers.get(id);
    if (event.type === 'ProductDelisted') {
      offers.delete(id);
      continue;
    }
    const { price, at, sourceProductId } = event.data;
    const content = event.type === 'ProductRepriced' ? before!.product : event.data.product;
    offers.set(id, { feedId, id: sourceProductId, price, at, product: content });
    const entries = (prices[id] ??= { prices: [] }).prices;
    if (entries.at(-1)?.[0] !== price) entries.push([price, Date.parse(at)]);
  }
  const mappedTo = (feedId: number, { id, name, tdCategoryName }: PostedCategory): string | null => {
    if (id !== undefined && categoryNames.has(id)) return id;
    const named = [...categoryNames]
      .filter(([, all]) => all.includes(tdCategoryName ?? ''))
      .map(([one]) => one);
    if (named.length === 1) return named[0]!;
    const target = mappings.get(`${feedId}:${name}`);
    return target !== undefined && categoryNames.has(target) ? target : null;
  };
  const documents = [...offers].map(([id, { feedId, id: sourceProductId, price, at, product: content }]) => {
    const mappedIds = content.categories.map((category) => mappedTo(feedId, category));
    return [
      id,
      { feedId, sourceProductId, price, modified: Date.parse(at), mapped: mappedIds, product: content },
    ];
  });
  return [Object.fromEntries(documents) as Documents, prices];
}

function applyTo(
  names: Map<string, readonly string[]>,
  mappings: Map<string, string>,
  event: DirectoryEvent,
): void {
  if (event.type === 'CategoryDefined') names.set(event.data.id, Object.values(event.data.names));
  if (event.type === 'CategoryRemoved') names.delete(event.data.id);
  if (event.type === 'CategoryMapped')
    mappings.set(`${event.data.feedId}:${event.data.name}`, event.data.categoryId);
  if (event.type === 'CategoryUnmapped') mappings.delete(`${event.data.feedId}:${event.data.name}`);
}
