import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { toNewEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import { type Generation } from '../../src/kernel/read-store';
import { DIST } from '../support/built';
import { targetOf } from '../../projections/generations';
import { FEED_ID, listed } from './telling';
import { World } from './world';

let world: World;
beforeAll(async () => {
  world = await World.open();
  const events = Array.from({ length: 6000 }, (_, at) => toNewEvent(listed(`p${at}`)));
  for (let at = 0; at < events.length; at += 500) {
    await world.log.append(`feed-${FEED_ID}`, at - 1, events.slice(at, at + 500));
  }
  const runner = world.runner();
  await runner.start();
  await runner.stop();
});
afterAll(() => world.end());

const generations = () => world.store.generations('products');

/** Of the built program, in a process of its own. */
function rebuilding(): ChildProcess {
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: world.dataDir };
  return spawn(process.execPath, [join(DIST, 'src/main.js'), 'rebuild', 'all'], { env, stdio: 'ignore' });
}

const half: readonly [string, (building: Generation) => Promise<boolean>][] = [
  ['just begun', async () => true],
  ['half folded', async (building) => (await world.store.checkpoint(targetOf(building))) > START],
];

test.each(half)(
  'a rebuild killed when it has %s leaves the live generation; another one does all of it',
  async (_, isAt) => {
    const before = await generations();
    const [live] = before.filter(({ state }) => state === 'live');
    const killed = rebuilding();
    for (;;) {
      const building = (await generations()).find(({ state }) => state === 'building');
      if (building !== undefined && (await isAt(building))) break;
      await turn();
    }
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect((await generations()).find(({ state }) => state === 'live')).toEqual(live);
    expect(Object.keys(await world.documents('products'))).toHaveLength(6000);

    const [code] = (await once(rebuilding(), 'exit')) as [number | null];
    expect(code).toBe(0);
    expect((await generations()).map(({ state }) => state)).toEqual(['retired', 'live']);
    expect((await generations()).at(-1)?.number).toBeGreaterThan(live?.number ?? 0);
    expect(Object.keys(await world.documents('products'))).toHaveLength(6000);
  },
);
