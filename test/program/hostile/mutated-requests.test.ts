import { attackSize, report } from '../../support/attack-run';
import { attackWithMutations, live, openFiles, unexpectedFailures, untilClosed } from '../../support/attack';
import { ownServer } from '../../support/server';

const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const COUNT = Number(process.env.HOSTILE_COUNT ?? attackSize({ small: 500, large: 20_000 }));
/** Sent before open files are counted: they open most of what is opened lazily. */
const BEFORE = attackSize({ small: 100, large: 1_000 });

/**
 * Files of the event loops of the exporter and two validators, which their first calls start: these may be among few
 * requests.
 */
const FILES_OF_THREADS = attackSize({ small: 3 * 5, large: 0 });

const own = ownServer();

it(`${COUNT} mutated requests cause no unexpected failure, leak nothing, leave no file open and do not delay health checks (decisions X73; HOSTILE_SEED=${SEED})`, async () => {
  await attackWithMutations(own.server, BEFORE, SEED + 1);
  const before = openFiles(own.server);
  const asked: number[] = [];
  const over = new AbortController();
  const watch = (async () => {
    while (!over.signal.aborted) asked.push(await live(own.server));
  })();
  const { statuses, wrong } = await attackWithMutations(own.server, COUNT, SEED);
  over.abort();
  await watch;
  report(
    `${COUNT} mutated requests, seed ${SEED}: answered ${JSON.stringify(statuses)}; ` +
      `${asked.length} health checks meanwhile, the slowest ${Math.round(Math.max(...asked))} ms`,
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(Object.keys(statuses).length).toBeGreaterThan(4);
  expect(await unexpectedFailures(own.server)).toBe(0);
  await live(own.server);
  await untilClosed(own.server, before + 5 + FILES_OF_THREADS);
});
