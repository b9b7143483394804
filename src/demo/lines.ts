import { type NewToken } from '../operations/import-network';
import { DEMO, demoNetwork } from './network';
import { type PostedProduct } from './products';

/** Lines to print at the start: tokens and example calls for a base URL. */
export type DemoLines = (baseUrl: string) => readonly string[];

/** The tokens cannot be read again later. */
export function demoLines(tokens: readonly NewToken[]): DemoLines {
  const [products, vouchers] = [tokensOf(tokens, 'PRODUCTS'), tokensOf(tokens, 'VOUCHERS')];
  const conversions = tokensOf(tokens, 'CONVERSIONS');
  const claims = tokensOf(tokens, 'CLAIMS');
  return (baseUrl) => [
    ...tokens.map(describe),
    '',
    '# For the examples of the README',
    `export ADVERTISER=${products.advertiser} PUBLISHER=${products.publisher}`,
    `export VOUCHER_ADVERTISER=${vouchers.advertiser} VOUCHER_PUBLISHER=${vouchers.publisher}`,
    `export CONVERSION_ADVERTISER=${conversions.advertiser} CONVERSION_PUBLISHER=${conversions.publisher}`,
    `export CONVERSION_OPERATOR=${conversions.operator}`,
    `export CLAIM_ADVERTISER=${claims.advertiser} CLAIM_PUBLISHER=${claims.publisher}`,
    ...exampleCalls(baseUrl, {
      ...products,
      voucherPublisher: vouchers.publisher,
      conversionPublisher: conversions.publisher,
      conversionOperator: conversions.operator,
      claimAdvertiser: claims.advertiser,
    }),
  ];
}

function describe({ organisationId, system, siteId, token }: NewToken): string {
  const { organisations, sites } = demoNetwork();
  const organisation = organisations.find(({ id }) => id === organisationId);
  const site = sites.find(({ id }) => id === siteId);
  const owner = `${organisation?.kind ?? ''} ${organisation?.name ?? ''}${site === undefined ? '' : `, site ${site.name}`}`;
  return `${token}  ${system.padEnd(8)}  ${owner}`;
}

/** The tokens of the advertiser, the publisher and the operator in the examples. */
function tokensOf(
  tokens: readonly NewToken[],
  system: string,
): { readonly advertiser: string; readonly publisher: string; readonly operator: string } {
  const matching = tokens.filter((token) => token.system === system);
  const find = (organisation: number, site?: number): string =>
    matching.find(({ organisationId, siteId }) => organisationId === organisation && siteId === site)
      ?.token ?? '';
  return {
    advertiser: find(DEMO.advertisers.lindner),
    publisher: find(DEMO.publishers.preisfuchs, DEMO.sites.preisfuchs),
    operator: find(DEMO.operator),
  };
}

/** A product to post by hand: its category is mapped in the example feed, and no other product has its EAN. */
const PRODUCT: PostedProduct = {
  sourceProductId: 'hello-1',
  name: 'Tonwerk Hello Kopfhörer',
  description: 'Ein Kopfhörer zum Ausprobieren.',
  productUrl: 'https://www.lindner.example/p/hello-1',
  price: 49.9,
  productImage: { url: 'https://img.lindner.example/500x300/hello-1.jpg' },
  categories: [{ name: 'Audio > Kopfhörer' }],
  brand: 'Tonwerk',
  ean: '2099999999998',
};

const ALL_FEEDS = '1001,1002,2001,2002';

/** Example calls to paste into a shell. */
export function exampleCalls(
  baseUrl: string,
  token: Readonly<
    Record<
      | 'advertiser'
      | 'publisher'
      | 'voucherPublisher'
      | 'conversionPublisher'
      | 'conversionOperator'
      | 'claimAdvertiser',
      string
    >
  >,
): readonly string[] {
  const products = `${baseUrl}/1.0/products`;
  const transactions = `${baseUrl}/1.0/conversions/transactions`;
  const get = (keys: string): string => `curl '${products}${keys};pretty=true?token=${token.publisher}'`;
  return [
    '# Search in JSON: headphones by price',
    get(`.json;fid=${ALL_FEEDS};q=headphones,kopfhorer;orderBy=priceAsc;pageSize=3`),
    '# The same in XML',
    get(`.xml;fid=${ALL_FEEDS};q=headphones,kopfhorer;orderBy=priceAsc;pageSize=3`),
    '# The price history of a lamp in the last year',
    get(`.json;fid=1001;tdCategoryId=22;pageSize=1;priceHistory=true;dateOutputFormat=iso8601`),
    '# Products that several shops sell, cheapest offer first',
    get(`.json;fid=${ALL_FEEDS};brand=Fjordholz;groupOffersByProduct=true;pageSize=2`),
    '# The category tree in German, with product counts of the feeds that a token can access',
    `curl '${baseUrl}/1.0/productCategories.json;language=de;pretty=true?token=${token.publisher}'`,
    '# The category mappings of a feed',
    `curl '${baseUrl}/1.0/categoryMappings.json;fid=1001;pretty=true?token=${token.advertiser}'`,
    '# The feeds that a token can access',
    `curl '${baseUrl}/1.0/productFeeds.json;pretty=true?token=${token.publisher}'`,
    '# Post a product, then find it by searching for "hello"',
    `curl -X POST -H 'Content-Type: application/json; charset=utf-8' -d '${JSON.stringify({ products: [PRODUCT] })}' '${products};fid=1001?token=${token.advertiser}'`,
    get('.json;fid=1001;q=hello'),
    '# Vouchers as JSON and as a calendar',
    `curl '${baseUrl}/1.0/vouchers.json;pretty=true?token=${token.voucherPublisher}'`,
    `curl '${baseUrl}/1.0/vouchers.ics?token=${token.voucherPublisher}'`,
    '# Pending transactions of a publisher',
    `curl '${transactions};messageTypeId=4;pageSize=2;pretty=true?token=${token.conversionPublisher}'`,
    '# Counts and amounts of all transactions by currency and state',
    `curl '${transactions}/totals;pretty=true?token=${token.conversionOperator}'`,
    '# Claims that await the approval of an advertiser',
    `curl '${baseUrl}/1.0/claims;statusId=2;limit=2;pretty=true?token=${token.claimAdvertiser}'`,
  ];
}
