/** The tables of Document 1 that tests are measured by: every row is to be found in a test. */

/** Search products, query keys. */
export const SEARCH_KEYS = [
  ...[
    'token',
    'q',
    'fid',
    'currency',
    'sourceproducturl',
    'minPrice',
    'maxPrice',
    'minUpdateDate',
    'maxUpdateDate',
  ],
  ...[
    'tdCategoryId',
    'category',
    'brand',
    'spId',
    'tdId',
    'ean',
    'mpn',
    'sku',
    'upc',
    'isbn',
    'language',
    'field',
  ],
  ...['orderBy', 'page', 'pageSize', 'limit', 'groupOffersByProduct', 'priceHistory', 'dateOutputFormat'],
  ...[
    'availability',
    'condition',
    'model',
    'manufacturer',
    'shippingCost',
    'promoText',
    'warranty',
    'deliveryTime',
  ],
  ...['weight', 'size', 'techSpec', 'minInStock', 'maxInStock', 'pretty', 'jsonp'],
];

/** Product (posted by an advertiser). */
export const POSTED_FIELDS = [
  ...[
    'sourceProductId',
    'name',
    'description',
    'productUrl',
    'price',
    'productImage',
    'categories',
    'availability',
  ],
  ...['brand', 'condition', 'deliveryTime', 'identifiers', 'ean', 'sku', 'upc', 'isbn', 'mpn', 'inStock'],
  ...[
    'manufacturer',
    'model',
    'promoText',
    'shippingCost',
    'shortDescription',
    'size',
    'techSpecs',
    'warranty',
  ],
  ...['weight', 'fields'],
];

/** Product (search and bulk output). */
export const OUTPUT_FIELDS = [
  ...[
    'name',
    'description',
    'productImage',
    'categories',
    'language',
    'identifiers',
    'fields',
    'offers',
    'brand',
  ],
  ...[
    'manufacturer',
    'model',
    'size',
    'techSpecs',
    'warranty',
    'weight',
    'promoText',
    'shortDescription',
    'inStock',
  ],
  ...['programLogo', 'groupingId'],
];

/** Offer object. */
export const OFFER_FIELDS = [
  ...[
    'id',
    'feedId',
    'sourceProductId',
    'programName',
    'productUrl',
    'sourceProductUrl',
    'price',
    'priceHistory',
  ],
  ...['modified', 'availability', 'deliveryTime', 'condition', 'shippingCost'],
];

/** Errors: code and HTTP status. */
export const ERRORS = [
  ...['1 400', '2 403', '3 404', '4 404', '5 500', '6 404', '7 404'],
  ...[
    'PF_200 400',
    'PF_210 400',
    'PF_230 400',
    'PF_240 400',
    'PF_250 400',
    'PF_260 400',
    'PF_270 400',
    'PF_280 400',
  ],
  ...['PF_290 400', 'PF_300 400', 'PF_391 400', 'PF_392 400', 'PF_430 400'],
];

/** Generic HTTP errors. */
export const HTTP_ERRORS = [400, 404, 405, 406, 415, 429, 500];

/** The rows that no test names. */
export function missingFrom<Row>(rows: readonly Row[], named: Iterable<Row>): Row[] {
  const found = new Set(named);
  return rows.filter((row) => !found.has(row));
}
