import fc from 'fast-check';
import { Directory } from '../../src/network/directory';
import { NetworkFaults, networkOf } from '../../src/network/network-facts';
import { type NetworkFile } from '../../src/network/network-file';
import { tokenHash } from '../../src/network/organisations';
import { START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { importNetwork, type PlanOptions, type NewToken } from '../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { networks } from '../support/networks';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';

const AT = '2026-01-05T08:00:00.000Z';

function importInto(log: EventLog, file: NetworkFile, options: Partial<PlanOptions> = {}) {
  return importNetwork(SYSTEM_CLOCK, log, file, { at: AT, ...options });
}

async function directoryOf(log: EventLog): Promise<Directory> {
  const directory = new Directory();
  for (const event of await eventsOf(log)) directory.apply(event);
  return directory;
}

async function changesOf(log: EventLog, work: () => Promise<unknown>): Promise<readonly string[]> {
  const before = (await eventsOf(log)).length;
  await work();
  return (await eventsOf(log)).slice(before).map(({ stream, type }) => `${stream} ${type}`);
}

describe('Importing a network (ARCHITECTURE, Outside interface)', () => {
  it('creates the network of the file', () =>
    withLog(async (log) => {
      const { events, position } = await importInto(log, smallNetwork());
      const directory = await directoryOf(log);
      expect(events).toBe((await eventsOf(log)).length);
      expect(position).toBe(await log.head());
      const network = networkOf(directory);
      for (const [list, entries] of Object.entries(smallNetwork()))
        expect(network[list as keyof typeof network]).toHaveLength(entries.length);
      expect(directory.program(41)).toMatchObject({ status: 'paused', acceptsClaims: false, events: [] });
      expect(directory.feed(301)).toMatchObject({
        active: true,
        visible: true,
        secret: false,
        sendToNewPF: true,
      });
      expect(directory.feed(302)).toMatchObject({ sendToNewPF: false });
    }));

  it('stores tokens only as hashes', () =>
    withLog(async (log) => {
      await importInto(log, smallNetwork());
      const text = JSON.stringify(await eventsOf(log));
      expect(text).not.toContain(tokenNamed('fjord'));
      expect(text).toContain(tokenHash(tokenNamed('fjord')));
    }));

  it('appends nothing the second time, for any network', () =>
    fc.assert(
      fc.asyncProperty(networks, fc.boolean(), (file, prune) =>
        withLog(async (log) => {
          await importInto(log, file);
          expect(await importInto(log, file, { prune })).toEqual({ events: 0, position: START });
        }),
      ),
      { numRuns: 12 },
    ));

  it('changes any network into any other with prune', () =>
    fc.assert(
      fc.asyncProperty(networks, networks, (first, second) =>
        withLog((log) =>
          withLog(async (fresh) => {
            await importInto(log, first);
            await importInto(log, second, { prune: true });
            await importInto(fresh, second);
            const [one, other] = [networkOf(await directoryOf(log)), networkOf(await directoryOf(fresh))];
            for (const list of [
              'organisations',
              'sites',
              'connections',
              'feeds',
              'categories',
              'mappings',
            ] as const)
              expect(sorted(one[list])).toEqual(sorted(other[list]));
          }),
        ),
      ),
      { numRuns: 12 },
    ));

  it.each<[string, (file: ReturnType<typeof smallNetwork>) => void, readonly string[]]>([
    ['a new name', (file) => (file.organisations[0]!.name = 'Fjord'), ['organisation-3 OrganisationDefined']],
    ['a program paused', (file) => (file.programs[0]!.status = 'paused'), ['program-31 ProgramPaused']],
    [
      'a program activated again',
      (file) => (file.programs[2]!.status = 'active'),
      ['program-41 ProgramActivated'],
    ],
    ['a program closed', (file) => (file.programs[2]!.status = 'closed'), ['program-41 ProgramClosed']],
    ['a missing status', (file) => delete file.programs[2]!.status, []],
    [
      'a site connected',
      (file) => file.connections.push({ siteId: 51, programId: 41 }),
      ['site-51 SiteConnected'],
    ],
    ['a feed hidden', (file) => (file.feeds[0]!.visible = false), ['feedinfo-301 FeedDefined']],
    [
      'a name in another language',
      (file) => (file.categories[3]!.names['it'] = 'Casa'),
      ['category-8 CategoryDefined'],
    ],
    [
      'a mapping to another category',
      (file) => (file.mappings[0]!.categoryId = '421'),
      ['mapping-301 CategoryMapped'],
    ],
    ['another token', (file) => (file.tokens[0]!.token = tokenNamed('new')), ['organisation-3 TokenIssued']],
    ['a missing token', (file) => delete file.tokens[0]!.token, []],
    ['an empty list', (file) => (file.feeds = []), []],
  ])('appends only what has changed: %s', (_, change, expected) =>
    withLog(async (log) => {
      await importInto(log, smallNetwork());
      const file = smallNetwork();
      change(file);
      expect(await changesOf(log, () => importInto(log, file))).toEqual(expected);
    }),
  );

  it('removes what the file does not contain only with prune', () =>
    withLog(async (log) => {
      await importInto(log, smallNetwork());
      const { organisations, tokens, programs, sites, connections, feeds, ...others } = smallNetwork();
      const file: NetworkFile = {
        organisations,
        tokens: tokens.filter(({ organisationId }) => organisationId !== 5),
        programs,
        sites: sites.filter(({ id }) => id !== 52),
        connections: connections.filter(({ siteId }) => siteId === 61),
        feeds: feeds.filter(({ id }) => id !== 303),
        ...others,
        mappings: [],
      };
      expect(await changesOf(log, () => importInto(log, file))).toEqual([]);
      const removed = await changesOf(log, () => importInto(log, file, { prune: true }));
      expect([...removed].sort()).toEqual([
        'feedinfo-303 FeedRemoved',
        'mapping-301 CategoryUnmapped',
        'mapping-401 CategoryUnmapped',
        'organisation-5 TokenRevoked',
        'organisation-5 TokenRevoked',
        'site-51 SiteDisconnected',
        'site-52 SiteDisconnected',
        'site-52 SiteDisconnected',
        'site-52 SiteRemoved',
      ]);
    }));

  it('refuses a file with references to entries that prune would remove', () =>
    withLog(async (log) => {
      await importInto(log, smallNetwork());
      const file = { ...smallNetwork(), programs: [] };
      await expect(importInto(log, file, { prune: true })).rejects.toThrow(NetworkFaults);
    }));

  it('changes nothing if the file is invalid', () =>
    withLog(async (log) => {
      await importInto(log, smallNetwork());
      const file = smallNetwork();
      file.organisations[0]!.name = 'Fjord';
      file.mappings[1]!.categoryId = '77';
      expect(
        await changesOf(log, () => expect(importInto(log, file)).rejects.toThrow(NetworkFaults)),
      ).toEqual([]);
    }));

  it('generates a token once for an entry without one', () =>
    withLog(async (log) => {
      const tokens: NewToken[] = [];
      const onToken = (token: NewToken): unknown => tokens.push(token);
      const file = smallNetwork();
      file.tokens.push(
        { organisationId: 6, system: 'CLAIMS' },
        { organisationId: 5, system: 'PRODUCTS', siteId: 51 },
      );
      await importInto(log, file, { onToken });
      expect(await importInto(log, file, { onToken })).toMatchObject({ events: 0 });
      expect(tokens).toEqual([
        { organisationId: 5, system: 'PRODUCTS', siteId: 51, token: expect.stringMatching(/^[0-9a-f]{40}$/) },
        { organisationId: 6, system: 'CLAIMS', token: expect.stringMatching(/^[0-9a-f]{40}$/) },
      ]);
      const directory = await directoryOf(log);
      expect(directory.organisations.callerOf(tokenHash(tokens[0]!.token))).toMatchObject({
        organisationId: 5,
        siteId: 51,
      });
    }));

  it('generates only one token in concurrent imports', () =>
    withLog(async (log) => {
      const tokens: NewToken[] = [];
      const file = { ...smallNetwork(), tokens: [{ organisationId: 6, system: 'CLAIMS' as const }] };
      const onToken = (token: NewToken): unknown => tokens.push(token);
      await Promise.all([1, 2, 3, 4].map(() => importInto(log, file, { onToken })));
      expect(tokens).toHaveLength(1);
      expect((await directoryOf(log)).organisations.callerOf(tokenHash(tokens[0]!.token))).toMatchObject({
        organisationId: 6,
      });
      expect(await importInto(log, smallNetwork())).toMatchObject({ events: smallNetwork().tokens.length });
    }));

  it('is completed by importing again after an interruption', () =>
    withLog(async (log) => {
      for (let appends = 1; appends < 12; appends += 3) {
        const broken = failingAfter(log, appends);
        await expect(importInto(broken, smallNetwork())).rejects.toThrow('interrupted');
      }
      await importInto(log, smallNetwork());
      const [whole, events] = [networkOf(await directoryOf(log)), await eventsOf(log)];
      await withLog(async (fresh) => {
        await importInto(fresh, smallNetwork());
        const [expected, once] = [networkOf(await directoryOf(fresh)), await eventsOf(fresh)];
        expect(whole.tokens).toHaveLength(expected.tokens.length);
        expect(sorted(whole.connections)).toEqual(sorted(expected.connections));
        expect(events).toHaveLength(once.length);
      });
    }));

  it('splits the events of a stream into appends within the limits', () =>
    withLog(async (log) => {
      const mappings = Array.from({ length: 1_200 }, (_none, number) => ({
        feedId: 301,
        name: `${number} ${'ø'.repeat(900)}`,
        categoryId: '42',
      }));
      await importInto(log, { ...smallNetwork(), mappings });
      expect((await directoryOf(log)).categories.mappingsOf(301).size).toBe(1_200);
    }));
});

function sorted(entries: readonly unknown[]): readonly string[] {
  return entries.map((entry) => JSON.stringify(entry)).sort();
}

/** A log that fails after a number of appends. */
function failingAfter(log: EventLog, appends: number): EventLog {
  let left = appends;
  return overrideLog(log, {
    append: async (...append) => {
      left -= 1;
      if (left < 0) throw new Error('interrupted');
      return await log.append(...append);
    },
  });
}
