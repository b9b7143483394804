import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Directory } from '../../src/network/directory';
import { NetworkFaults, networkOf, readNetwork } from '../../src/network/network-facts';
import { type Network, networkSchema } from '../../src/network/network-file';
import { smallNetwork, tokenNamed } from '../support/small-network';

const NOTHING: Network = networkOf(new Directory());

function faultsOf(json: unknown, existing: Network = NOTHING): readonly string[] {
  try {
    readNetwork(json, existing);
    return [];
  } catch (error) {
    if (error instanceof NetworkFaults) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
}

/** The small network with some values replaced, by path: `programs.0.currency`. */
function withValues(values: Readonly<Record<string, unknown>>): unknown {
  const json = smallNetwork();
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('.');
    const last = keys.pop()!;
    const place = keys.reduce<object>((at, key) => Reflect.get(at, key) as object, json);
    if (value === undefined) Reflect.deleteProperty(place, last);
    else Reflect.set(place, last, value);
  }
  return json;
}

describe('A network file', () => {
  it('is accepted when it is consistent', () => {
    expect(faultsOf(smallNetwork())).toEqual([]);
    expect(faultsOf({})).toEqual([]);
  });

  it('has a published schema that is generated from the code', () => {
    const published = readFileSync(join(__dirname, '../../docs/network.schema.json'), 'utf8');
    expect(published).toBe(networkSchema());
  });

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['an unknown key', { 'feeds.0.colour': 'red' }, '$.feeds[0].colour: unknown key'],
    ['an unknown list', { vouchers: [] }, '$.vouchers: unknown key'],
    ['an object in place of a list', { sites: {} }, '$.sites: expected a list, got {}'],
    [
      'a missing id',
      { 'tokens.0.organisationId': undefined },
      '$.tokens[0].organisationId: missing: expected an integer of at least 1',
    ],
    [
      'an id that is a string',
      { 'mappings.0.feedId': '301' },
      '$.mappings[0].feedId: expected an integer of at least 1, got "301"',
    ],
    [
      'an unknown kind',
      { 'organisations.4.kind': 'owner' },
      '$.organisations[4].kind: expected one of advertiser, publisher, operator, got "owner"',
    ],
    ['an empty name', { 'categories.2.names.en': ' ' }, '$.categories[2].names.en: expected a name, got " "'],
    [
      'a character that XML forbids (Document 1, Conventions 9)',
      { 'feeds.1.name': 'a\u0001' },
      '$.feeds[1].name: expected a name without characters that XML forbids, got "a\\u0001"',
    ],
    [
      'an unknown country',
      { 'programs.2.country': 'XX' },
      '$.programs[2].country: expected a country code of ISO 3166-1 such as DE, got "XX"',
    ],
    [
      'an unknown currency',
      { 'programs.2.currency': 'EURO' },
      '$.programs[2].currency: expected a currency code of ISO 4217 such as EUR, got "EURO"',
    ],
    [
      'an unknown language',
      { 'feeds.0.language': 'xx' },
      '$.feeds[0].language: expected a language code of ISO 639-1 such as de, got "xx"',
    ],
    [
      'an unknown language of names',
      { 'categories.3.names.EN': 'x' },
      '$.categories[3].names.EN: expected a language code of ISO 639-1 such as de, got "EN"',
    ],
    [
      'no English name',
      { 'categories.3.names': { de: 'Haus' } },
      '$.categories[3].names: expected an English name ("en")',
    ],
    [
      'an invalid category id (decisions P29)',
      { 'categories.3.id': 'abcat08' },
      '$.categories[3].id: expected a category id: an integer as a string, got "abcat08"',
    ],
    [
      'an invalid URL',
      { 'sites.0.url': 'ftp://a.example' },
      '$.sites[0].url: expected an http or https URL, got "ftp://a.example"',
    ],
    [
      'an invalid logo URL',
      { 'programs.0.logoUrl': 'logo.png' },
      '$.programs[0].logoUrl: expected an http or https URL, got "logo.png"',
    ],
    [
      'an invalid token, which is not shown',
      { 'tokens.1.token': 'secret' },
      '$.tokens[1].token: expected 40 hexadecimal digits',
    ],
    [
      'an unknown system',
      { 'tokens.1.system': 'FEEDS' },
      '$.tokens[1].system: expected one of PRODUCTS, VOUCHERS, CONVERSIONS, CLAIMS, OPS, got "FEEDS"',
    ],
    [
      'a negative number of days',
      { 'programs.0.daysToAutoApprove': -1 },
      '$.programs[0].daysToAutoApprove: expected a number of days, an integer of at least 0, got -1',
    ],
    [
      'a period whose end would be no date (decisions T4)',
      { 'programs.0.events.1.pendingDays': 9_007_199_254_740_991 },
      '$.programs[0].events[1].pendingDays: expected at most 36500 days, got 9007199254740991',
    ],
    [
      'an invalid commission',
      { 'programs.0.events.2.commission': { fixed: 0.555 } },
      '$.programs[0].events[2].commission.fixed: 0.555: expected an amount with at most two decimals, as NOK has them, such as 12.50',
    ],
    [
      'an amount of money that no currency has',
      { 'programs.0.events.2.commission': { fixed: 0.55555 } },
      '$.programs[0].events[2].commission: expected {"percent": number} or {"fixed": number with the decimals of the currency}, got {"fixed":0.55555}',
    ],
    [
      'a commission of half a yen (decisions A16)',
      { 'programs.0.events.2.commission': { fixed: 0.5 }, 'programs.0.currency': 'JPY' },
      '$.programs[0].events[2].commission.fixed: 0.5: expected an amount without decimals, as JPY has them, such as 13',
    ],
    [
      'two commissions',
      { 'programs.0.events.2.commission': { fixed: 1, percent: 1 } },
      '$.programs[0].events[2].commission: expected {"percent": number} or {"fixed": number with the decimals of the currency}, got {"fixed":1,"percent":1}',
    ],
    ['no program', { 'feeds.0.programIds': [] }, '$.feeds[0].programIds: expected at least one program'],
    [
      'an unknown program',
      { 'feeds.0.programIds': [31, 99] },
      '$.feeds[0].programIds[1]: 99 is not the id of an entry in programs',
    ],
    [
      'a duplicate program',
      { 'feeds.0.programIds': [31, 31] },
      '$.feeds[0].programIds[1]: program 31 is a duplicate',
    ],
    [
      'programs of several organisations',
      { 'feeds.0.programIds': [31, 41] },
      '$.feeds[0].programIds[1]: program 41 belongs to organisation 4: expected one of organisation 3, as the first program',
    ],
    [
      'an unknown owner',
      { 'sites.2.organisationId': 7 },
      '$.sites[2].organisationId: 7 is not the id of an entry in organisations',
    ],
    [
      'a program of a publisher',
      { 'programs.2.organisationId': 5 },
      '$.programs[2].organisationId: organisation 5 is a publisher, not an advertiser',
    ],
    [
      'a site of an advertiser',
      { 'sites.2.organisationId': 3 },
      '$.sites[2].organisationId: organisation 3 is an advertiser, not a publisher',
    ],
    [
      'an unknown site connected',
      { 'connections.0.siteId': 99 },
      '$.connections[0].siteId: 99 is not the id of an entry in sites',
    ],
    [
      'an unknown program connected',
      { 'connections.0.programId': 99 },
      '$.connections[0].programId: 99 is not the id of an entry in programs',
    ],
    [
      'a mapping of an unknown feed',
      { 'mappings.1.feedId': 99 },
      '$.mappings[1].feedId: 99 is not the id of an entry in feeds',
    ],
    [
      'a mapping to an unknown category',
      { 'mappings.1.categoryId': '99' },
      '$.mappings[1].categoryId: 99 is not the id of an entry in categories',
    ],
    [
      'an unknown parent',
      { 'categories.4.parentId': '99' },
      '$.categories[4].parentId: 99 is not the id of an entry in categories',
    ],
    [
      'a cycle',
      { 'categories.0.parentId': '421' },
      '$.categories[0].parentId: cycle: 4 below 421 below 42 below 4',
    ],
    ['its own parent', { 'categories.3.parentId': '8' }, '$.categories[3].parentId: cycle: 8 below 8'],
    [
      'a token of an unknown organisation',
      { 'tokens.2.organisationId': 99 },
      '$.tokens[2].organisationId: 99 is not the id of an entry in organisations',
    ],
    [
      'a token of an unknown site',
      { 'tokens.4.siteId': 99 },
      '$.tokens[4].siteId: 99 is not the id of an entry in sites',
    ],
    [
      'a token for the site of another organisation',
      { 'tokens.4.siteId': 51 },
      '$.tokens[4].siteId: site 51 belongs to organisation 5',
    ],
    [
      'a duplicate token',
      { 'tokens.1.token': tokenNamed('fjord').toUpperCase() },
      '$.tokens[1].token: duplicate of the token at $.tokens[0]',
    ],
    [
      'an operator token for a service (decisions A4)',
      { 'tokens.5.system': 'CLAIMS' },
      '$.tokens[5].system: CLAIMS is not available to an operator',
    ],
    [
      'an advertiser token for operations (decisions A4)',
      { 'tokens.0.system': 'OPS' },
      '$.tokens[0].system: OPS is not available to an advertiser',
    ],
    [
      'a duplicate event',
      { 'programs.0.events.1.id': 17 },
      '$.programs[0].events[1].id: event 17 is a duplicate',
    ],
    [
      'a duplicate organisation',
      { 'organisations.1.id': 3 },
      '$.organisations[1]: 3 is a duplicate of $.organisations[0]',
    ],
    [
      'a duplicate token entry',
      { 'tokens.3.siteId': undefined },
      '$.tokens[3]: organisation 5, PRODUCTS is a duplicate of $.tokens[2]',
    ],
    [
      'a duplicate connection',
      { 'connections.2.programId': 31 },
      '$.connections[2]: site 52, program 31 is a duplicate of $.connections[1]',
    ],
    [
      'a duplicate mapping',
      { 'mappings.1': { feedId: 301, name: 'Lys & reflekser', categoryId: '8' } },
      '$.mappings[1]: feed 301, "Lys & reflekser" is a duplicate of $.mappings[0]',
    ],
  ])('is refused for %s', (_, values, expected) => {
    expect(faultsOf(withValues(values))).toContain(expected);
  });

  it('is refused with all its faults at once', () => {
    const faults = faultsOf(
      withValues({
        'programs.0.currency': 'EURO',
        'sites.1.url': 7,
        'feeds.3.programIds': [99],
        'categories.3.parentId': '99',
      }),
    );
    expect(faults).toHaveLength(4);
  });

  it('has no fault in a reference to a malformed entry', () => {
    expect(faultsOf(withValues({ 'programs.0.currency': 'EURO' }))).toHaveLength(1);
  });

  it.each([[null], [[]], ['text'], [7]])('is refused when it is %p', (json) => {
    expect(faultsOf(json)).toHaveLength(1);
  });

  it('may refer to entries of the existing network', () => {
    const existing = readNetwork(smallNetwork(), NOTHING);
    const addition = { feeds: [{ id: 305, programIds: [31], name: 'Fjord spring', language: 'nb' }] };
    expect(faultsOf(addition, existing)).toEqual([]);
    expect(faultsOf(addition)).toHaveLength(1);
  });

  it('may not make the existing network inconsistent', () => {
    const existing = readNetwork(smallNetwork(), NOTHING);
    expect(
      faultsOf({ categories: [{ id: '4', parentId: '421', names: { en: 'Bicycles' } }] }, existing),
    ).toEqual(['$.categories[0].parentId: cycle: 4 below 421 below 42 below 4']);
    const moved = { ...smallNetwork().programs[1], organisationId: 4 };
    expect(faultsOf({ programs: [moved] }, existing)).toEqual([
      'feeds 301 (imported earlier).programIds[1]: program 32 belongs to organisation 4: expected one of organisation 3, as the first program',
    ]);
  });
});
