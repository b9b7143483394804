import { gunzipSync } from 'node:zlib';
import { type Response } from '../support/app';
import { FEEDS } from './network';
import { DAYS, FINDS } from './search-cases';
import { DAY, NOW } from './voucher-network';

/** What of an answer shows that a key was minded. */
type Show = (answer: Response) => unknown;

/**
 * What a key changes: the operation, the key as it is sent, the keys beside it with and without it, what is looked at,
 * and how that is with the key. Without it, it must be otherwise.
 */
export type Effect = readonly [operation: string, sent: string, beside: string, show: Show, shown: unknown];

const { german, swedish, shared } = FEEDS;

interface Products {
  readonly productHeader?: { readonly facets?: object; readonly suggestions?: object };
  readonly products?: readonly {
    readonly name: string;
    readonly offers: readonly { readonly sourceProductId: string; readonly [field: string]: unknown }[];
  }[];
}

const type: Show = ({ headers }) => String(headers['content-type']).split(';')[0];
const found = (answer: Response) => answer.json<Products>().products?.map(({ offers }) => offers) ?? [];
const ids: Show = (answer) => found(answer).flatMap((offers) => offers.map((offer) => offer.sourceProductId));
const sortedIds: Show = (answer) => (ids(answer) as string[]).toSorted();
const offers: Show = (answer) => found(answer).map((of) => of.map(({ feedId }) => feedId));
const has =
  (field: string): Show =>
  (answer) =>
    found(answer).every(([offer]) => offer !== undefined && field in offer);
const typeOf =
  (field: string): Show =>
  (answer) =>
    typeof found(answer)[0]?.[0]?.[field];
const facets: Show = (answer) => Object.keys(answer.json<Products>().productHeader?.facets ?? {});
const completed: Show = (answer) => answer.json<Products>().productHeader?.suggestions;
const header: Show = ({ body }) => body.split('\r\n')[0]?.slice(0, 20);
const hasColumn: Show = ({ body }) => body.includes('(field)Colour');
const status: Show = ({ statusCode }) => statusCode;

/** Keys that CSV adds, the same in searches and downloads. */
const ofCsv = (operation: string, beside: string): readonly Effect[] => [
  [operation, 'format=csv', beside, type, 'text/csv'],
  [operation, 'csvSeparators=%7C;', `${beside};format=csv`, status, 400],
  [operation, 'csvSeparators=%7C%2F%2B', `${beside};format=csv`, header, '"name"|"productImage'],
  [operation, "csvEmbrace='", `${beside};format=csv`, header, "'name','productImage"],
  [operation, 'csvFlattenFields=true', `${beside};format=csv`, hasColumn, true],
];

const both = `;fid=${german},${swedish}`;
const inOrder = `${both};orderBy=priceAsc`;

const searches: readonly Effect[] = [
  ...FINDS.filter(([key, , all]) => key !== 'fid' && all.length < 4).map(([, sent, all]): Effect => [
    'searchProducts',
    sent,
    both,
    sortedIds,
    all.toSorted(),
  ]),
  ['searchProducts', `fid=${swedish}`, '', ids, ['ljud']],
  ['searchProducts', 'sourceproducturl=true', both, has('sourceProductUrl'), true],
  ['searchProducts', 'orderBy=priceDesc', `${both};q=lampe`, ids, ['phones', 'lamp']],
  ['searchProducts', 'orderBy=priceAsc', both, ids, ['lamp', 'phones', 'so,fa', 'ljud']],
  ['searchProducts', 'orderBy=modificationDateAsc', both, (one) => (ids(one) as string[])[0], 'lamp'],
  ['searchProducts', 'orderBy=modificationDateDesc', `${both};q=lampe`, ids, ['phones', 'lamp']],
  ['searchProducts', 'page=2', `${inOrder};pageSize=1`, ids, ['phones']],
  ['searchProducts', 'pageSize=3', inOrder, ids, ['lamp', 'phones', 'so,fa']],
  ['searchProducts', 'limit=2', inOrder, ids, ['lamp', 'phones']],
  ['searchProducts', 'cursor=*', `${both};pageSize=2`, (one) => 'x-next-cursor' in one.headers, true],
  [
    'searchProducts',
    'groupOffersByProduct=true',
    `;fid=${german},${shared};ean=0501234567890`,
    offers,
    [[german, shared]],
  ],
  ['searchProducts', 'prefix=true', `${both};q=lamp`, sortedIds, ['lamp', 'phones']],
  ['searchProducts', 'fuzzy=true', `${both};q=headphonse`, ids, ['phones']],
  ['searchProducts', 'suggest=so', both, completed, { names: ['Sofa'], brands: [] }],
  ['searchProducts', 'facets=brand,feed', both, facets, ['brand', 'feed']],
  ['searchProducts', 'priceHistory=true', both, has('priceHistory'), true],
  ['searchProducts', 'dateOutputFormat=iso8601', both, typeOf('modified'), 'string'],
  ...ofCsv('searchProducts', both),
];

const feed = `;fid=${german}`;
const downloads: readonly Effect[] = [
  ['downloadFeed', `fid=${swedish}`, '', ids, ['ljud']],
  ['downloadFeed', 'sourceproducturl=true', feed, has('sourceProductUrl'), true],
  ['downloadFeed', 'page=2', `${feed};pageSize=2`, (one) => found(one).length, 1],
  ['downloadFeed', 'pageSize=2', `${feed};page=1`, (one) => found(one).length, 2],
  ['downloadFeed', 'priceHistory=true', feed, has('priceHistory'), true],
  ['downloadFeed', 'dateOutputFormat=iso8601', feed, typeOf('modified'), 'string'],
  ['downloadFeed', 'compress=gz', feed, ({ rawPayload }) => gunzips(rawPayload), true],
  ['downloadFeed', `since=${DAYS[2]}`, feed, ids, ['so,fa']],
  ...ofCsv('downloadFeed', feed),
];

function gunzips(body: Buffer): boolean {
  try {
    return gunzipSync(body).includes('totalHits');
  } catch {
    return false;
  }
}

const names = (key: string, name: string): Show => {
  return (answer) =>
    answer.json<Record<string, Record<string, unknown>[]>>()[key]?.map((one) => one[name]) ??
    answer.statusCode;
};

const feeds: readonly Effect[] = [
  ['getLastUpdated', `fid=${german}`, '', (one) => one.json<{ feedIds?: number[] }>().feedIds, [german]],
  ['listSources', `fid=${german}`, '', (one) => one.json<object[]>().length, 1],
  ['removeSource', `fid=${shared}`, '', status, 204],
  ['fetchSource', `fid=${german}`, '', status, 204],
  ['acceptSource', `fid=${swedish}`, '', status, 204],
  ['listImports', `fid=${german}`, '', (one) => one.json<{ imports?: object[] }>().imports?.length, 3],
  [
    'getVisibility',
    `fid=${german}`,
    ';spId=lamp',
    names('conditions', 'holds'),
    [true, true, true, true, true],
  ],
  ['getVisibility', 'spId=none', feed, names('conditions', 'holds'), [false, true, true, true]],
  ['getCategoryTree', 'language=de', '', names('categoryTrees', 'name'), ['Elektronik', 'Haus']],
  ['listCategoryMappings', `fid=${swedish}`, '', names('categoryMappings', 'feedId'), [swedish]],
  ['listCategoryMappings', 'state=unmapped', feed, names('categoryMappings', 'state'), ['unmapped']],
  [
    'listCategoryMappings',
    'state=mapped',
    `${feed},${shared}`,
    (one) => one.body.includes('unmapped'),
    false,
  ],
  ['listCategoryMappings', 'format=xml', feed, type, 'application/xml'],
  ['listFeeds', 'programId=201', '', names('feeds', 'feedId'), [FEEDS.italian]],
  ['getFeed', 'programId=201', '', names('feeds', 'feedId'), []],
];

const listed: Show = (answer) => answer.json<{ id: number }[]>().map(({ id }) => id);

/** Of the vouchers that `test/api/keys.test.ts` posts. */
const vouchers: readonly Effect[] = [
  ['listVouchers', 'id=1,3', '', listed, [3, 1]],
  ['listVouchers', `maxStartDate=${NOW}`, '', listed, [4, 3, 1]],
  ['listVouchers', `minEndDate=${NOW + 20 * DAY}`, '', listed, [4, 2, 1]],
  [
    'listVouchers',
    'dateOutputFormat=iso8601',
    '',
    (one) => typeof one.json<{ endDate: unknown }[]>()[0]!.endDate,
    'string',
  ],
  ['listVouchers', 'programId=102', '', listed, [2]],
  ['listVouchers', 'keywords=lamps', '', listed, [3]],
  ['listVouchers', 'voucherTypeId=5', '', listed, [1]],
  ['listVouchers', 'siteSpecific=true', '', listed, [4]],
  ['listVouchers', 'siteSpecific=false', '', listed, [3, 2, 1]],
  ['listVouchers', 'siteId=1101', '', listed, [3, 1]],
  ['listVouchers', 'pageSize=2', '', listed, [4, 3]],
  ['listVouchers', 'page=1', ';pageSize=3', listed, [1]],
  ['listVouchers', 'random=7', '', listed, [4, 3, 1, 2]],
  ['listVouchers', 'languageId=sv', '', listed, [2]],
  ['listVouchers', `activeAt=${NOW + 5 * DAY}`, '', listed, [4, 2, 1]],
  ['listVouchers', 'since=*', '', ({ headers }) => headers['x-since-reset'], 'true'],
  ['listVouchers', 'format=csv', '', type, 'text/csv'],
  [
    'listVersions',
    'dateOutputFormat=iso8601',
    '',
    (one) => typeof one.json<{ versions: { time: unknown }[] }>().versions[0]!.time,
    'string',
  ],
];

/** Without a body: what a dry run stores is tested in `test/api/voucher-posts.test.ts`. */
const dryRuns: readonly Effect[] = (['postVoucher', 'postVouchers'] as const).map((id) => [
  id,
  'dryRun=true',
  '',
  ({ headers }) => headers['x-dry-run'],
  'true',
]);

const outcomes = names('report', 'outcome');
const own = encodeURIComponent('Nobody’s');
const mappings: readonly Effect[] = [
  ['listMappings', `fid=${swedish}`, '', names('categoryMappings', 'feedId'), [swedish]],
  ['listMappings', 'state=mapped', feed, (one) => one.body.includes('unmapped'), false],
  [
    'suggestMappings',
    `fid=${german}`,
    ';name=Lamps',
    names('suggestions', 'categoryName'),
    ['In-Ear, wired', 'Lamps'],
  ],
  ['suggestMappings', 'name=Lamps', feed, names('suggestions', 'categoryName'), ['In-Ear, wired', 'Lamps']],
  ['suggestMappings', 'most=1', ';name=Leuchten', (one) => suggested(one), 1],
  ['unmapName', `fid=${german}`, `;name=${own}`, outcomes, ['unchanged']],
  ['unmapName', `name=${own}`, feed, outcomes, ['unchanged']],
];

function suggested(answer: Response): number | undefined {
  return answer.json<{ suggestions: { suggestions: object[] }[] }>().suggestions[0]?.suggestions.length;
}

/** Every key of every operation on products and vouchers that only reads, or that changes nothing. */
export const EFFECTS: readonly Effect[] = [
  ...searches,
  ...downloads,
  ...feeds,
  ...vouchers,
  ...dryRuns,
  ...mappings,
];
