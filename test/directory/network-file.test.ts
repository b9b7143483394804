import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Directory } from '../../src/directory/directory';
import { NetworkFaults, readNetwork } from '../../src/directory/network-check';
import { networkOf } from '../../src/directory/network-facts';
import { type Network, networkSchema } from '../../src/directory/network-file';
import { smallNetwork, tokenNamed } from '../support/small-network';

const NOTHING: Network = networkOf(new Directory());

function faultsOf(json: unknown, present: Network = NOTHING): readonly string[] {
  try {
    readNetwork(json, present);
    return [];
  } catch (error) {
    if (error instanceof NetworkFaults) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
}

/** The small network with some values at other paths: `programs.0.currency`. */
function spoilt(values: Readonly<Record<string, unknown>>): unknown {
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
  it('is taken when it holds together', () => {
    expect(faultsOf(smallNetwork())).toEqual([]);
    expect(faultsOf({})).toEqual([]);
  });

  it('has a published schema that is made from the code', () => {
    const published = readFileSync(join(__dirname, '../../docs/network.schema.json'), 'utf8');
    expect(published).toBe(networkSchema());
  });

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['an unknown key', { 'feeds.0.colour': 'red' }, '$.feeds[0].colour: there is no such key'],
    ['an unknown list', { vouchers: [] }, '$.vouchers: there is no such key'],
    ['no list', { sites: {} }, '$.sites: {} is not a list'],
    [
      'an id missing',
      { 'tokens.0.organisationId': undefined },
      '$.tokens[0].organisationId: missing: a positive integer',
    ],
    [
      'an id of text',
      { 'mappings.0.feedId': '301' },
      '$.mappings[0].feedId: "301" is not a positive integer',
    ],
    [
      'a kind',
      { 'organisations.4.kind': 'owner' },
      '$.organisations[4].kind: "owner" is not advertiser, publisher, operator',
    ],
    ['an empty name', { 'categories.2.names.en': ' ' }, '$.categories[2].names.en: " " is not a name'],
    [
      'a character that XML does not admit (Document 1, Conventions 9)',
      { 'feeds.1.name': 'a\u0001' },
      '$.feeds[1].name: "a\\u0001" is not a name of characters that XML admits',
    ],
    [
      'a country',
      { 'programs.2.country': 'XX' },
      '$.programs[2].country: "XX" is not a country code of ISO 3166-1 such as DE',
    ],
    [
      'a currency',
      { 'programs.2.currency': 'EURO' },
      '$.programs[2].currency: "EURO" is not a currency code of ISO 4217 such as EUR',
    ],
    [
      'a language',
      { 'feeds.0.language': 'xx' },
      '$.feeds[0].language: "xx" is not a language code of ISO 639-1 such as de',
    ],
    [
      'a language of names',
      { 'categories.3.names.EN': 'x' },
      '$.categories[3].names.EN: "EN" is not a language code of ISO 639-1 such as de',
    ],
    [
      'no English name',
      { 'categories.3.names': { de: 'Haus' } },
      '$.categories[3].names: the English name ("en") is missing',
    ],
    [
      'a category id (decisions P29)',
      { 'categories.3.id': 'abcat08' },
      '$.categories[3].id: "abcat08" is not a category id: an integer as a string',
    ],
    [
      'a URL',
      { 'sites.0.url': 'ftp://a.example' },
      '$.sites[0].url: "ftp://a.example" is not an http or https URL',
    ],
    [
      'a logo',
      { 'programs.0.logoUrl': 'logo.png' },
      '$.programs[0].logoUrl: "logo.png" is not an http or https URL',
    ],
    [
      'a token, which is not shown',
      { 'tokens.1.token': 'secret' },
      '$.tokens[1].token: a token is 40 hexadecimal digits',
    ],
    [
      'a system',
      { 'tokens.1.system': 'FEEDS' },
      '$.tokens[1].system: "FEEDS" is not PRODUCTS, VOUCHERS, CONVERSIONS, CLAIMS, OPS',
    ],
    [
      'days',
      { 'programs.0.daysToAutoApprove': -1 },
      '$.programs[0].daysToAutoApprove: -1 is not an integer number of days',
    ],
    [
      'a commission',
      { 'programs.0.events.2.commission': { fixed: 0.555 } },
      '$.programs[0].events[2].commission: {"fixed":0.555} is not {"percent": number} or {"fixed": number with at most two decimals}',
    ],
    [
      'two commissions',
      { 'programs.0.events.2.commission': { fixed: 1, percent: 1 } },
      '$.programs[0].events[2].commission: {"fixed":1,"percent":1} is not {"percent": number} or {"fixed": number with at most two decimals}',
    ],
    ['no program', { 'feeds.0.programIds': [] }, '$.feeds[0].programIds: a feed has at least one program'],
    [
      'an unknown program',
      { 'feeds.0.programIds': [31, 99] },
      '$.feeds[0].programIds[1]: 99 is not among the programs',
    ],
    [
      'a program twice',
      { 'feeds.0.programIds': [31, 31] },
      '$.feeds[0].programIds[1]: program 31 is named twice',
    ],
    [
      'programs of several organisations',
      { 'feeds.0.programIds': [31, 41] },
      '$.feeds[0].programIds[1]: program 41 belongs to organisation 4, the first one to 3',
    ],
    [
      'an unknown owner',
      { 'sites.2.organisationId': 7 },
      '$.sites[2].organisationId: 7 is not among the organisations',
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
      '$.connections[0].siteId: 99 is not among the sites',
    ],
    [
      'an unknown program connected',
      { 'connections.0.programId': 99 },
      '$.connections[0].programId: 99 is not among the programs',
    ],
    [
      'a mapping of an unknown feed',
      { 'mappings.1.feedId': 99 },
      '$.mappings[1].feedId: 99 is not among the feeds',
    ],
    [
      'a mapping to an unknown category',
      { 'mappings.1.categoryId': '99' },
      '$.mappings[1].categoryId: 99 is not among the categories',
    ],
    [
      'an unknown parent',
      { 'categories.4.parentId': '99' },
      '$.categories[4].parentId: 99 is not among the categories',
    ],
    [
      'a cycle',
      { 'categories.0.parentId': '421' },
      '$.categories[0].parentId: a cycle: 4 below 421 below 42 below 4',
    ],
    ['its own parent', { 'categories.3.parentId': '8' }, '$.categories[3].parentId: a cycle: 8 below 8'],
    [
      'a token of an unknown organisation',
      { 'tokens.2.organisationId': 99 },
      '$.tokens[2].organisationId: 99 is not among the organisations',
    ],
    [
      'a token of an unknown site',
      { 'tokens.4.siteId': 99 },
      '$.tokens[4].siteId: 99 is not among the sites',
    ],
    [
      'a token for the site of somebody else',
      { 'tokens.4.siteId': 51 },
      '$.tokens[4].siteId: site 51 belongs to organisation 5',
    ],
    [
      'the same token twice',
      { 'tokens.1.token': tokenNamed('fjord').toUpperCase() },
      '$.tokens[1].token: the same token as $.tokens[0]',
    ],
    [
      'operators in a service (decisions A4)',
      { 'tokens.5.system': 'CLAIMS' },
      '$.tokens[5].system: CLAIMS is not for an operator',
    ],
    [
      'advertisers as operators (decisions A4)',
      { 'tokens.0.system': 'OPS' },
      '$.tokens[0].system: OPS is not for an advertiser',
    ],
    [
      'an event twice',
      { 'programs.0.events.1.id': 17 },
      '$.programs[0].events[1].id: the program has an event 17 already',
    ],
    [
      'an organisation twice',
      { 'organisations.1.id': 3 },
      '$.organisations[1]: 3 stands at $.organisations[0] already',
    ],
    [
      'an entry of tokens twice',
      { 'tokens.3.siteId': undefined },
      '$.tokens[3]: organisation 5, PRODUCTS stands at $.tokens[2] already',
    ],
    [
      'a connection twice',
      { 'connections.2.programId': 31 },
      '$.connections[2]: site 52, program 31 stands at $.connections[1] already',
    ],
    [
      'a mapping twice',
      { 'mappings.1': { feedId: 301, name: 'Lys & reflekser', categoryId: '8' } },
      '$.mappings[1]: feed 301, "Lys & reflekser" stands at $.mappings[0] already',
    ],
  ])('is refused for %s', (_, values, expected) => {
    expect(faultsOf(spoilt(values))).toContain(expected);
  });

  it('is told of all its faults at once', () => {
    const faults = faultsOf(
      spoilt({
        'programs.0.currency': 'EURO',
        'sites.1.url': 7,
        'feeds.3.programIds': [99],
        'categories.3.parentId': '99',
      }),
    );
    expect(faults).toHaveLength(4);
  });

  it('has no fault in what names an entry that has one', () => {
    expect(faultsOf(spoilt({ 'programs.0.currency': 'EURO' }))).toHaveLength(1);
  });

  it.each([[null], [[]], ['text'], [7]])('is refused when it is %p', (json) => {
    expect(faultsOf(json)).toHaveLength(1);
  });

  it('may name what is in the network already', () => {
    const present = readNetwork(smallNetwork(), NOTHING);
    const addition = { feeds: [{ id: 305, programIds: [31], name: 'Fjord spring', language: 'nb' }] };
    expect(faultsOf(addition, present)).toEqual([]);
    expect(faultsOf(addition)).toHaveLength(1);
  });

  it('may not break what is in the network already', () => {
    const present = readNetwork(smallNetwork(), NOTHING);
    expect(
      faultsOf({ categories: [{ id: '4', parentId: '421', names: { en: 'Bicycles' } }] }, present),
    ).toEqual(['$.categories[0].parentId: a cycle: 4 below 421 below 42 below 4']);
    const moved = { ...smallNetwork().programs[1], organisationId: 4 };
    expect(faultsOf({ programs: [moved] }, present)).toEqual([
      'feeds 301 (imported before).programIds[1]: program 32 belongs to organisation 4, the first one to 3',
    ]);
  });
});
