/** The tables of Documents 1 and 2 that tests are measured by: every row is to be found in a test. */

const rows = (...lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

/** Document 1, Search products, query keys. */
export const SEARCH_KEYS = rows(
  'token q fid currency sourceproducturl minPrice maxPrice minUpdateDate maxUpdateDate tdCategoryId category',
  'brand spId tdId ean mpn sku upc isbn language field orderBy page pageSize limit groupOffersByProduct',
  'priceHistory dateOutputFormat availability condition model manufacturer shippingCost promoText warranty',
  'deliveryTime weight size techSpec minInStock maxInStock pretty jsonp',
);

/** Document 1, Product (posted by an advertiser). */
export const POSTED_FIELDS = rows(
  'sourceProductId name description productUrl price productImage categories availability brand condition',
  'deliveryTime identifiers ean sku upc isbn mpn inStock manufacturer model promoText shippingCost',
  'shortDescription size techSpecs warranty weight fields',
);

/** Document 1, Product (search and bulk output). */
export const OUTPUT_FIELDS = rows(
  'name description productImage categories language identifiers fields offers brand manufacturer model size',
  'techSpecs warranty weight promoText shortDescription inStock programLogo groupingId',
);

/** Document 1, Offer object. */
export const OFFER_FIELDS = rows(
  'id feedId sourceProductId programName productUrl sourceProductUrl price priceHistory modified',
  'availability deliveryTime condition shippingCost',
);

/** Document 2, Voucher posted by an advertiser. */
export const VOUCHER_FIELDS = rows(
  'title programId voucherTypeId code shortDescription description startDate endDate sourceId siteIds',
  'landingUrl publishStartDate publishEndDate publisherInformation discountAmount isPercentage languageId',
);

/** Errors of module Open API in both documents: code and HTTP status. */
export const OPEN_API_ERRORS = ['1 400', '2 403', '3 404', '4 404', '5 500', '6 404', '7 404'];

/** Document 1, Errors. */
export const PRODUCT_ERRORS = rows(
  'PF_200 PF_210 PF_230 PF_240 PF_250 PF_260 PF_270 PF_280 PF_290 PF_300 PF_391 PF_392 PF_430',
).map((code) => `${code} 400`);

/** Generic HTTP errors of Document 1; Document 2 has them but 429. */
export const HTTP_ERRORS = [400, 404, 405, 406, 415, 429, 500];

/** The rows that no test names. */
export function missingFrom<Row>(table: readonly Row[], named: Iterable<Row>): Row[] {
  const found = new Set(named);
  return table.filter((row) => !found.has(row));
}
