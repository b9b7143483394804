import { type OutputProduct } from './output';

/** A product as JSON (Document 1, Product (search and bulk output)): prices are numbers in major units. */
export function toJsonProduct(product: OutputProduct): object {
  const offers = product.offers.map((offer) => ({ ...offer, price: offer.price.minor / 100 }));
  return { ...product, offers };
}
