import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { DELIVERY_PROJECTIONS } from '../../projections';
import { deliveryOf } from '../../projections/deliveries';
import { layoutFolder } from '../../src/engines/embedded/store/registry';
import { type Engines, openEngines } from '../../src/engines/open';
import { deliveryRunner } from '../../src/app/read-models';
import { Expiry } from '../../src/projector/expiry';
import { type Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestClock } from '../support/clock';
import { DeliveryHistory } from '../support/delivery-history';

const DAY_MS = 24 * 60 * 60 * 1000;

let folder: string;
let engines: Engines;
let runner: Runner | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-expiry-'));
  engines = await openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
});
afterEach(async () => {
  await runner?.stop();
  await engines.close();
  await rm(folder, { recursive: true });
});

test('documents that have expired leave nothing behind in the read store, nor do later events about them', async () => {
  const log = await engines.deliveries();
  const history = new DeliveryHistory(log);
  const now = Date.now();
  const old = await history.due('old', { at: new Date(now - 31 * DAY_MS).toISOString() });
  await history.outcome(old, { outcome: 'failed', at: new Date(now - 30.9 * DAY_MS).toISOString() });
  const report = (error: unknown): never => {
    throw error;
  };
  const options = {
    owner: 'deliveries',
    code: 'test',
    report,
    clock: new TestClock(
      () => now,
      () => now,
    ),
  };
  runner = await deliveryRunner(engines, options, { keepMs: 30 * DAY_MS });
  await runner.start();
  while ((await deliveryOf(engines.store, old.id)) !== undefined) await new Promise(setImmediate);

  await history.decided(old, { outcome: 'dead', error: 'held for too long' });
  await waitForPosition(SYSTEM_CLOCK, engines.store, DELIVERY_PROJECTIONS, await log.head(), 30_000);
  await runner.stop();
  expect(await deliveryOf(engines.store, old.id)).toBeUndefined();
  expect(await rememberedRemovals()).toEqual({ deliveries: 0, receivers: 0, 'receiver-health': 0 });
});

test('nothing is deleted by a clock that jumps ahead and is set right within ten minutes (decisions N8)', async () => {
  let [wall, monotonic] = [Date.parse('2026-03-01T00:00:00Z'), 0];
  const [expired, warnings]: [number[], string[]] = [[], []];
  const expireLog = async (before: Date) => void expired.push(wall - before.getTime());
  const keepMs = 30 * DAY_MS;
  const clock = new TestClock(
    () => wall,
    () => monotonic,
  );
  const expiry = new Expiry(clock, engines.store, { keepMs, expireLog }, (message) => warnings.push(message));
  const pass = async (ms: number, error = 0) => {
    wall += ms + error;
    monotonic += ms;
    await expiry.expire([], new AbortController().signal);
  };
  await pass(1_000);
  expect(expired).toEqual([keepMs]);
  await pass(5_000, 31 * DAY_MS);
  await pass(5_000);
  await pass(5_000, -31 * DAY_MS);
  expect(expired).toEqual([keepMs]);
  expect(warnings).toEqual([
    expect.stringContaining('jumped ahead by 2678400 s: deletions of old messages are suspended'),
    expect.stringContaining('set right: deletions of old messages continue'),
  ]);
  await pass(60 * 60 * 1_000);
  expect(expired).toEqual([keepMs, keepMs]);
});

/** Removals that the generations of the read models remember, by read model. */
async function rememberedRemovals(): Promise<Readonly<Record<string, number>>> {
  const directory = layoutFolder(join(folder, 'read'));
  const counts: Record<string, number> = {};
  for (const file of await readdir(directory)) {
    const [, collection] = /^(deliveries|receivers|receiver-health)-g\d+\.sqlite$/.exec(file) ?? [];
    if (collection === undefined) continue;
    const generation = new DatabaseSync(join(directory, file));
    const { removed } = generation.prepare('SELECT count(*) AS removed FROM removed').get() as {
      removed: number;
    };
    generation.close();
    counts[collection] = removed;
  }
  return counts;
}
