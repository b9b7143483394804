import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastUses, TokenUses } from '../../src/network/token-uses';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type ReadStore } from '../../src/kernel/read-store';
import { TestClock } from '../support/clock';

let folder: string;
let store: ReadStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-uses-'));
  store = openEmbeddedStore({ directory: folder, threads: false, readers: 0 });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const fail = (failure: unknown): never => {
  throw failure;
};

/** The store, and its number of writes. */
function counting(): { readonly store: ReadStore; writes: number; isDown: boolean } {
  const counted = { writes: 0, isDown: false };
  const write: ReadStore['write'] = async (...args) => {
    if (counted.isDown) throw new EngineUnavailable('down');
    counted.writes += 1;
    await store.write(...args);
  };
  return Object.assign(counted, { store: Object.assign(Object.create(store) as ReadStore, { write }) });
}

describe('The last use of tokens (decisions X94)', () => {
  it('is unknown before any use', async () => {
    expect(await lastUses(store, ['a'])).toEqual(new Map());
  });

  it('is written once per token and day, however often it is used', async () => {
    let now = new Date('2026-05-01T10:00:00Z');
    const counted = counting();
    const uses = new TokenUses(new TestClock(() => now), counted.store, fail);
    for (let use = 0; use < 100; use += 1) uses.note(use % 2 === 0 ? 'a' : 'b');
    expect(counted.writes).toBe(0);
    await uses.flush();
    uses.note('a');
    await uses.flush();
    expect(counted.writes).toBe(1);
    now = new Date('2026-05-02T00:00:00Z');
    uses.note('a');
    await uses.close();
    expect(counted.writes).toBe(2);
    expect(await lastUses(store, ['a', 'b', 'c'])).toEqual(
      new Map([
        ['a', '2026-05-02'],
        ['b', '2026-05-01'],
      ]),
    );
  });

  it('is the latest of several processes, in whatever order they write', async () => {
    const late = new TokenUses(new TestClock(() => new Date('2026-05-01T23:59:59Z')), store, fail);
    const early = new TokenUses(new TestClock(() => new Date('2026-05-02T00:00:01Z')), store, fail);
    late.note('a');
    early.note('a');
    await early.close();
    await late.close();
    expect(await lastUses(store, ['a'])).toEqual(new Map([['a', '2026-05-02']]));
  });

  it('is written later when the store is not available', async () => {
    const counted = counting();
    const uses = new TokenUses(new TestClock(() => new Date('2026-05-01T10:00:00Z')), counted.store, fail);
    counted.isDown = true;
    uses.note('a');
    await uses.flush();
    counted.isDown = false;
    await uses.flush();
    expect(await lastUses(store, ['a'])).toEqual(new Map([['a', '2026-05-01']]));
  });
});
