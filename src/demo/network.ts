import { KINDS, type DemoLanguage, inLanguage, type Words, wordsIn } from './catalogue';

/** Ids of the demo organisations and sites. */
export const DEMO = {
  advertisers: { lindner: 1, harbour: 2 },
  publishers: { preisfuchs: 11, bargainLane: 12 },
  operator: 90,
  sites: { preisfuchs: 1101, preisfuchsApp: 1102, bargainLane: 1201 },
  /** Without feeds: one that is closed and one that is paused in the course of its transactions. */
  programs: { closed: 103, suspended: 203, withoutClaims: 202 },
  /** The event of claims (Document 3), of each program. */
  inquiry: 17,
  /** Until a claim is approved. */
  daysToAutoApprove: 21,
} as const;

const { advertisers, publishers, operator, sites, programs, inquiry, daysToAutoApprove } = DEMO;

/**
 * The demo network file: two advertisers with three programs each, two publishers and an operator. No entry has a
 * token: the demonstration has its own, or the import generates unique ones.
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
      program(101, advertisers.lindner, 'Lindner Deutschland', 'DE', 'lindner.example/logo.png'),
      program(102, advertisers.lindner, 'Lindner UK', 'GB', 'lindner.example/logo-uk.png'),
      program(201, advertisers.harbour, 'Harbour & Pine', 'GB', HARBOUR_LOGO),
      program(programs.withoutClaims, advertisers.harbour, 'Harbour & Pine DE', 'DE', HARBOUR_LOGO),
      program(programs.closed, advertisers.lindner, 'Lindner Österreich', 'AT', 'lindner.example/logo.png'),
      program(programs.suspended, advertisers.harbour, 'Harbour & Pine IE', 'IE', HARBOUR_LOGO),
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

const HARBOUR_LOGO = 'harbourpine.example/logo.png';

function program(id: number, organisationId: number, name: string, country: string, logo: string) {
  const currency = country === 'GB' ? 'GBP' : 'EUR';
  const logoUrl = `https://${logo}`;
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

/** Platform categories in three levels, `English / German`; the parent's id is a prefix of the child's. */
export const CATEGORIES: Readonly<Record<string, Words>> = Object.fromEntries(
  `
  1 Electronics / Elektronik
    11 Audio / Audio; 111 Headphones / Kopfhörer; 112 Speakers / Lautsprecher; 113 Turntables / Plattenspieler
    12 Computers / Computer; 121 Laptops / Notebooks; 122 Monitors / Monitore; 123 Keyboards / Tastaturen
    13 Phones and wearables / Telefone und Wearables; 131 Smartphones / Smartphones; 132 Smart watches / Smartwatches
    14 Photography / Fotografie; 141 Cameras / Kameras
  2 Home and garden / Haus und Garten
    21 Furniture / Möbel; 211 Chairs / Stühle; 212 Tables / Tische; 213 Shelves / Regale
    22 Lighting / Beleuchtung; 221 Table lamps / Tischleuchten; 222 Pendant lamps / Pendelleuchten
    23 Kitchen / Küche; 231 Coffee machines / Kaffeemaschinen; 232 Cookware / Töpfe und Pfannen
    24 Garden / Garten; 241 Barbecues / Grills
  3 Fashion / Mode
    31 Clothing / Bekleidung; 311 Jackets / Jacken; 312 Trousers / Hosen; 313 Jumpers / Pullover
    32 Shoes / Schuhe; 321 Trainers / Sneaker; 322 Boots / Stiefel
    33 Bags / Taschen; 331 Backpacks / Rucksäcke
  4 Sport / Sport
    41 Cycling / Radsport; 411 Bicycles / Fahrräder; 412 Cycle helmets / Fahrradhelme
    42 Camping / Camping; 421 Tents / Zelte; 422 Sleeping bags / Schlafsäcke
    43 Fitness / Fitness; 431 Yoga mats / Yogamatten
  `
    .trim()
    .split(/\n\s*|; /)
    .map((line) => [line.split(' ', 1)[0] ?? '', wordsIn(line.replace(/^\d+ /, ''))]),
);

/** A demo feed and its advertiser's conventions. */
export interface DemoFeed {
  readonly id: number;
  readonly programId: number;
  readonly name: string;
  readonly language: DemoLanguage;
  readonly host: string;
  readonly imageHost: string;
  /** Prefix of each `sourceProductId`. */
  readonly prefix: string;
  /** Exchange rate: one euro in the feed's currency. */
  readonly rate: number;
  /** How its products are mapped (`docs/decisions.md#p13`). */
  readonly maps: 'by mapping' | 'by category id' | 'by category name';
  /** Platform categories that the feed leaves unmapped, so publishers do not see their products. */
  readonly unmapped: readonly string[];
}

export const FEEDS: readonly DemoFeed[] = [
  {
    id: 1001,
    programId: 101,
    name: 'Lindner Deutschland',
    language: 'de',
    host: 'www.lindner.example',
    imageHost: 'img.lindner.example',
    prefix: 'KL-',
    rate: 1,
    maps: 'by mapping',
    unmapped: ['113', '322'],
  },
  {
    id: 1002,
    programId: 102,
    name: 'Lindner UK',
    language: 'en',
    host: 'uk.lindner.example',
    imageHost: 'img.lindner.example',
    prefix: 'KL-',
    rate: 0.86,
    maps: 'by mapping',
    unmapped: ['422'],
  },
  {
    id: 2001,
    programId: 201,
    name: 'Harbour & Pine',
    language: 'en',
    host: 'www.harbourpine.example',
    imageHost: 'img.harbourpine.example',
    prefix: 'hp_',
    rate: 0.86,
    maps: 'by category id',
    unmapped: ['431'],
  },
  {
    id: 2002,
    programId: 202,
    name: 'Harbour & Pine Deutschland',
    language: 'de',
    host: 'de.harbourpine.example',
    imageHost: 'img.harbourpine.example',
    prefix: 'hp_de_',
    rate: 1,
    maps: 'by category name',
    unmapped: ['213'],
  },
];
