import { CATEGORIES } from './products';

/** The advertiser of all feeds. */
export const ADVERTISER_TOKEN = 'b'.repeat(40);
/** A publisher with access to all feeds. */
export const PUBLISHER_TOKEN = 'c'.repeat(40);
/** Others of the same publisher, for other sites: clients that do not wait for each other. */
export const OTHER_PUBLISHER_TOKENS = ['4', '5', '6', '7'].map((digit) => digit.repeat(40));
/** Tokens of the same organisations for vouchers. */
export const VOUCHER_TOKENS = { advertiser: 'd'.repeat(40), publisher: 'e'.repeat(40) } as const;
/** And for conversions. */
export const CONVERSION_TOKENS = { advertiser: 'f'.repeat(40), publisher: '1'.repeat(40) } as const;
/** And for claims, of all sites. */
export const CLAIM_TOKENS = { advertiser: '2'.repeat(40), publisher: '3'.repeat(40) } as const;
/** The events of the only program. */
export const EVENTS = Array.from({ length: 20 }, (_, event) => 111 + event);
/** The sites of the publisher; tokens and transactions are of the first one unless they name another. */
export const SITES = Array.from({ length: 50 }, (_, site) => 21 + site);
/** Feeds have the ids 1 to this one. */
export const FEEDS = 12;

/**
 * A network file with one advertiser, one publisher and some feeds, the first of which have all
 * product categories mapped.
 */
export function networkFile(feedCount = FEEDS, mapped = feedCount): string {
  const feeds = Array.from({ length: feedCount }, (_, feed) => feed + 1);
  const categories = CATEGORIES.map(({ name }, at) => ({ id: String(at + 1), name }));
  return JSON.stringify({
    organisations: [
      { id: 1, kind: 'advertiser', name: 'Bench shop' },
      { id: 2, kind: 'publisher', name: 'Bench site' },
    ],
    tokens: [
      { token: ADVERTISER_TOKEN, organisationId: 1, system: 'PRODUCTS' },
      ...[PUBLISHER_TOKEN, ...OTHER_PUBLISHER_TOKENS].map((token, at) => ({
        ...{ token, organisationId: 2, system: 'PRODUCTS', siteId: SITES[at] },
      })),
      { token: VOUCHER_TOKENS.advertiser, organisationId: 1, system: 'VOUCHERS' },
      { token: VOUCHER_TOKENS.publisher, organisationId: 2, system: 'VOUCHERS', siteId: 21 },
      { token: CONVERSION_TOKENS.advertiser, organisationId: 1, system: 'CONVERSIONS' },
      { token: CONVERSION_TOKENS.publisher, organisationId: 2, system: 'CONVERSIONS', siteId: 21 },
      { token: CLAIM_TOKENS.advertiser, organisationId: 1, system: 'CLAIMS' },
      { token: CLAIM_TOKENS.publisher, organisationId: 2, system: 'CLAIMS' },
    ],
    programs: [
      {
        id: 11,
        organisationId: 1,
        name: 'Bench shop',
        country: 'DE',
        currency: 'EUR',
        logoUrl: 'https://shop.example/logo.png',
        status: 'active',
        acceptsClaims: true,
        daysToAutoApprove: 30,
        events: EVENTS.map((id) => ({
          id,
          name: `Sale ${id}`,
          kind: 'sale',
          pendingDays: 30,
          commission: { percent: 7.5 },
        })),
      },
    ],
    sites: SITES.map((id, at) => {
      const name = at === 0 ? 'site.example' : `site-${id}.example`;
      return { id, organisationId: 2, name, url: `https://${name}/` };
    }),
    connections: SITES.map((siteId) => ({ siteId, programId: 11 })),
    feeds: feeds.map((id) => ({
      id,
      programIds: [11],
      name: `Feed ${id}`,
      language: 'en',
      active: true,
      visible: true,
      secret: false,
    })),
    categories: categories.map(({ id }) => ({
      id,
      parentId: null,
      names: { en: `Platform category ${id}` },
    })),
    mappings: feeds
      .slice(0, mapped)
      .flatMap((feedId) => categories.map(({ id, name }) => ({ feedId, name, categoryId: id }))),
  });
}
