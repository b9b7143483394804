import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Directory } from '../../src/network/directory';
import { type DirectoryEvent } from '../../src/network/events';
import { networkOf } from '../../src/network/network-facts';
import { type Caller, tokenHash } from '../../src/network/organisations';
import { networks } from '../support/networks';
import { tokenNamed } from '../support/small-network';
import { AT, factsFor, directoryOf, small } from './small-directory';

function caller(directory: Directory, name: string): Caller {
  return directory.organisations.callerOf(tokenHash(tokenNamed(name)))!;
}

describe('A caller', () => {
  it.each([
    ['fjord', { organisationId: 3, kind: 'advertiser', system: 'PRODUCTS' }],
    ['tarifkompass', { organisationId: 5, kind: 'publisher', system: 'PRODUCTS' }],
    ['tarifkompass app', { organisationId: 5, kind: 'publisher', system: 'PRODUCTS', siteId: 52 }],
    ['desk', { organisationId: 9, kind: 'operator', system: 'OPS' }],
  ])('is identified by the token of %s (Document 1, Authentication; decisions A4)', (name, expected) => {
    expect(caller(small(), name)).toEqual({ ...expected, tokenHash: tokenHash(tokenNamed(name)) });
  });

  it('is identified by a token in upper case too', () => {
    expect(small().organisations.callerOf(tokenHash(tokenNamed('fjord').toUpperCase()))?.organisationId).toBe(
      3,
    );
  });

  it('is undefined for an unknown token (decisions A4)', () => {
    expect(small().organisations.callerOf(tokenHash(tokenNamed('nobody')))).toBeUndefined();
  });

  const endings: readonly [string, DirectoryEvent][] = [
    [
      'revoked',
      { type: 'TokenRevoked', data: { organisationId: 3, hash: tokenHash(tokenNamed('fjord')), at: AT } },
    ],
    [
      'replaced',
      { type: 'TokenIssued', data: { organisationId: 3, system: 'PRODUCTS', hash: tokenHash('f'), at: AT } },
    ],
    ['removed with its organisation', { type: 'OrganisationRemoved', data: { id: 3, at: AT } }],
  ];
  it.each(endings)('is undefined once the token is %s', (_, event) => {
    const directory = small();
    directory.evolve(event);
    expect(directory.organisations.callerOf(tokenHash(tokenNamed('fjord')))).toBeUndefined();
  });
});

describe('The feeds of a caller', () => {
  it.each([
    [
      'fjord',
      [301, 302, 303, 304],
      'an advertiser has all feeds of its programs in any state (decisions P22)',
    ],
    [
      'tarifkompass',
      [301, 302],
      'a token without a site covers all sites of its organisation (decisions P26)',
    ],
    [
      'tarifkompass app',
      [301, 302],
      'a token with a site covers the connections of that site (decisions P26)',
    ],
    ['spargurka', [401], 'a secret feed is listed like any other (decisions P22)'],
    ['desk', [], 'an operator has none'],
  ])('%s: %p (%s)', (name, expected) => {
    const directory = small();
    expect(directory.feedsOf(caller(directory, name)).map(({ id }) => id)).toEqual(expected);
  });

  it('follow new and removed connections', () => {
    const directory = small();
    const spargurka = caller(directory, 'spargurka');
    const feeds = (): readonly number[] => directory.feedsOf(spargurka).map(({ id }) => id);
    expect(feeds()).toEqual([401]);
    directory.evolve({ type: 'SiteConnected', data: { siteId: 61, programId: 31, at: AT } });
    expect(feeds()).toEqual([301, 302, 401]);
    directory.evolve({ type: 'SiteDisconnected', data: { siteId: 61, programId: 41, at: AT } });
    expect(feeds()).toEqual([301, 302]);
    directory.evolve({ type: 'SiteRemoved', data: { id: 61, at: AT } });
    expect(feeds()).toEqual([]);
  });

  it('are none for a token that names a site of another organisation', () => {
    const directory = small();
    const stranger = { ...caller(directory, 'spargurka'), siteId: 52 };
    expect(directory.feedsOf(stranger)).toEqual([]);
  });
});

describe('A feed of several programs', () => {
  it.each<[string, number, number | undefined, number | undefined, string]>([
    ['fjord', 301, 31, undefined, 'an advertiser sees the first; its links have no site'],
    ['tarifkompass app', 301, 31, 52, 'the first that the site is connected to'],
    ['tarifkompass', 301, 31, 52, 'the connected site with the lowest id (decisions P12)'],
    ['spargurka', 301, undefined, undefined, 'not connected to any'],
    ['spargurka', 401, 41, 61, 'a feed of one program'],
  ])('shows %s of feed %i program %p by site %p: %s (decisions P26)', (name, feedId, programId, siteId) => {
    const directory = small();
    const feed = directory.feed(feedId)!;
    expect(directory.programOf(caller(directory, name), feed)?.id).toBe(programId);
    expect(directory.siteFor(caller(directory, name), feed)).toBe(siteId);
  });

  it('shows the second program to a site that is connected only to that one', () => {
    const directory = small();
    directory.evolve({ type: 'SiteDisconnected', data: { siteId: 52, programId: 31, at: AT } });
    const tarifkompass = caller(directory, 'tarifkompass');
    const feed = directory.feed(301)!;
    expect(directory.programOf(tarifkompass, feed)?.id).toBe(32);
    expect(directory.siteFor(tarifkompass, feed)).toBe(51);
  });

  it('has the currency of its first program for every caller (decisions P26)', () => {
    const directory = small();
    expect(directory.currencyOf(directory.feed(301)!)).toBe('NOK');
  });
});

describe('Programs', () => {
  it('are active once defined, and keep their status when they are redefined', () => {
    const directory = small();
    expect(directory.program(31)?.status).toBe('active');
    directory.evolve({ type: 'ProgramClosed', data: { id: 31, at: AT } });
    directory.evolve({ type: 'ProgramDefined', data: { ...directory.program(31)!, name: 'Fjord', at: AT } });
    expect(directory.program(31)).toMatchObject({ name: 'Fjord', status: 'closed' });
    directory.evolve({ type: 'ProgramActivated', data: { id: 31, at: AT } });
    expect(directory.program(31)?.status).toBe('active');
  });

  it('have commissions in minor units', () => {
    const commissions = small()
      .program(31)
      ?.events.map(({ commission }) => commission);
    expect(commissions).toEqual([undefined, { percent: 7.5 }, { fixed: 255 }]);
  });
});

describe('Applying events', () => {
  const sorted = (directory: Directory): unknown =>
    Object.entries(networkOf(directory)).map(([list, entries]) => [
      list,
      entries.map((entry) => JSON.stringify(entry)).sort(),
    ]);

  it('gives the same directory in any order of the streams', () => {
    const shuffled = networks.chain((file) => {
      const facts = factsFor(file);
      const streams = [...new Set(facts.map(({ category, id }) => `${category}-${id}`))];
      return fc.record({
        facts: fc.constant(facts),
        order: fc.shuffledSubarray(streams, { minLength: streams.length }),
      });
    });
    fc.assert(
      fc.property(shuffled, ({ facts, order }) => {
        const [one, other] = [
          directoryOf(facts),
          directoryOf(
            order.flatMap((stream) => facts.filter(({ category, id }) => `${category}-${id}` === stream)),
          ),
        ];
        expect(sorted(other)).toEqual(sorted(one));
        for (const { event } of facts) {
          if (event.type !== 'TokenIssued') continue;
          const [a, b] = [
            one.organisations.callerOf(event.data.hash)!,
            other.organisations.callerOf(event.data.hash)!,
          ];
          expect(other.feedsOf(b)).toEqual(one.feedsOf(a));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('handles a stored sample of every event type and ignores unknown types', () => {
    const types: Readonly<Record<DirectoryEvent['type'], true>> = {
      OrganisationDefined: true,
      OrganisationRemoved: true,
      TokenIssued: true,
      TokenRevoked: true,
      ProgramDefined: true,
      ProgramActivated: true,
      ProgramPaused: true,
      ProgramClosed: true,
      ProgramRemoved: true,
      SiteDefined: true,
      SiteRemoved: true,
      SiteConnected: true,
      SiteDisconnected: true,
      FeedDefined: true,
      FeedRemoved: true,
      CategoryDefined: true,
      CategoryRemoved: true,
      CategoryMapped: true,
      CategoryUnmapped: true,
    };
    const folder = join(__dirname, '../golden');
    const samples = readdirSync(folder)
      .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as DirectoryEvent)
      .filter(({ type }) => type in types);
    expect([...new Set(samples.map(({ type }) => type))].sort()).toEqual(Object.keys(types).sort());
    const removals = samples.filter(({ type }) => /Removed|Revoked|Disconnected|Unmapped/.test(type));
    const directory = new Directory();
    for (const event of samples.filter((sample) => !removals.includes(sample))) directory.evolve(event);
    expect(networkOf(directory)).toMatchObject({
      organisations: [{ id: 5 }],
      tokens: [
        { organisationId: 5, system: 'VOUCHERS', expires: '2027-01-05T08:00:00.000Z' },
        { organisationId: 5, siteId: 51 },
      ],
      programs: [{ id: 31, status: 'paused' }],
      sites: [{ id: 51 }],
      connections: [{ siteId: 51, programId: 31 }],
      feeds: [{ id: 301 }],
      categories: [{ id: '42' }],
      mappings: [{ feedId: 301, categoryId: '42' }],
    });
    for (const event of removals) directory.evolve(event);
    expect(networkOf(directory)).toEqual(networkOf(new Directory()));
    expect(() => directory.evolve({ type: 'ProgramRenamed', data: {} } as never)).not.toThrow();
  });
});
