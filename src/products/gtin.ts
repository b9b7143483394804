import { type Identifiers } from './feed';

/**
 * A product's GTIN as 14 digits, by which offers of several feeds are the same product (`docs/decisions.md#p8`): its
 * ean, else its upc. Undefined when neither is a number of 1 to 14 digits other than zero.
 */
export function gtinOf(identifiers: Identifiers | undefined): string | undefined {
  return normalised(identifiers?.ean) ?? normalised(identifiers?.upc);
}

/** What an offer is grouped by: `ean` and the GTIN, or the offer's own id. */
export function groupingIdOf(identifiers: Identifiers | undefined, offerId: string): string {
  const gtin = gtinOf(identifiers);
  return gtin === undefined ? offerId : `ean${gtin}`;
}

function normalised(code: string | undefined): string | undefined {
  const digits = code === undefined ? undefined : /^0*([1-9]\d{0,13})$/.exec(code)?.[1];
  return digits?.padStart(14, '0');
}
