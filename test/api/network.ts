import { createHash } from 'node:crypto';

/** Tokens of this network, each the same at any time. */
export const TOKENS = {
  /** Advertiser 1: programs 101, 102 and 103. */
  nord: tokenOf('nord'),
  /** Advertiser 2: program 201. */
  casa: tokenOf('casa'),
  /** Publisher 11, its site 1101 only: programs 101 and 201. */
  preisblick: tokenOf('preisblick'),
  /** Publisher 11, all its sites: program 102 too. */
  preisblickAll: tokenOf('preisblick, all sites'),
  /** Publisher 12, all its sites: programs 102 (site 1201) and 101 (sites 1202 and 1203). */
  deals: tokenOf('deals'),
  /** Publisher 13, connected to nothing. */
  lonely: tokenOf('lonely'),
} as const;

export type Client = keyof typeof TOKENS;
export const CLIENTS = Object.keys(TOKENS) as readonly Client[];

/** Valid tokens of other systems. */
export const OTHER_TOKENS = {
  vouchers: tokenOf('vouchers'),
  claims: tokenOf('claims'),
  operator: tokenOf('operator'),
} as const;

/** Feeds, and who may search them; those of advertisers may be posted to by them. */
export const FEEDS = {
  /** German, EUR. */
  german: 22001,
  /** Swedish, SEK. */
  swedish: 22002,
  inactive: 22003,
  invisible: 22004,
  secret: 22005,
  /** Of programs 102 and 101, in this order: SEK. */
  shared: 22006,
  /** Of program 103, which nobody is connected to. */
  unconnected: 22007,
  /** Italian, EUR, of the other advertiser. */
  italian: 23001,
} as const;

export const VISIBLE: Readonly<Record<Client, readonly (keyof typeof FEEDS)[]>> = {
  nord: ['german', 'swedish', 'inactive', 'invisible', 'secret', 'shared', 'unconnected'],
  casa: ['italian'],
  preisblick: ['german', 'secret', 'shared', 'italian'],
  preisblickAll: ['german', 'swedish', 'secret', 'shared', 'italian'],
  deals: ['german', 'swedish', 'secret', 'shared'],
  lonely: [],
};

export const NETWORK = {
  organisations: [
    { id: 1, kind: 'advertiser', name: 'Nordlicht Audio' },
    { id: 2, kind: 'advertiser', name: 'Casa Verde' },
    { id: 11, kind: 'publisher', name: 'Preisblick' },
    { id: 12, kind: 'publisher', name: 'Deal Harbour' },
    { id: 13, kind: 'publisher', name: 'Lonely' },
    { id: 90, kind: 'operator', name: 'Desk' },
  ],
  tokens: [
    { organisationId: 1, system: 'PRODUCTS', token: TOKENS.nord },
    { organisationId: 2, system: 'PRODUCTS', token: TOKENS.casa },
    { organisationId: 11, system: 'PRODUCTS', siteId: 1101, token: TOKENS.preisblick },
    { organisationId: 11, system: 'PRODUCTS', token: TOKENS.preisblickAll },
    { organisationId: 12, system: 'PRODUCTS', token: TOKENS.deals },
    { organisationId: 13, system: 'PRODUCTS', token: TOKENS.lonely },
    { organisationId: 1, system: 'VOUCHERS', token: OTHER_TOKENS.vouchers },
    { organisationId: 11, system: 'CLAIMS', token: OTHER_TOKENS.claims },
    { organisationId: 90, system: 'OPS', token: OTHER_TOKENS.operator },
  ],
  programs: [
    program(101, 1, 'Nordlicht DE', 'DE', 'EUR', 'https://nord.example/de.png'),
    program(102, 1, 'Nordlicht SE', 'SE', 'SEK', 'https://nord.example/se.png'),
    program(103, 1, 'Nordlicht AT', 'AT', 'EUR'),
    program(201, 2, 'Casa Verde', 'IT', 'EUR', 'https://casa.example/logo.png'),
  ],
  sites: [site(1101, 11), site(1102, 11), site(1201, 12), site(1202, 12), site(1203, 12), site(1301, 13)],
  connections: [
    { siteId: 1101, programId: 101 },
    { siteId: 1101, programId: 201 },
    { siteId: 1102, programId: 102 },
    { siteId: 1201, programId: 102 },
    { siteId: 1202, programId: 101 },
    { siteId: 1203, programId: 101 },
  ],
  feeds: [
    { id: FEEDS.german, programIds: [101], name: 'Germany', language: 'de' },
    { id: FEEDS.swedish, programIds: [102], name: 'Sweden', language: 'sv' },
    { id: FEEDS.inactive, programIds: [101], name: 'Old', language: 'de', active: false },
    { id: FEEDS.invisible, programIds: [101], name: 'Hidden', language: 'de', visible: false },
    { id: FEEDS.secret, programIds: [101], name: 'Secret', language: 'de', secret: true },
    { id: FEEDS.shared, programIds: [102, 101], name: 'Shared', language: 'en' },
    { id: FEEDS.unconnected, programIds: [103], name: 'Austria', language: 'de' },
    { id: FEEDS.italian, programIds: [201], name: 'Italia', language: 'it' },
  ],
  categories: [
    { id: '1', parentId: null, names: { en: 'Electronics', de: 'Elektronik' } },
    { id: '11', parentId: '1', names: { en: 'Headphones', de: 'Kopfhörer', it: 'Cuffie' } },
    { id: '111', parentId: '11', names: { en: 'In-ear' } },
    { id: '12', parentId: '1', names: { en: 'Speakers', de: 'Lautsprecher' } },
    { id: '2', parentId: null, names: { en: 'Home', de: 'Haus' } },
    { id: '21', parentId: '2', names: { en: 'Lamps', de: 'Leuchten' } },
    { id: '22', parentId: '2', names: { en: 'Lights', de: 'Leuchten' } },
  ],
  mappings: [
    { feedId: FEEDS.german, name: 'Over-Ear', categoryId: '11' },
    { feedId: FEEDS.italian, name: 'Lampade', categoryId: '21' },
  ],
} as const;

/** The connections of this network, but that program 101 is connected to these sites of publisher 11. */
export function connectedBy(...sites: readonly number[]): readonly object[] {
  const others = NETWORK.connections.filter(({ siteId, programId }) => programId !== 101 || siteId > 1102);
  return [...others, ...sites.map((siteId) => ({ siteId, programId: 101 }))];
}

function tokenOf(name: string): string {
  return createHash('sha1').update(`api test: ${name}`).digest('hex');
}

function program(
  id: number,
  organisationId: number,
  name: string,
  country: string,
  currency: string,
  logoUrl?: string,
): object {
  return { id, organisationId, name, country, currency, ...(logoUrl === undefined ? {} : { logoUrl }) };
}

function site(id: number, organisationId: number): object {
  return { id, organisationId, name: `Site ${id}`, url: `https://site${id}.example/` };
}
