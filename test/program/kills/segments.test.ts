import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { openEmbeddedStore } from '../../../src/engines/embedded/store/open-store';
import { type Document, type Generation, type Write } from '../../../src/kernel/read-store';
import { OFFERS } from '../../contracts/read-store/documents';
import { queriesFor } from '../../contracts/read-store/queries';
import { live } from '../../contracts/read-store/subject';
import { DIST } from '../../support/built';
import { oracleOf } from '../../support/oracle';
import { manifestOf } from '../../support/search-manifest';
import { cases } from '../../support/size';
import { storeFolder } from '../../support/store-folder';

const WRITER = join(__dirname, '../../support/write-segments.cjs');
// eslint-disable-next-line @typescript-eslint/no-require-imports -- the writer runs without a compiler
const { batchOf } = require(WRITER) as { readonly batchOf: (n: number) => readonly Write[] };

const KILLS = cases(16, 4);
const target = { collection: OFFERS.name };

/** What `write-segments.cjs` has written up to a version. */
function modelOf(version: number): readonly Document[] {
  const documents = new Map<string, Document>();
  for (let n = 1; n <= version; n += 1)
    for (const write of batchOf(n))
      if ('put' in write) documents.set(write.put.id, write.put);
      else documents.delete(write.remove);
  return [...documents.values()];
}

/** How many segments there are, and the numbers of those that a merge writes. */
function segmentsOf(
  directory: string,
  { collection, number }: Generation,
): readonly [count: number, writing: readonly number[]] {
  const { segments, writing } = manifestOf(join(directory, `${collection}-g${number}.sqlite`));
  return [segments, writing];
}

test(`a store that is killed ${KILLS} times, while it writes and while it merges, is as its checkpoint says`, async () => {
  const { directory, remove } = await storeFolder();
  const open = () => openEmbeddedStore({ directory, threads: false, readers: 0 });
  let store = open();
  const generation = await live(store, OFFERS);
  let merging = 0;
  // A merge that was seen may have ended before the kill.
  for (let kill = 0; kill < KILLS || (merging === 0 && kill < 100); kill += 1) {
    const before = Number(await store.checkpoint(target));
    await store.close();
    const [, left] = segmentsOf(directory, generation);
    const child = spawn(process.execPath, [WRITER, DIST, directory, OFFERS.name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    const acknowledged = linesOf(child);
    if (kill % 2 === 0) await untilMerging(directory, generation, left);
    else await acknowledged.reach(1 + kill * 7);
    child.kill('SIGKILL');
    await closed;
    if (segmentsOf(directory, generation)[1].length > 0) merging += 1;

    store = open();
    const checkpoint = Number(await store.checkpoint(target));
    const last = Math.max(before, acknowledged.last());
    expect(checkpoint).toBeGreaterThanOrEqual(last);
    expect(checkpoint).toBeLessThanOrEqual(last + 1);
    await expectModel(checkpoint);
  }
  expect(merging).toBeGreaterThan(0);

  // The next writer gives the merges up, and merges what they would have merged.
  const next = Number(await store.checkpoint(target)) + 1;
  await store.write(target, batchOf(next), String(next).padStart(19, '0'));
  const deadline = performance.now() + 120_000;
  while (segmentsOf(directory, generation)[1].length > 0 && performance.now() < deadline) await pause(20);
  while (segmentsOf(directory, generation)[0] > 2 * 4 * 7 && performance.now() < deadline) await pause(20);
  expect(segmentsOf(directory, generation)[0]).toBeLessThanOrEqual(2 * 4 * 7);
  await expectModel(next);
  await store.close();
  await remove();

  async function expectModel(version: number): Promise<void> {
    const documents = modelOf(version);
    const oracle = oracleOf(documents);
    const { search, groupSearch } = queriesFor(documents);
    for (const wanted of fc.sample(search, { numRuns: 10, seed: version })) {
      const { total, found } = await store.search(target, wanted);
      expect({ total, ids: found.map(({ id }) => id) }).toEqual(oracle.search(wanted));
    }
    for (const wanted of fc.sample(groupSearch, { numRuns: 10, seed: version })) {
      const { total, groups } = await store.searchGroups(target, wanted);
      expect({ total, ids: groups.map((group) => group.map(({ id }) => id)) }).toEqual(
        oracle.searchGroups(wanted),
      );
    }
    const bodies: string[] = [];
    for await (const batch of store.scan(target, { all: [] })) bodies.push(...batch.map(({ body }) => body));
    expect(bodies.sort()).toEqual(documents.map(({ body }) => body).sort());
  }
}, 300_000);

/** The versions that a writer has printed. */
function linesOf({ stdout }: ChildProcess): {
  readonly last: () => number;
  readonly reach: (count: number) => Promise<void>;
} {
  if (stdout === null) throw new Error('expected a pipe');
  let last = 0;
  let count = 0;
  const lines = createInterface({ input: stdout }).on('line', (line) => {
    last = Number(line);
    count += 1;
  });
  return {
    last: () => last,
    reach: async (wanted) => {
      while (count < wanted) await once(lines, 'line');
    },
  };
}

/** Until a merge is in progress that is not one of those that others have left. */
async function untilMerging(
  directory: string,
  generation: Generation,
  left: readonly number[],
): Promise<void> {
  while (segmentsOf(directory, generation)[1].every((one) => left.includes(one))) await pause(1);
}
