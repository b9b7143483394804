import { type NetworkFile } from '../../../src/network/network-file';

/** The events that claims are about, the inquiry event first, and nothing else. */
export const CLAIMED = [304, 305] as const;
const EVENTS = [
  { id: 301, name: 'Sale', kind: 'sale', pendingDays: 1, commission: { percent: 5 } },
  { id: 302, name: 'Trial', kind: 'sale', pendingDays: 1, autoDeny: true },
  { id: CLAIMED[1], name: 'Call', kind: 'sale', pendingDays: 1, commission: { percent: 5 } },
  {
    id: CLAIMED[0],
    name: 'Inquiry',
    kind: 'sale',
    pendingDays: 1,
    inquiry: true,
    commission: { percent: 5 },
  },
  { id: 303, name: 'Lead', kind: 'lead', pendingDays: 0, commission: { fixed: 2 } },
] satisfies NonNullable<NetworkFile['programs']>[number]['events'];

const CLAIMS = { acceptsClaims: true, daysToAutoApprove: 1 } as const;

/** The status of program 102 changes. */
export function networkFile(
  status: 'active' | 'paused',
): Omit<NetworkFile, '$schema' | 'tokens' | 'mappings'> {
  const [german, swedish] = [
    { country: 'DE', currency: 'EUR', events: EVENTS, ...CLAIMS },
    { country: 'SE', currency: 'SEK', events: EVENTS },
  ] as const;
  return {
    organisations: [
      { id: 1, kind: 'advertiser', name: 'Shop' },
      { id: 2, kind: 'advertiser', name: 'Bank' },
      { id: 11, kind: 'publisher', name: 'Blog' },
    ],
    programs: [
      { id: 101, organisationId: 1, name: 'Shop DE', ...german },
      { id: 102, organisationId: 1, name: 'Shop SE', status, ...swedish },
      { id: 201, organisationId: 2, name: 'Bank', ...german },
    ],
    sites: [
      { id: 1101, organisationId: 11, name: 'Blog', url: 'https://blog.example/' },
      { id: 1102, organisationId: 11, name: 'Forum', url: 'https://forum.example/' },
    ],
    connections: [101, 102, 201].flatMap((programId) =>
      [1101, 1102].map((siteId) => ({ siteId, programId })),
    ),
    feeds: FEEDS.map(({ id, programId }) => ({
      ...{ id, programIds: [programId], name: `Feed ${id}`, language: 'de' },
    })),
    categories: [
      { id: '1', parentId: null, names: { en: 'Home' } },
      { id: '2', parentId: '1', names: { en: 'Lamps' } },
    ],
  };
}

export const PROGRAMS = [
  { programId: 101, organisationId: 1 },
  { programId: 102, organisationId: 1 },
  { programId: 201, organisationId: 2 },
] as const;

/** Feeds with products. */
export const FEEDS = [
  { id: 10, programId: 101, organisationId: 1 },
  { id: 20, programId: 201, organisationId: 2 },
] as const;

export type Feed = (typeof FEEDS)[number];

/** Those that accept claims and have vouchers. */
export const GERMAN = [PROGRAMS[0], PROGRAMS[2]] as const;

export const CALLERS = [
  { organisationId: 1, kind: 'advertiser' },
  { organisationId: 2, kind: 'advertiser' },
  { organisationId: 11, kind: 'publisher' },
] as const;

export type Asker = (typeof CALLERS)[number];

/** It sees all vouchers that are shown, and products that are mapped. */
export const PUBLISHER = CALLERS[2].organisationId;

/** The feeds that a party sees. */
export const feedsOf = ({ kind, organisationId }: Asker): readonly Feed[] =>
  FEEDS.filter((feed) => kind === 'publisher' || feed.organisationId === organisationId);
