import { planCategories, readCategories } from '../../../src/network/categories/category-file';
import { directoryAt } from '../../../src/network/directory';
import { type EventLog } from '../../../src/kernel/event-log';
import { appendFacts } from '../../../src/network/decider';
import { importNetwork } from '../../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { smallNetwork } from '../../support/small-network';
import { withLog } from '../../support/temporary-log';

const AT = '2026-01-05T08:00:00.000Z';

async function importInto(
  log: EventLog,
  text: string,
  { language = 'en', prune = false, merge = false } = {},
) {
  const directory = await directoryAt(log);
  const plan = planCategories(directory, readCategories(text), { at: AT, language, prune, merge });
  return { ...(await appendFacts(SYSTEM_CLOCK, log, plan.facts, directory)), ...plan };
}

async function namesIn(log: EventLog): Promise<Readonly<Record<string, unknown>>> {
  const { categories } = await directoryAt(log);
  return Object.fromEntries(
    [...categories.all()].map(({ id, parentId, names }) => [id, { parentId, ...names }]),
  );
}

const ENGLISH = '5 - Boats\n51 - Boats > Sails\n52 - Boats > Oars';

describe('Importing a category tree (decisions P29)', () => {
  it('appends what changes, and nothing the second time', () =>
    withLog(async (log) => {
      expect(await importInto(log, ENGLISH)).toMatchObject({ events: 3, categories: 3, skipped: [] });
      expect(await importInto(log, ENGLISH)).toMatchObject({ events: 0 });
      const renamed = '5 - Boats\n51 - Boats > Sailing';
      expect(await importInto(log, renamed, { merge: true })).toMatchObject({ events: 1 });
      expect(await namesIn(log)).toEqual({
        5: { parentId: null, en: 'Boats' },
        51: { parentId: '5', en: 'Sailing' },
        52: { parentId: '5', en: 'Oars' },
      });
    }));

  it('adds names in another language to the same categories without moving them', () =>
    withLog(async (log) => {
      await importInto(log, ENGLISH);
      const german = '5 - Boote\n51 - Segel\n53 - Boote > Anker';
      const { skipped, events } = await importInto(log, german, { language: 'de' });
      expect(skipped).toEqual([{ location: 'line 3', reason: expect.stringContaining('no English name') }]);
      expect(events).toBe(2);
      await importInto(log, '5 - Ships\n51 - Ships > Sails', { merge: true });
      expect(await namesIn(log)).toMatchObject({
        5: { en: 'Ships', de: 'Boote' },
        51: { parentId: '5', en: 'Sails', de: 'Segel' },
      });
    }));

  it('removes what the file does not contain only with prune', () =>
    withLog(async (log) => {
      await importNetwork(SYSTEM_CLOCK, log, smallNetwork(), { at: AT });
      await importInto(log, ENGLISH);
      await importInto(log, '5 - Bateaux\n51 - Voiles', { language: 'fr' });
      const nameless = '[{"id":5,"name":"Boats"},{"id":52,"name":null}]';
      await importInto(log, '5 - Bateaux', { language: 'fr', prune: true });
      expect(await namesIn(log)).toMatchObject({ 51: { parentId: '5', en: 'Sails' }, 42: {} });
      expect((await namesIn(log))['51']).not.toHaveProperty('fr');
      await importInto(log, nameless, { prune: true });
      expect(Object.keys(await namesIn(log))).toEqual(['5', '52']);
      expect((await directoryAt(log)).organisations.get(3)).toBeDefined();
    }));

  it('can turn a tree upside down without creating a cycle', () =>
    withLog(async (log) => {
      await importInto(log, ENGLISH);
      await importInto(log, '52 - Oars\n51 - Oars > Sails\n5 - Oars > Sails > Boats');
      await importInto(log, '51 - Sails');
      expect(await namesIn(log)).toMatchObject({
        5: { parentId: '51' },
        51: { parentId: null },
        52: { parentId: null },
      });
    }));

  it('refuses an id that a category of another name has, unless it may be renamed (decisions X95)', () =>
    withLog(async (log) => {
      await importInto(log, ENGLISH);
      const other = '5 - Toys\n51 - Toys > Sails\n52 - Toys > Dolls\n53 - Toys > Kites';
      await expect(importInto(log, other)).rejects.toMatchObject({
        name: 'CategoryFaults',
        faults: [
          'line 1: "Toys": the id 5 is taken by "Boats"; expected the same name, or --merge to rename it',
          'line 3: "Dolls": the id 52 is taken by "Oars"; expected the same name, or --merge to rename it',
        ],
      });
      expect(Object.keys(await namesIn(log))).toEqual(['5', '51', '52']);
      await importInto(log, '5 - Boote', { language: 'de' });
      await expect(importInto(log, '5 - Schiffe', { language: 'de' })).rejects.toThrow(
        '"Schiffe": the id 5 is taken by "Boote"',
      );
      await importInto(log, other, { merge: true });
      expect(await namesIn(log)).toMatchObject({ 5: { en: 'Toys', de: 'Boote' }, 53: { en: 'Kites' } });
    }));
});
