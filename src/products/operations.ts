import { type OperationText, type Shape } from '../wire/description';
import { errorList } from '../wire/errors';
import { INTEGER } from '../wire/key-types';
import { CATEGORY_MAPPINGS } from '../categories/category-mappings';
import { CATEGORY_TREES } from '../categories/category-tree';
import { FEED_LIST, LAST_UPDATED } from './feed-list';
import { foundProducts, postedProducts } from './fields';
import { IMPORT_REPORT } from './import-report';
import { xmlResult } from './output-xml';

const REFUSALS: Shape = { name: 'ErrorList', kind: errorList };

/** Files of the XML schemas of products; `common` describes elements of the two others. */
export const PRODUCT_FILES = {
  common: 'ProductsFeedCommon_v3_0.xsd',
  input: 'ProductsFeedInput_v3_0.xsd',
  output: 'ProductsFeedOutput_v3_0.xsd',
} as const;

const FOUND: Shape = {
  name: 'FoundProducts',
  kind: foundProducts,
  xml: { file: PRODUCT_FILES.output, root: 'result', attributes: { version: '3.0' }, kind: xmlResult },
};

const FEED = { fid: 1001 } as const;
const FEEDS = { fid: '1001' } as const;

const loadProducts = {
  id: 'loadProducts',
  summary: 'Create, update or replace products',
  description:
    'A product that is known by its sourceProductId is updated, others are created; with mode=replace those that are ' +
    'not posted are removed. Products that are refused are listed, the others are stored.',
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
  },
  answer: REFUSALS,
} satisfies OperationText;

const listFeeds = {
  id: 'listFeeds',
  summary: 'Feeds that the caller is connected to',
  example: {},
  answer: FEED_LIST,
} satisfies OperationText;

/** The descriptions of the operations of Document 1, Endpoints. */
export const productOperations = {
  searchProducts: {
    id: 'searchProducts',
    summary: 'Search and export products',
    description: 'At most 1,000 products of one search can be had, on whatever pages.',
    example: { ...FEEDS, pageSize: 3, pretty: true },
    answer: FOUND,
    sends: { 'X-Next-Cursor': 'What to send as cursor next time' },
  },
  loadProducts,
  downloadFeed: {
    id: 'downloadFeed',
    summary: 'Download a feed',
    description:
      'All of the feed from one snapshot, or a page of it. A version of a feed can be downloaded three times a day; ' +
      'answers of 304 and those that tell of no change do not count.',
    example: { ...FEED, page: 1, pageSize: 3 },
    answer: FOUND,
    sends: { ETag: 'Version of the answer', 'X-Next-Since': 'What to send as since next time' },
    also: { 304: 'Nothing has changed since the answer that If-None-Match names.' },
  },
  getLastUpdated: {
    id: 'getLastUpdated',
    summary: 'When a feed was last updated',
    example: FEED,
    answer: LAST_UPDATED,
  },
  listImports: {
    id: 'listImports',
    summary: 'What has become of the last posts to a feed',
    example: FEED,
    answer: IMPORT_REPORT,
  },
  deleteProducts: {
    id: 'deleteProducts',
    summary: 'Delete products',
    description: 'Ids that are not there are passed over.',
    example: { ...FEED, spId: 'lamp-1' },
    answer: REFUSALS,
  },
  getCategoryTree: {
    id: 'getCategoryTree',
    summary: 'Category tree with the numbers of the caller’s products',
    example: { language: 'en' },
    answer: CATEGORY_TREES,
  },
  listCategoryMappings: {
    id: 'listCategoryMappings',
    summary: 'What the categories of feeds are mapped to',
    example: FEEDS,
    answer: CATEGORY_MAPPINGS,
  },
  listFeeds,
  getFeed: {
    ...listFeeds,
    id: 'getFeed',
    summary: 'One feed that the caller is connected to',
    path: { feedId: { type: INTEGER, description: 'Id of the feed' } },
  },
} as const satisfies Readonly<Record<string, OperationText>>;
