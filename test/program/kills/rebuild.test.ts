import { randomUUID } from 'node:crypto';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { toNewEvent } from '../../../src/kernel/decider';
import { START } from '../../../src/kernel/event';
import { type Generation, targetOf } from '../../../src/kernel/read-store';
import { DIST } from '../../support/built';
import { FEED_ID, listed } from '../../projector/sample-events';
import { type Documents, World } from '../../projector/world';

const PRODUCTS = 3000;
/** The read models with documents. */
const COLLECTIONS = ['products', 'price-history'] as const;

let world: World;
let documents: readonly Documents[];
beforeAll(async () => {
  world = await World.open();
  const events = Array.from({ length: PRODUCTS }, (_, at) => toNewEvent(listed(`p${at}`), randomUUID()));
  for (let at = 0; at < events.length; at += 500) {
    await world.log.append(`feed-${FEED_ID}`, at - 1, events.slice(at, at + 500));
  }
  const runner = world.runner();
  await runner.start();
  await runner.stop();
  documents = await Promise.all(COLLECTIONS.map((collection) => world.documents(collection)));
  expect(Object.keys(documents[0] ?? {})).toHaveLength(PRODUCTS);
});
afterAll(() => world.end());

const generations = (collection = 'products') => world.store.generations(collection);

async function liveOf(collection: string): Promise<Generation | undefined> {
  return (await generations(collection)).find(({ state }) => state === 'live');
}

/** Starts a rebuild in a process of its own, which prints each phase on stderr. */
function startRebuild(): ChildProcessByStdio<null, null, Readable> {
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: world.dataDir };
  const args = [join(DIST, 'src/main.js'), 'rebuild', 'all'];
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
}

async function rebuildAll(): Promise<void> {
  const whole = startRebuild();
  whole.stderr.resume();
  expect(await once(whole, 'exit')).toEqual([0, null]);
}

/** Frees the lease of a killed rebuild, which otherwise expires after ten seconds. */
async function freeLease(): Promise<void> {
  const lease = await world.store.lease('rebuild', 'nobody', () => Date.now() + 60_000, 1);
  if (lease !== undefined) await world.store.release(lease);
}

async function untilBuilding(): Promise<Generation> {
  for (;;) {
    const building = (await generations()).find(({ state }) => state === 'building');
    if (building !== undefined) return building;
    await turn();
  }
}

type Killed = ReturnType<typeof startRebuild>;

async function untilProjecting(): Promise<void> {
  const building = await untilBuilding();
  while ((await world.store.checkpoint(targetOf(building))) <= START) await turn();
}

const untilPrinted =
  (line: string) =>
  async ({ stderr }: Killed): Promise<void> => {
    for await (const printed of createInterface({ input: stderr })) if (printed.includes(line)) return;
    throw new Error(`it ended without "${line}"`);
  };

const MOMENTS: readonly [string, (killed: Killed) => Promise<unknown>][] = [
  ['has just started', untilBuilding],
  ['is projecting', untilProjecting],
  ['builds indexes', untilPrinted('building indexes')],
  ['compares', untilPrinted('comparing with the live generation')],
  ['swaps', untilPrinted('completing the new generation')],
];

test.each(MOMENTS)(
  'a rebuild killed when it %s leaves each read model complete, old or new; the next one rebuilds all',
  async (_, moment) => {
    const before = await Promise.all(COLLECTIONS.map(liveOf));
    const killed = startRebuild();
    await moment(killed);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    for (const [at, collection] of COLLECTIONS.entries()) {
      expect(await world.documents(collection)).toEqual(documents[at]);
      if (moment !== MOMENTS.at(-1)?.[1]) expect(await liveOf(collection)).toEqual(before[at]);
    }

    await freeLease();
    await rebuildAll();
    for (const [at, collection] of COLLECTIONS.entries()) {
      expect((await generations(collection)).map(({ state }) => state)).toEqual(['retired', 'live']);
      expect((await liveOf(collection))?.number).toBeGreaterThan(before[at]?.number ?? 0);
      expect(await world.documents(collection)).toEqual(documents[at]);
    }
  },
);

test('a rebuild that is killed again and again continues where it was; nothing is lost or left (decisions X128)', async () => {
  // Builds all read models. Nobody follows those without documents after it: they lack what comes then.
  await rebuildAll();
  const more = Array.from({ length: 17_000 }, (_, at) => toNewEvent(listed(`q${at}`), randomUUID()));
  for (let at = 0; at < more.length; at += 500)
    await world.log.append(`feed-${FEED_ID}`, PRODUCTS + at - 1, more.slice(at, at + 500));
  const end = await world.log.head();
  const runner = world.runner();
  await runner.start();
  await world.settled();
  await runner.stop();
  expect((await world.store.checkpoint({ collection: 'vouchers' })) < end).toBe(true);
  const all = await Promise.all(COLLECTIONS.map((collection) => world.documents(collection)));
  expect(Object.keys(all[0] ?? {})).toHaveLength(PRODUCTS + more.length);

  let reached = START;
  const numbers: number[] = [];
  while (numbers.length < 3) {
    const killed = startRebuild();
    killed.stderr.resume();
    const building = await untilBuilding();
    const checkpoint = () => world.store.checkpoint(targetOf(building));
    for (let now = START; now <= reached && now < end; now = await checkpoint()) await turn();
    // Servers come first. Later ones may not have begun: what they continue is there.
    if (numbers.length === 0)
      expect(getPriority(killed.pid)).toBeGreaterThanOrEqual(constants.priority.PRIORITY_BELOW_NORMAL);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    await freeLease();
    numbers.push(building.number);
    reached = await checkpoint();
    // It was faster than this test: the next one builds another generation.
    if ((await liveOf('products'))?.number === building.number) [reached, numbers.length] = [START, 0];
  }
  expect(new Set(numbers).size).toBe(1);
  await rebuildAll();
  for (const [at, collection] of COLLECTIONS.entries()) {
    expect((await generations(collection)).map(({ state }) => state)).toEqual(['retired', 'live']);
    expect(await world.documents(collection)).toEqual(all[at]);
  }
  expect((await liveOf('products'))?.number).toBe(numbers[0]);
}, 600_000);
