import { createHash } from 'node:crypto';
import { type ListName, type NetworkFile } from '../../src/network/network-file';

/** A token derived from a name. */
export function tokenNamed(name: string): string {
  return createHash('sha1').update(name).digest('hex');
}

/** Two bicycle shops with three programs, two publishers with three sites. */
export function smallNetwork(): { [List in ListName]: NonNullable<NetworkFile[List]> } {
  return {
    organisations: [
      { id: 3, kind: 'advertiser', name: 'Fjord Cycles' },
      { id: 4, kind: 'advertiser', name: 'Ruota Libera' },
      { id: 5, kind: 'publisher', name: 'Tarifkompass' },
      { id: 6, kind: 'publisher', name: 'Spargurka' },
      { id: 9, kind: 'operator', name: 'Desk' },
    ],
    tokens: [
      { organisationId: 3, system: 'PRODUCTS', token: tokenNamed('fjord') },
      { organisationId: 4, system: 'PRODUCTS', token: tokenNamed('ruota') },
      { organisationId: 5, system: 'PRODUCTS', token: tokenNamed('tarifkompass') },
      { organisationId: 5, system: 'PRODUCTS', siteId: 52, token: tokenNamed('tarifkompass app') },
      { organisationId: 6, system: 'PRODUCTS', siteId: 61, token: tokenNamed('spargurka') },
      { organisationId: 9, system: 'OPS', token: tokenNamed('desk') },
    ],
    programs: [
      {
        id: 31,
        organisationId: 3,
        name: 'Fjord Cycles NO',
        country: 'NO',
        currency: 'NOK',
        logoUrl: 'https://fjord.example/logo.svg',
        acceptsClaims: true,
        daysToAutoApprove: 30,
        events: [
          { id: 17, name: 'Inquiry', kind: 'sale', pendingDays: 30, inquiry: true },
          { id: 311, name: 'Sale', kind: 'sale', pendingDays: 14, commission: { percent: 7.5 } },
          { id: 312, name: 'Test ride', kind: 'lead', pendingDays: 0, commission: { fixed: 2.55 } },
        ],
      },
      { id: 32, organisationId: 3, name: 'Fjord Cycles DE', country: 'DE', currency: 'EUR' },
      { id: 41, organisationId: 4, name: 'Ruota Libera', country: 'IT', currency: 'EUR', status: 'paused' },
    ],
    sites: [
      { id: 51, organisationId: 5, name: 'tarifkompass.example', url: 'https://tarifkompass.example/' },
      { id: 52, organisationId: 5, name: 'Tarifkompass app', url: 'https://app.tarifkompass.example/' },
      { id: 61, organisationId: 6, name: 'spargurka.example', url: 'https://spargurka.example/' },
    ],
    connections: [
      { siteId: 51, programId: 32 },
      { siteId: 52, programId: 31 },
      { siteId: 52, programId: 32 },
      { siteId: 61, programId: 41 },
    ],
    feeds: [
      { id: 301, programIds: [31, 32], name: 'Fjord all', language: 'nb' },
      { id: 302, programIds: [31], name: 'Fjord outlet', language: 'nb', sendToNewPF: false },
      { id: 303, programIds: [32], name: 'Fjord hidden', language: 'de', visible: false },
      { id: 304, programIds: [32], name: 'Fjord old', language: 'de', active: false },
      { id: 401, programIds: [41], name: 'Ruota', language: 'it', secret: true },
    ],
    categories: [
      { id: '4', parentId: null, names: { en: 'Bicycles', it: 'Biciclette' } },
      { id: '42', parentId: '4', names: { en: 'Lights', nb: 'Lykter', it: 'Luci' } },
      { id: '421', parentId: '42', names: { en: 'Rear lights' } },
      { id: '8', parentId: null, names: { en: 'Home' } },
      { id: '81', parentId: '8', names: { en: 'Lamps', it: 'Luci' } },
    ],
    mappings: [
      { feedId: 301, name: 'Lys & reflekser', categoryId: '42' },
      { feedId: 401, name: 'Luci  posteriori', categoryId: '421' },
    ],
  };
}
