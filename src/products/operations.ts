import { type OperationText, type Shape } from '../wire/description';
import { errorList } from '../wire/error-shape';
import { INTEGER } from '../wire/key-types';
import { categoryMappings } from '../categories/category-mappings';
import { categoryNode, categoryTrees } from '../categories/category-tree';
import { feedList } from './feed-list';
import { importReport } from './import-report';
import { foundProducts, lastUpdated, postedProducts, productParts } from './shapes';

const REFUSALS: Shape = { name: 'ErrorList', json: errorList, xml: 'ProductErrors_v1_0.xsd' };

const FOUND: Shape = {
  name: 'FoundProducts',
  json: foundProducts,
  parts: productParts,
  xml: 'ProductsFeedOutput_v3_0.xsd',
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
    json: postedProducts,
    xml: 'ProductsFeedInput_v3_0.xsd',
    examples: {
      json: {
        products: [
          {
            sourceProductId: 'lamp-1',
            name: 'Lamp',
            description: 'Of glass',
            productUrl: 'https://shop.example/lamp-1',
            price: 12.5,
            productImage: { url: 'https://img.example/lamp-1.jpg' },
            categories: [{ name: 'Lamps' }],
          },
        ],
      },
      xml: `<products version="3.0" xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common">
  <product sourceProductId="lamp-1">
    <cm:name>Lamp</cm:name>
    <cm:description>Of glass</cm:description>
    <cm:productUrl>https://shop.example/lamp-1</cm:productUrl>
    <cm:productImage>https://img.example/lamp-1.jpg</cm:productImage>
    <cm:price>12.50</cm:price>
    <cm:categories><cm:category name="Lamps"/></cm:categories>
  </product>
</products>`,
    },
  },
  answer: REFUSALS,
} satisfies OperationText;

const listFeeds = {
  id: 'listFeeds',
  summary: 'Feeds that the caller is connected to',
  example: {},
  answer: { name: 'FeedList', json: feedList, xml: 'FeedList_v3_0.xsd' },
} satisfies OperationText;

/** What is told of the operations of Document 1, Endpoints. */
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
    answer: { name: 'LastUpdated', json: lastUpdated, xml: 'LastUpdated_v1_0.xsd' },
  },
  listImports: {
    id: 'listImports',
    summary: 'What has become of the last posts to a feed',
    example: FEED,
    answer: { name: 'ImportReport', json: importReport, xml: 'Imports_v1_0.xsd' },
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
    answer: {
      name: 'CategoryTrees',
      json: categoryTrees,
      parts: { CategoryNode: categoryNode },
      xml: 'CategoryTree_v1_0.xsd',
    },
  },
  listCategoryMappings: {
    id: 'listCategoryMappings',
    summary: 'What the categories of feeds are mapped to',
    example: FEEDS,
    answer: { name: 'CategoryMappings', json: categoryMappings, xml: 'CategoryMappings_v1_0.xsd' },
  },
  listFeeds,
  getFeed: {
    ...listFeeds,
    id: 'getFeed',
    summary: 'One feed that the caller is connected to',
    path: { feedId: { type: INTEGER, description: 'Id of the feed' } },
  },
} as const satisfies Readonly<Record<string, OperationText>>;
