import fc from 'fast-check';
import { type PostedCategory } from '../../src/network/categories/mapped-category';
import { type Product } from '../../src/domain/products/feed';
import { offerId } from '../../src/domain/products/offer';
import { type DirectoryEvent } from '../../src/network/events';
import {
  defined,
  delisted,
  feedOf,
  inCurrency,
  listed,
  mapped,
  programIn,
  removed,
  repriced,
  revised,
  streamFor,
  unmapped,
} from './sample-events';
import { type Documents, type FeedSample } from './world';

type History = readonly (FeedSample | DirectoryEvent)[];

const [FEED_IDS, CATEGORY_IDS, NAMES] = [
  [7, 22],
  ['1', '2'],
  ['Audio', 'Lamps', 'Speakers'],
] as const;

const feeds = fc.constantFrom(...FEED_IDS);
const products = fc.constantFrom('a', 'b', 'c');
const categoryIds = fc.constantFrom(...CATEGORY_IDS);
const names = fc.constantFrom(...NAMES);
const prices = fc.integer({ min: 1, max: 3 });
const programs = fc.constantFrom(1, 2);
const currencies = fc.constantFrom('BGN', 'EUR');

const categories: fc.Arbitrary<PostedCategory> = fc
  .record({ id: categoryIds, name: names, tdCategoryName: names }, { requiredKeys: [] })
  .filter(({ id, name }) => id !== undefined || name !== undefined);

const contents = fc.record({ categories: fc.array(categories, { minLength: 1, maxLength: 2 }) });

/**
 * Histories of two feeds with three products, two categories and their mappings, and of two programs with their
 * currencies.
 */
export const histories: fc.Arbitrary<History> = fc
  .array(
    fc.oneof(
      fc.record({
        feedId: feeds,
        event: fc
          .tuple(
            fc.option(currencies),
            fc.oneof(
              fc.tuple(products, prices, contents).map(([id, price, over]) => listed(id, price, over)),
              fc.tuple(products, prices, contents).map(([id, price, over]) => revised(id, price, over)),
              fc.tuple(products, prices).map(([id, price]) => repriced(id, price)),
              products.map((id) => delisted(id)),
            ),
          )
          .map(([currency, event]) => (currency === null ? event : inCurrency(event, currency))),
      }),
      fc.oneof(
        fc.tuple(categoryIds, names, names).map(([id, en, de]) => defined(id, en, { de })),
        categoryIds.map(removed),
        fc.tuple(feeds, names, categoryIds).map(([feedId, name, id]) => mapped(feedId, name, id)),
        fc.tuple(feeds, names).map(([feedId, name]) => unmapped(feedId, name)),
        fc.tuple(programs, currencies).map(([id, currency]) => programIn(id, currency)),
        fc.tuple(feeds, programs).map(([feedId, programId]) => feedOf(feedId, programId)),
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

/** A history in which each price records its currency, as those of later versions do. */
export function recorded(history: History): History {
  return history.map((sample) =>
    'event' in sample && 'price' in sample.event.data && sample.event.data.currency === undefined
      ? { ...sample, event: inCurrency(sample.event, 'EUR') }
      : sample,
  );
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
    {
      feedId: number;
      id: string;
      price: number;
      currency: string;
      at: string;
      changed: number;
      product: Product;
    }
  >();
  const remappings = new Remappings();
  const prices: Record<string, { feedId: number; prices: [number, number, string][] }> = {};
  const [programCurrencies, firstPrograms] = [new Map<number, string>(), new Map<number, number>()];
  for (const [index, sample] of history.entries()) {
    if (!('event' in sample)) {
      applyTo(categoryNames, mappings, sample);
      if (sample.type === 'ProgramDefined') programCurrencies.set(sample.data.id, sample.data.currency);
      if (sample.type === 'FeedDefined') firstPrograms.set(sample.data.id, sample.data.programIds[0]!);
      remappings.note(categoryNames, mappings, index + 1, Date.parse(sample.data.at));
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
    const currency = event.data.currency ?? programCurrencies.get(firstPrograms.get(feedId) ?? 0) ?? '';
    const content = event.type === 'ProductRepriced' ? before!.product : event.data.product;
    offers.set(id, {
      feedId,
      id: sourceProductId,
      price,
      currency,
      at,
      changed: index + 1,
      product: content,
    });
    const entries = (prices[id] ??= { feedId, prices: [] }).prices;
    const [last, , lastCurrency] = entries.at(-1) ?? [];
    // An unknown currency is any.
    const isOther = last !== price || (lastCurrency !== '' && currency !== '' && lastCurrency !== currency);
    if (isOther) entries.push([price, Date.parse(at), currency]);
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
  const documents = [...offers].map(([id, { id: sourceProductId, at, product: content, ...offer }]) => {
    const mappedIds = content.categories.map((category) => mappedTo(offer.feedId, category));
    const remapped = remappings.lastOf(offer.feedId, content.categories);
    return [
      id,
      { ...offer, sourceProductId, modified: Date.parse(at), mapped: mappedIds, remapped, product: content },
    ];
  });
  return [Object.fromEntries(documents) as Documents, prices];
}

/**
 * When what products are mapped by has changed: a category is there or not, has a name, is what a feed maps a name to.
 */
class Remappings {
  private readonly seen = new Map<string, { readonly value: string; readonly last?: [number, number] }>();

  note(
    names: ReadonlyMap<string, readonly string[]>,
    mappings: ReadonlyMap<string, string>,
    position: number,
    at: number,
  ): void {
    const look = (key: string, value: unknown): void => {
      const text = JSON.stringify(value);
      const before = this.seen.get(key)?.value ?? JSON.stringify(Array.isArray(value) ? [] : false);
      if (text !== before) this.seen.set(key, { value: text, last: [position, at] });
    };
    for (const id of CATEGORY_IDS) look(`id ${id}`, names.has(id));
    for (const name of NAMES) {
      look(
        `named ${name}`,
        CATEGORY_IDS.filter((id) => names.get(id)?.includes(name)),
      );
      for (const feedId of FEED_IDS) {
        const target = mappings.get(`${feedId}:${name}`);
        look(`${feedId} ${name}`, target === undefined ? [] : [target, names.has(target)]);
      }
    }
  }

  lastOf(feedId: number, categories: readonly PostedCategory[]): readonly [number, number] | null {
    const all = categories.flatMap(({ id, name, tdCategoryName }) =>
      [`id ${id}`, `named ${tdCategoryName}`, `${feedId} ${name}`].flatMap((key) => {
        const last = this.seen.get(key)?.last;
        return last === undefined ? [] : [last];
      }),
    );
    return all.sort(([a], [b]) => b - a)[0] ?? null;
  }
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
