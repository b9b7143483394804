import { randomUUID } from 'node:crypto';
import { toNewEvent } from '../../../src/kernel/decider';
import { killedAt } from '../../support/killed';
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

const environment = () => ({ PATH: process.env.PATH ?? '', DATA_DIR: world.dataDir });

test('read models as of a time whose build is killed are continued, and are those of the live ones then (decisions X111)', async () => {
  const args = ['rebuild', 'products', '--position', await world.log.head(), '--as', 'then'];
  expect(await killedAt(args, environment(), 'committed documents in products-')).toBe('SIGKILL');
  const begun = (await world.store.generations(PAST)).find(({ state }) => state === 'building')!;
  expect(begun).toBeDefined();

  // Frees the lease of the killed process, which otherwise expires after ten seconds.
  const lease = await world.store.lease('as-of', 'nobody', () => Date.now() + 60_000, 1);
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
