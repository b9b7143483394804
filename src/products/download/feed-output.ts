import { type Offer } from '../offer';
import { type OutputProduct, type OutputView, toOutput } from '../output';
import { type FeedSource } from './feed-source';

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
