import { KINDS } from './catalogue';
import { CATEGORIES } from './categories';
import { FEEDS } from './feeds';
import { inLanguage } from './words';

/** Ids of the demo organisations and sites. */
export const DEMO = {
  advertisers: { lindner: 1, harbour: 2 },
  publishers: { preisfuchs: 11, bargainLane: 12 },
  operator: 90,
  sites: { preisfuchs: 1101, preisfuchsApp: 1102, bargainLane: 1201 },
  /** Without feeds: one that is closed and one that is paused in the course of its transactions. One accepts no claims. */
  programs: { closed: 103, suspended: 203, withoutClaims: 202 },
  /** The event of claims (Document 3), of each program. */
  inquiry: 17,
  /** Until a claim is approved. */
  daysToAutoApprove: 21,
} as const;

const { advertisers, publishers, operator, sites, programs, inquiry, daysToAutoApprove } = DEMO;

/**
 * The demo network file: two advertisers with three programs each, two publishers and an operator. No entry has a token, so
 * the import generates unique ones.
 */
export function demoNetwork() {
  return {
    organisations: [
      { id: advertisers.lindner, kind: 'advertiser', name: 'Kaufhaus Lindner' },
      { id: advertisers.harbour, kind: 'advertiser', name: 'Harbour & Pine' },
      { id: publishers.preisfuchs, kind: 'publisher', name: 'Preisfuchs' },
      { id: publishers.bargainLane, kind: 'publisher', name: 'Bargain Lane' },
      { id: operator, kind: 'operator', name: 'Network operations' },
    ],
    tokens: [
      { organisationId: advertisers.lindner, system: 'PRODUCTS' },
      { organisationId: advertisers.harbour, system: 'PRODUCTS' },
      { organisationId: publishers.preisfuchs, system: 'PRODUCTS', siteId: sites.preisfuchs },
      { organisationId: publishers.preisfuchs, system: 'PRODUCTS', siteId: sites.preisfuchsApp },
      { organisationId: publishers.bargainLane, system: 'PRODUCTS' },
      { organisationId: operator, system: 'OPS' },
      { organisationId: advertisers.lindner, system: 'VOUCHERS' },
      { organisationId: advertisers.harbour, system: 'VOUCHERS' },
      { organisationId: publishers.preisfuchs, system: 'VOUCHERS', siteId: sites.preisfuchs },
      { organisationId: publishers.bargainLane, system: 'VOUCHERS' },
      { organisationId: advertisers.lindner, system: 'CONVERSIONS' },
      { organisationId: publishers.preisfuchs, system: 'CONVERSIONS', siteId: sites.preisfuchs },
      { organisationId: operator, system: 'CONVERSIONS' },
      { organisationId: advertisers.lindner, system: 'CLAIMS' },
      { organisationId: publishers.preisfuchs, system: 'CLAIMS', siteId: sites.preisfuchs },
      { organisationId: publishers.bargainLane, system: 'CLAIMS' },
    ],
    programs: [
      program(
        101,
        advertisers.lindner,
        'Lindner Deutschland',
        'DE',
        'EUR',
        'https://lindner.example/logo.png',
      ),
      program(102, advertisers.lindner, 'Lindner UK', 'GB', 'GBP', 'https://lindner.example/logo-uk.png'),
      program(
        201,
        advertisers.harbour,
        'Harbour & Pine',
        'GB',
        'GBP',
        'https://harbourpine.example/logo.png',
      ),
      program(
        programs.withoutClaims,
        advertisers.harbour,
        'Harbour & Pine DE',
        'DE',
        'EUR',
        'https://harbourpine.example/logo.png',
      ),
      program(
        programs.closed,
        advertisers.lindner,
        'Lindner Österreich',
        'AT',
        'EUR',
        'https://lindner.example/logo.png',
      ),
      program(
        programs.suspended,
        advertisers.harbour,
        'Harbour & Pine IE',
        'IE',
        'EUR',
        'https://harbourpine.example/logo.png',
      ),
    ],
    sites: [
      site(sites.preisfuchs, publishers.preisfuchs, 'Preisfuchs', 'https://preisfuchs.example/'),
      site(sites.preisfuchsApp, publishers.preisfuchs, 'Preisfuchs app', 'https://app.preisfuchs.example/'),
      site(sites.bargainLane, publishers.bargainLane, 'Bargain Lane', 'https://bargainlane.example/'),
    ],
    connections: [
      ...[101, 102, 201, 202, programs.closed, programs.suspended].map((programId) => ({
        siteId: sites.preisfuchs,
        programId,
      })),
      { siteId: sites.preisfuchsApp, programId: 101 },
      ...[102, 201].map((programId) => ({ siteId: sites.bargainLane, programId })),
    ],
    feeds: FEEDS.map(({ id, programId, name, language }) => ({
      id,
      programIds: [programId],
      name,
      language,
    })),
    categories: Object.entries(CATEGORIES).map(([id, [en, de]]) => ({
      id,
      parentId: id.length === 1 ? null : id.slice(0, -1),
      names: { en, de },
    })),
    mappings: FEEDS.filter(({ maps }) => maps === 'by mapping').flatMap(({ id, unmapped, language }) =>
      KINDS.filter(({ category }) => !unmapped.includes(category)).map(({ category, shelf }) => ({
        feedId: id,
        name: inLanguage(shelf, language),
        categoryId: category,
      })),
    ),
  };
}

function program(
  id: number,
  organisationId: number,
  name: string,
  country: string,
  currency: string,
  logoUrl: string,
) {
  const events = [
    { id: id * 10 + 1, name: 'Sale', kind: 'sale', pendingDays: 30, commission: { percent: 6 } },
    { id: id * 10 + 2, name: 'Newsletter', kind: 'lead', pendingDays: 0, commission: { fixed: 1.5 } },
    { id: inquiry, name: 'Inquiry', kind: 'sale', pendingDays: 30, inquiry: true },
  ];
  const acceptsClaims = id !== programs.withoutClaims;
  return { id, organisationId, name, country, currency, logoUrl, acceptsClaims, daysToAutoApprove, events };
}

function site(id: number, organisationId: number, name: string, url: string) {
  return { id, organisationId, name, url };
}
