import { EngineUnavailable } from '../../kernel/event-log';
import { customFieldNames } from '../output-csv';
import { type Offer } from '../offer';
import { type OutputProduct, type OutputView, toOutput } from '../output';
import { type FeedBatch, type FeedSource } from './feed-source';

/** What products are told with. */
export type OutputOptions = Pick<
  OutputView,
  'caller' | 'trackerUrl' | 'sourceProductUrl' | 'dates' | 'pastPrices'
>;

/** Offers joined with the directory and their prices; each is a product, as nothing is grouped in a download. */
export async function* outputOf(
  batches: AsyncIterable<readonly Offer[]>,
  options: OutputOptions,
  directory: OutputView['directory'],
  source: FeedSource,
): AsyncGenerator<Iterable<OutputProduct>> {
  for await (const offers of batches) {
    const told = options.pastPrices !== 'none';
    const prices = told ? { prices: await source.prices(offers.map(({ id }) => id)) } : {};
    yield joined(offers, { ...options, directory, ...prices });
  }
}

/** One by one as they are written, so that none outlives its writing. */
function* joined(offers: readonly Offer[], view: OutputView): Generator<OutputProduct> {
  for (const offer of offers) yield toOutput([offer], view);
}

/** Names of the custom fields of a feed (`docs/decisions.md#p16`). */
export async function customFieldsOf(batches: AsyncIterable<FeedBatch>): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const { offers } of batches)
    for (const name of customFieldNames(offers.map(({ product }) => product))) names.add(name);
  return [...names].sort();
}

/** The same offers; a custom field that has no column, since it came between two snapshots, ends it. */
export async function* onlyWith(
  names: readonly string[],
  batches: AsyncIterable<readonly Offer[]>,
): AsyncGenerator<readonly Offer[]> {
  const known = new Set(names);
  for await (const offers of batches) {
    const isNew = offers.some(({ product: { fields = [] } }) => fields.some(({ name }) => !known.has(name)));
    if (isNew) throw new EngineUnavailable('the feed has changed while its custom fields were looked for');
    yield offers;
  }
}
