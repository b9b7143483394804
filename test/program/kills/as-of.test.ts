import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { toNewEvent } from '../../../src/kernel/decider';
import { START } from '../../../src/kernel/event';
import { DIST } from '../../support/built';
import { runProgram } from '../../support/server';
import { FEED_ID, listed } from '../../projector/sample-events';
import { World } from '../../projector/world';

const PRODUCTS = 6_000;
const PAST = 'products--then';

let world: World;
beforeAll(async () => {
  world = await World.open();
  const events = Array.from({ length: PRODUCTS }, (_, at) => toNewEvent(listed(`p${at}`), randomUUID()));
  for (let at = 0; at < events.length; at += 500)
    await world.log.append(`feed-${FEED_ID}`, at - 1, events.slice(at, at + 500));
  const runner = world.runner();
  await runner.start();
  await runner.stop();
});
afterAll(() => world.end());

const building = async () => (await world.store.generations(PAST)).find(({ state }) => state === 'building');
const environment = () => ({ PATH: process.env.PATH ?? '', DATA_DIR: world.dataDir });

test('read models as of a time whose build is killed are continued, and are those of the live ones then (decisions X111)', async () => {
  const args = ['rebuild', 'products', '--position', await world.log.head(), '--as', 'then'];
  const killed = spawn(process.execPath, [join(DIST, 'src/main.js'), ...args], {
    env: environment(),
    stdio: 'ignore',
  });
  const exited = once(killed, 'exit');
  let begun = await building();
  while (
    begun === undefined ||
    (await world.store.checkpoint({ collection: PAST, generation: begun.number })) === START
  ) {
    await turn();
    begun = await building();
  }
  killed.kill('SIGKILL');
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(await building()).toEqual(begun);

  // Frees the lease of the killed process, which otherwise expires after ten seconds.
  const lease = await world.store.lease('as-of', 'nobody', Date.now() + 60_000, 1);
  if (lease !== undefined) await world.store.release(lease);
  const built = await runProgram(args, environment());
  expect([built.code, built.stdout]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^products: ${PRODUCTS} documents as of .*\nprice-history: ${PRODUCTS} documents`),
    ),
  ]);
  expect(await world.store.generations(PAST)).toMatchObject([{ number: begun.number, state: 'live' }]);
  expect(await world.documents(PAST)).toEqual(await world.documents('products'));

  const listed = await runProgram(['as-of', 'list'], environment());
  expect(listed.stdout).toMatch(new RegExp(`^then\t.*products \\(${PRODUCTS}\\)`));
  expect((await runProgram(['as-of', 'drop', 'then'], environment())).code).toBe(0);
  expect(await world.store.generations(PAST)).toEqual([]);
  const unknown = await runProgram(['as-of', 'drop', 'then'], environment());
  expect(unknown).toEqual({
    code: 1,
    stdout: '',
    stderr: 'affilog: then: expected the name of read models as of a time: there are none\n',
  });
});

test.each([
  [['--at', '2026-01-01'], '--at and --position need --as NAME'],
  [['--as', 'x', '--at', '2026-01-01', '--force'], '--force: cannot be combined with --as'],
  [['--as', 'x'], 'expected either a time or a position'],
])('affilog rebuild products %j is refused (decisions X111)', async (flags, message) => {
  const { code, stderr } = await runProgram(['rebuild', 'products', ...flags], environment());
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
