import { FEEDS } from './feeds';
import { exampleCalls } from './examples';
import { DEMO, demoNetwork } from './network';
import { type PostedProduct } from './posted-product';
import { demoFeed, demoPriceChanges, FIRST_POSTED } from './products';
import { demoVouchers } from './vouchers';

/** A token that the import has made up. */
interface IssuedToken {
  readonly organisationId: number;
  readonly system: string;
  readonly siteId?: number;
  readonly token: string;
}

/** What users do, as functions: the demonstration comes about in no other way. */
export interface DemoOperations {
  /** True if nothing has been written yet. */
  readonly isEmpty: () => Promise<boolean>;
  /** Imports what a network file holds. */
  readonly importNetwork: (file: object, at: Date) => Promise<readonly IssuedToken[]>;
  /** Posts a JSON body to a feed, as of a time. */
  readonly load: (feedId: number, body: string, at: Date) => Promise<void>;
  /** Posts a voucher for an advertiser, as of a time. */
  readonly postVoucher: (organisationId: number, posted: object, at: Date) => Promise<void>;
}

/** Lines for whoever started the program, with calls to try at a base URL. */
export type DemoLines = (baseUrl: string) => readonly string[];

/**
 * Creates the demonstration where there is nothing yet: the network, its products, a year of changed prices, vouchers. Returns
 * the lines to show, tokens among them, which nobody can tell later; none if there was something already.
 */
export async function runDemo(operations: DemoOperations, now: Date): Promise<DemoLines> {
  if (!(await operations.isEmpty())) return () => [];
  const firstPosted = new Date(now.getTime() - FIRST_POSTED * 24 * 60 * 60 * 1000);
  const tokens = await operations.importNetwork(demoNetwork(), firstPosted);
  for (const { id } of FEEDS) await operations.load(id, bodyOf(demoFeed(id)), firstPosted);
  for (const { feedId, at, products } of demoPriceChanges(now)) {
    await operations.load(feedId, bodyOf(products), at);
  }
  for (const { organisationId, posted } of demoVouchers(now)) {
    await operations.postVoucher(organisationId, posted, now);
  }
  const [products, vouchers] = [tokensOf(tokens, 'PRODUCTS'), tokensOf(tokens, 'VOUCHERS')];
  return (baseUrl) => [
    ...tokens.map(describe),
    '',
    '# For the examples of the README',
    `export ADVERTISER=${products.advertiser} PUBLISHER=${products.publisher}`,
    `export VOUCHER_ADVERTISER=${vouchers.advertiser} VOUCHER_PUBLISHER=${vouchers.publisher}`,
    ...exampleCalls(baseUrl, { ...products, voucherPublisher: vouchers.publisher }),
  ];
}

function bodyOf(products: readonly PostedProduct[]): string {
  return JSON.stringify({ products });
}

function describe({ organisationId, system, siteId, token }: IssuedToken): string {
  const { organisations, sites } = demoNetwork();
  const organisation = organisations.find(({ id }) => id === organisationId);
  const site = sites.find(({ id }) => id === siteId);
  const whose = `${organisation?.kind ?? ''} ${organisation?.name ?? ''}${site === undefined ? '' : `, site ${site.name}`}`;
  return `${token}  ${system.padEnd(8)}  ${whose}`;
}

/** The tokens of the advertiser that posts and of the publisher that reads in the examples. */
function tokensOf(
  tokens: readonly IssuedToken[],
  system: string,
): { readonly advertiser: string; readonly publisher: string } {
  const ours = tokens.filter((token) => token.system === system);
  const find = (organisation: number, site?: number): string =>
    ours.find(({ organisationId, siteId }) => organisationId === organisation && siteId === site)?.token ??
    '';
  return {
    advertiser: find(DEMO.advertisers.lindner),
    publisher: find(DEMO.publishers.preisfuchs, DEMO.sites.preisfuchs),
  };
}
