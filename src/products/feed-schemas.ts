import { type Schema, type XsdType } from '../wire/xsd';

const CATEGORY: XsdType = {
  attributes: { language: 'xs:string', name: 'xs:string', id: 'xs:string', productCount: 'xs:integer' },
  sequence: { 'category*': 'category' },
};

const FEED: XsdType = {
  sequence: {
    feedId: 'xs:integer',
    name: 'xs:string',
    active: 'xs:boolean',
    sendToNewPF: 'xs:boolean',
    visible: 'xs:boolean',
    currencyISOCode: 'xs:string',
    languageISOCode: 'xs:string',
    secret: 'xs:boolean',
    numberOfUnmappedCategories: 'xs:integer',
    numberOfProducts: 'xs:integer',
    lastModifiedTime: 'time',
    programs: { sequence: { 'program*': { sequence: { programId: 'xs:integer', name: 'xs:string' } } } },
  },
};

const MAPPING: XsdType = {
  attributes: {
    feedId: 'xs:integer',
    categoryName: 'xs:string',
    productCount: 'xs:integer',
    state: 'state',
    'tdCategoryId?': 'xs:string',
    'tdCategoryName?': 'xs:string',
  },
};

const COUNTS = ['durationMs', 'new', 'revised', 'repriced', 'unchanged', 'removed', 'refused', 'moreFaults?'];

const IMPORT: XsdType = {
  attributes: {
    importId: 'xs:string',
    time: 'xs:dateTime',
    mode: 'mode',
    status: 'status',
    ...Object.fromEntries(COUNTS.map((name) => [name, 'xs:integer'])),
  },
  sequence: {
    'fault*': { text: 'xs:string', attributes: { code: 'xs:string', 'sourceProductId?': 'xs:string' } },
  },
};

/** A time in seconds and milliseconds, or none yet; `offset` is a pattern. */
const time = (offset: string) => ({
  base: 'xs:string',
  pattern: `(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}${offset})?`,
});

/** Category tree, mapping status, feed list, load report and last update: in no namespace (`docs/decisions.md#p24`). */
export const feedSchemas: Readonly<Record<string, Schema>> = {
  'CategoryTree_v1_0.xsd': {
    types: { category: CATEGORY },
    elements: { categoryTrees: { sequence: { 'category*': 'category' } } },
  },
  'CategoryMappings_v1_0.xsd': {
    simpleTypes: { state: { base: 'xs:string', pattern: 'mapped|unmapped' } },
    elements: { categoryMappings: { sequence: { 'categoryMapping*': MAPPING } } },
  },
  'FeedList_v3_0.xsd': {
    simpleTypes: { time: time('\\+0000') },
    elements: {
      result: { attributes: { version: 'xs:string' }, sequence: { feeds: { sequence: { 'feed*': FEED } } } },
    },
  },
  'Imports_v1_0.xsd': {
    simpleTypes: {
      mode: { base: 'xs:string', pattern: 'update|replace' },
      status: { base: 'xs:string', pattern: 'done|refused' },
    },
    elements: { imports: { sequence: { 'import*': IMPORT } } },
  },
  'LastUpdated_v1_0.xsd': {
    simpleTypes: { time: time('') },
    elements: {
      result: {
        sequence: { feedIds: { sequence: { 'feedId*': 'xs:integer' } }, lastUpdatedTime: 'time' },
      },
    },
  },
};
