import { IMPORT_REPORT } from '../../domain/products/import-report';
import {
  foundProduct,
  foundProducts,
  postedProduct,
  postedProducts,
} from '../../domain/products/product-fields';
import { CATEGORY_MAPPINGS, CATEGORY_TREES } from '../../network/categories/category-counts';
import { VISIBILITY } from '../../network/visibility';
import { operationsById, type OperationText, type Shape } from '../../wire/api/description';
import { REFUSALS } from '../../wire/api/errors';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
import { INTEGER } from '../../wire/keys/keys';
import { elementSchema, exampleOf, schemaFiles } from '../../wire/record/document';
import { type XmlSchema, type SchemaFiles } from '../../wire/xml/xsd';
import { FEED_ELEMENTS, FEED_LIST, FEED_LIST_FILE, LAST_UPDATED } from './feed.queries';
import { type OutputProduct } from './output';
import { ANSWERED_COMMON, csvLayout, rootAttributes, xmlResult } from './result-text';

/** Files of the XML schemas of products; `common` describes elements of the two others. */
const PRODUCT_FILES = {
  common: 'ProductsFeedCommon_v3_0.xsd',
  input: 'ProductsFeedInput_v3_0.xsd',
  output: 'ProductsFeedOutput_v3_0.xsd',
} as const;

const FOUND: Shape<typeof foundProducts> = {
  name: 'FoundProducts',
  kind: foundProducts,
  xml: { file: PRODUCT_FILES.output, root: 'result', attributes: rootAttributes('affilog'), kind: xmlResult },
  examples: { csv: csvExample() },
};

/** The columns of `.csv`, and a line. */
function csvExample(): string {
  const found = exampleOf(foundProduct, new Date('2026-11-01T09:30:00Z'), 'answered') as OutputProduct;
  const offers = found.offers.map((offer) => ({ ...offer, price: { minor: 1200, currency: 'EUR' } }));
  const style = {
    columns: 'of the type',
    separators: [',', ';', ':'],
    embrace: '"',
    dates: 'epoch',
  } as const;
  const { header, rows } = csvLayout(style);
  return header() + rows({ ...found, offers });
}

/** Headers that say what a post or a deletion has done (`docs/decisions.md#a15`). */
const LOADED = {
  'X-Load-Id': 'Id in the load report; absent if nothing was stored',
  'X-Load-Counts': 'How many products are new, revised, and so on: `new=1, revised=0, …`',
  'X-Dry-Run': '`true` with dryRun=true: nothing was stored',
} as const;

const FEED = { fid: 1001 } as const;
const FEEDS = { fid: [1001] } as const;

const loadProducts = {
  summary: 'Create, update or replace products',
  description:
    'Products with a known sourceProductId are updated, others are created; with mode=replace, products that are ' +
    'not posted are removed. Refused products are listed, the others are stored. A body has at most the size that ' +
    'the operator has set, 1 GB by default, and any number of products of at most 256 KiB each; a larger product is ' +
    'refused, a larger body is refused as a whole. CSV has a header that names the columns: those of a download, ' +
    'those of a Google Merchant feed, or others by the key map; it is separated by commas, semicolons or tabs. Google ' +
    'Merchant feeds may also be XML (RSS or Atom). A body is in UTF-8, and may be compressed (gzip).',
  isLoad: true,
  example: FEED,
  body: {
    name: 'PostedProducts',
    kind: postedProducts,
    xml: {
      file: PRODUCT_FILES.input,
      root: 'products',
      attributes: {
        version: '3.0',
        xmlns: 'urn:com:affilog:pf:model:xml:input',
        'xmlns:cm': 'urn:com:affilog:pf:model:xml:common',
      },
      kind: postedProducts.fields.products.kind,
    },
    examples: {
      csv:
        'sourceProductId,name,description,productUrl,price,currency,imageUrl,categories,brand,(field)colour\r\n' +
        'lamp-1,Lamp,"Of glass, for the desk",https://shop.example/lamp-1,12.00,EUR,https://img.example/lamp-1.jpg,' +
        'Lamps,Lux,blue\r\n',
      tsv:
        'id\ttitle\tdescription\tlink\timage_link\tprice\tsale_price\tproduct_type\tavailability\tgtin\n' +
        'lamp-1\tLamp\tOf glass, for the desk\thttps://shop.example/lamp-1\thttps://img.example/lamp-1.jpg\t15.00 EUR' +
        '\t12.00 EUR\tLamps\tin_stock\t4006381333931\n',
      rss:
        '<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">\n  <channel>\n    <item>\n' +
        '      <g:id>lamp-1</g:id>\n      <g:title>Lamp</g:title>\n' +
        '      <g:description>Of glass, for the desk</g:description>\n' +
        '      <g:link>https://shop.example/lamp-1</g:link>\n' +
        '      <g:image_link>https://img.example/lamp-1.jpg</g:image_link>\n' +
        '      <g:price>15.00 EUR</g:price>\n      <g:sale_price>12.00 EUR</g:sale_price>\n' +
        '      <g:product_type>Lamps</g:product_type>\n      <g:availability>in_stock</g:availability>\n' +
        '      <g:gtin>4006381333931</g:gtin>\n    </item>\n  </channel>\n</rss>\n',
    },
  },
  answer: REFUSALS,
  sends: { ...LOADED, ...IGNORED_FIELDS },
} satisfies Omit<OperationText, 'id'>;

const listFeeds = {
  summary: 'List the feeds that the caller is connected to',
  answer: FEED_LIST,
} satisfies Omit<OperationText, 'id'>;

const PAGE_SIZE = { 'X-Page-Size': 'Products on a page, if the request asked for more than 1000' };

/** The operations of Document 1, Endpoints, as OpenAPI describes them. */
export const productApi = operationsById({
  searchProducts: {
    summary: 'Search and export products',
    description: 'Pages end after the first 1,000 products of a search; a cursor continues beyond them.',
    example: { ...FEEDS, q: ['lamp'], pageSize: 3 },
    answer: FOUND,
    sends: { 'X-Next-Cursor': 'Value of cursor for the next page', ...PAGE_SIZE },
  },
  loadProducts,
  downloadFeed: {
    summary: 'Download a feed',
    description:
      'All of the feed from one snapshot, or a page of it. A version of a feed can be downloaded three times a day; ' +
      'answers of 304 and those without changes do not count.',
    example: { ...FEED, page: 1, pageSize: 3 },
    answer: FOUND,
    sends: { ETag: 'Version of the answer', 'X-Next-Since': 'Value of since for the next download' },
    also: { 304: 'Nothing has changed since the answer that If-None-Match names.' },
  },
  getLastUpdated: { summary: 'Get the time of a feed’s last update', example: FEED, answer: LAST_UPDATED },
  listImports: {
    summary: 'List the outcomes of the last posts to a feed',
    example: FEED,
    answer: IMPORT_REPORT,
  },
  getVisibility: {
    summary: 'Explain whether publishers see a product',
    description: 'Each condition with what it depends on, and what helps if it does not hold.',
    example: { ...FEED, spId: 'lamp-1' },
    answer: VISIBILITY,
  },
  deleteProducts: {
    summary: 'Delete products',
    description: 'Ignores unknown ids.',
    example: { ...FEED, spId: ['lamp-1'] },
    answer: REFUSALS,
    sends: LOADED,
  },
  getCategoryTree: {
    summary: 'Get the category tree with counts of the caller’s products',
    example: { language: 'en' },
    answer: CATEGORY_TREES,
  },
  listCategoryMappings: {
    summary: 'List what the categories of feeds are mapped to',
    example: FEEDS,
    answer: CATEGORY_MAPPINGS,
  },
  listFeeds,
  getFeed: {
    ...listFeeds,
    summary: 'Get one feed that the caller is connected to',
    description: 'In XML, if the id is followed by `.xml`.',
    path: { feedId: { type: INTEGER, description: 'Id of the feed', example: 1001 } },
  },
});

/** The XML schemas of products (`docs/decisions.md#p24`); what posts and answers share has its own namespace. */
export const productSchemas: SchemaFiles = (vendor) => {
  const {
    [PRODUCT_FILES.input]: input,
    [PRODUCT_FILES.output]: output,
    [FEED_LIST_FILE]: feedList,
    ...others
  } = schemaFiles(productApi);
  const namespaceOf = (part: keyof typeof PRODUCT_FILES) => `urn:com:${vendor}:pf:model:xml:${part}`;
  const common = { namespace: namespaceOf('common'), file: PRODUCT_FILES.common };
  const answer = { namespace: namespaceOf('output'), imports: { ns2: common } };
  return {
    [PRODUCT_FILES.common]: { ...COMMON, namespace: common.namespace },
    [PRODUCT_FILES.input]: {
      ...withVersion(input),
      namespace: namespaceOf('input'),
      imports: { cm: common },
    },
    [PRODUCT_FILES.output]: { elements: {}, ...output, ...answer },
    [FEED_LIST_FILE]: { elements: {}, ...feedList, ...answer },
    ...others,
  };
};

const POSTED = elementSchema(postedProduct.fields, 'posted');
const ANSWERED = elementSchema({ ...FEED_ELEMENTS, ...ANSWERED_COMMON }, 'answered');

/** Elements of posts and answers: amounts of prices as they may be posted, attributes as they are answered. */
const COMMON = {
  types: { ...ANSWERED.types, ...POSTED.types },
  simpleTypes: { ...ANSWERED.simpleTypes, ...POSTED.simpleTypes },
  elements: { ...POSTED.elements, ...ANSWERED.elements },
};

/** Posts may name any version 3. */
function withVersion(schema: XmlSchema | undefined): XmlSchema {
  const { products = {} } = schema?.elements ?? {};
  const root = typeof products === 'string' ? {} : products;
  return {
    ...schema,
    simpleTypes: { version: { base: 'xs:string', pattern: '3(\\.\\d+)*' } },
    elements: { products: { ...root, attributes: { 'version?': 'version' } } },
  };
}
