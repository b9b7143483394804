import { type NewToken } from '../ops/import-network';
import { exampleCalls } from './examples';
import { DEMO, demoNetwork } from './network';

/** Lines to print at the start: tokens and example calls for a base URL. */
export type DemoLines = (baseUrl: string) => readonly string[];

/** The tokens cannot be read again later. */
export function demoLines(tokens: readonly NewToken[]): DemoLines {
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

function describe({ organisationId, system, siteId, token }: NewToken): string {
  const { organisations, sites } = demoNetwork();
  const organisation = organisations.find(({ id }) => id === organisationId);
  const site = sites.find(({ id }) => id === siteId);
  const owner = `${organisation?.kind ?? ''} ${organisation?.name ?? ''}${site === undefined ? '' : `, site ${site.name}`}`;
  return `${token}  ${system.padEnd(8)}  ${owner}`;
}

/** The tokens of the advertiser and of the publisher in the examples. */
function tokensOf(
  tokens: readonly NewToken[],
  system: string,
): { readonly advertiser: string; readonly publisher: string } {
  const matching = tokens.filter((token) => token.system === system);
  const find = (organisation: number, site?: number): string =>
    matching.find(({ organisationId, siteId }) => organisationId === organisation && siteId === site)
      ?.token ?? '';
  return {
    advertiser: find(DEMO.advertisers.lindner),
    publisher: find(DEMO.publishers.preisfuchs, DEMO.sites.preisfuchs),
  };
}
