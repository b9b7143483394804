import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { toNewEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import { type Generation } from '../../src/kernel/read-store';
import { DIST } from '../support/built';
import { targetOf } from '../../src/projector/generations';
import { FEED_ID, listed } from './sample-events';
import { type Documents, World } from './world';

const PRODUCTS = 3000;
/** The read models that have something in them here. */
const COLLECTIONS = ['products', 'price-history'] as const;

let world: World;
let documents: readonly Documents[];
beforeAll(async () => {
  world = await World.open();
  const events = Array.from({ length: PRODUCTS }, (_, at) => toNewEvent(listed(`p${at}`)));
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

/** Of the built program, in a process of its own, which tells each phase on stderr. */
function rebuilding(): ChildProcessByStdio<null, null, Readable> {
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: world.dataDir };
  const args = [join(DIST, 'src/main.js'), 'rebuild', 'all'];
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Frees the lease of a rebuild that was killed, as its end does ten seconds later. */
async function freeLease(): Promise<void> {
  const lease = await world.store.lease('rebuild', 'nobody', Date.now() + 60_000, 1);
  if (lease !== undefined) await world.store.release(lease);
}

async function begun(): Promise<Generation> {
  for (;;) {
    const building = (await generations()).find(({ state }) => state === 'building');
    if (building !== undefined) return building;
    await turn();
  }
}

type Killed = ReturnType<typeof rebuilding>;

async function hasFolded(): Promise<void> {
  const building = await begun();
  while ((await world.store.checkpoint(targetOf(building))) <= START) await turn();
}

const said =
  (line: string) =>
  async ({ stderr }: Killed): Promise<void> => {
    for await (const told of createInterface({ input: stderr })) if (told.startsWith(line)) return;
    throw new Error(`it has ended without "${line}"`);
  };

const MOMENTS: readonly [string, (killed: Killed) => Promise<unknown>][] = [
  ['has just begun', begun],
  ['has half folded', hasFolded],
  ['builds indexes', said('building indexes')],
  ['compares', said('comparing with the live generation')],
  ['swaps', said('swapping in the new generation')],
];

test.each(MOMENTS)(
  'a rebuild killed when it %s leaves each read model whole, live as it was or swapped; another one does all of it',
  async (_, moment) => {
    const before = await Promise.all(COLLECTIONS.map(liveOf));
    const killed = rebuilding();
    await moment(killed);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    for (const [at, collection] of COLLECTIONS.entries()) {
      expect(await world.documents(collection)).toEqual(documents[at]);
      if (moment !== MOMENTS.at(-1)?.[1]) expect(await liveOf(collection)).toEqual(before[at]);
    }

    await freeLease();
    const again = rebuilding();
    again.stderr.resume();
    expect(await once(again, 'exit')).toEqual([0, null]);
    for (const [at, collection] of COLLECTIONS.entries()) {
      expect((await generations(collection)).map(({ state }) => state)).toEqual(['retired', 'live']);
      expect((await liveOf(collection))?.number).toBeGreaterThan(before[at]?.number ?? 0);
      expect(await world.documents(collection)).toEqual(documents[at]);
    }
  },
);
