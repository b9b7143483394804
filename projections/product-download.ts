import { type Filter, type Found } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { type Offer } from '../src/products/offer';
import { type FeedSource } from '../src/products/download/feed-source';
import { type Remapping } from '../src/products/remapped';
import { priceHistory, pricesOf } from './price-history';
import { type ProductField, products, toOffer } from './products';
import { waitForPosition } from '../src/projector/wait';

const TARGET = { collection: products.collection.name };

/** Milliseconds that prices may be behind the products they are of. */
const PATIENCE = 2_000;

/** What downloads ask of the read models (Document 1, Bulk download of a feed). */
export function feedSource(store: ReadStore): FeedSource {
  return {
    async *snapshot(feedId, which, isFlat = false) {
      const customFields = new Set<string>();
      const samplesOf = isFlat ? ('fieldNames' satisfies ProductField) : undefined;
      const batches = store.snapshot(TARGET, shown(feedId, which), samplesOf);
      for await (const { found, samples, ...facts } of batches) {
        if (samples === undefined) yield { offers: found.map(toOffer), ...facts, customFields };
        else for (const { name } of samples.flatMap(fieldsOf)) customFields.add(name);
      }
    },
    async offers(ids) {
      return (await store.get(TARGET, ids)).map(toOffer);
    },
    async *remapped(feedId, remapping) {
      await store.refresh(TARGET);
      for await (const found of store.scan(TARGET, inFeed(feedId, concerned(remapping))))
        yield found.map(toOffer);
    },
    async countRemapped(feedId, remapping) {
      await store.refresh(TARGET);
      return await store.count(TARGET, inFeed(feedId, concerned(remapping)));
    },
    prices: (ids) => pricesOf(store, ids),
    pricesUpTo: (position) => waitForPosition(store, [priceHistory], position, PATIENCE),
  };
}

function shown(feedId: number, which: 'all' | 'visible' | 'hidden'): Filter {
  return inFeed(feedId, ...{ all: [], visible: [visibility(1)], hidden: [visibility(0)] }[which]);
}

function inFeed(feedId: number, ...conditions: readonly Filter[]): Filter {
  return { all: [{ field: 'feedId' satisfies ProductField, in: [feedId] }, ...conditions] };
}

function visibility(visible: 0 | 1): Filter {
  return { field: 'visible' satisfies ProductField, in: [visible] };
}

/** What may be mapped anew, and what is mapped to a category whose name may have changed. */
function concerned({ changes, categoryIds }: Remapping): Filter {
  const mapped = { field: 'tdCategoryId' satisfies ProductField, in: categoryIds };
  return { any: [mapped, ...(products.fanOut === undefined ? [] : [products.fanOut.affectedBy(changes)])] };
}

function fieldsOf(sample: Found): NonNullable<Offer['product']['fields']> {
  return toOffer(sample).product.fields ?? [];
}
