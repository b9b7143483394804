import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { releaseClosedFiles } from '../../src/engines/embedded/connection';
import { layoutFolder } from '../../src/engines/embedded/store/registry';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { live, put } from '../contracts/read-store/subject';
import { storeFolder } from '../support/store-folder';

const target = { collection: OFFERS.name };
let folder: string;
let remove: () => Promise<void>;
const opened: ReadStore[] = [];

beforeEach(async () => {
  ({ directory: folder, remove } = await storeFolder());
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await remove();
});

function open(directory: string): ReadStore {
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  opened.push(store);
  return store;
}

async function built(store: ReadStore, documents: number): Promise<void> {
  await live(store, OFFERS);
  await put(store, target, generatedDocuments(documents));
}

const generationsIn = (directory: string): readonly string[] =>
  readdirSync(directory).filter((name) => name.startsWith(OFFERS.name));

describe.each([
  ['an earlier layout', (): string => layoutFolder(folder, 7)],
  ['a later layout', (): string => layoutFolder(folder, 9)],
  ['builds that had one store in the folder itself', (): string => folder],
])('beside a store of %s (ADR 4, decisions X98)', (_, otherFolder) => {
  const ownFolder = (): string => layoutFolder(folder, 8);

  it('a command takes its generations for absent and removes none; each reads what it has built itself', async () => {
    const server = open(otherFolder());
    await built(server, 11);
    const command = open(ownFolder());
    expect(await command.generations(OFFERS.name)).toEqual([]);
    await command.close();
    expect(await server.count(target, EVERYTHING)).toBe(11);

    const next = open(ownFolder());
    await next.sweep();
    await built(next, 5);
    await server.sweep();
    expect(await server.count(target, EVERYTHING)).toBe(11);
    expect(await next.count(target, EVERYTHING)).toBe(5);

    await built(server, 12);
    expect(await server.count(target, EVERYTHING)).toBe(12);
    expect(await next.count(target, EVERYTHING)).toBe(5);
    await next.close();
    const again = open(ownFolder());
    expect(await again.count(target, EVERYTHING)).toBe(5);
    expect(await again.generations(OFFERS.name)).toMatchObject([{ state: 'live' }]);
  });

  it('the sweep removes its generations once nobody has it open; it is built again by whoever opens it', async () => {
    const server = open(otherFolder());
    await built(server, 11);
    const next = open(ownFolder());
    await built(next, 5);
    await next.sweep();
    expect(generationsIn(otherFolder())).not.toEqual([]);

    await server.close();
    releaseClosedFiles();
    await nextTurn();
    open(ownFolder());
    expect(generationsIn(otherFolder())).not.toEqual([]);
    await next.sweep();
    expect(generationsIn(otherFolder())).toEqual([]);
    expect(existsSync(join(otherFolder(), 'registry.sqlite'))).toBe(true);
    expect(await next.count(target, EVERYTHING)).toBe(5);

    const downgraded = open(otherFolder());
    expect(await downgraded.generations(OFFERS.name)).toEqual([]);
    await built(downgraded, 3);
    expect(await downgraded.count(target, EVERYTHING)).toBe(3);
    expect(await next.count(target, EVERYTHING)).toBe(5);
  });
});
