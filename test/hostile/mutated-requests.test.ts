import { attackWithMutations, live, openFiles, unexpectedFailures, untilClosed } from '../support/attack';
import { folderWithNetwork, removeFolder, Server } from '../support/server';
import { report } from './report';

const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const COUNT = Number(process.env.HOSTILE_COUNT ?? 20_000);

let folder: string;
let server: Server;
beforeAll(async () => {
  folder = await folderWithNetwork();
  server = await Server.start(folder);
});
afterAll(async () => {
  expect(await server.end()).toBe(0);
  await removeFolder(folder);
});

it(`${COUNT} mutated requests cause no unexpected failure, leak nothing, leave no file open and do not delay health checks (HOSTILE_SEED=${SEED})`, async () => {
  await attackWithMutations(server, 1_000, SEED + 1);
  const before = openFiles(server);
  const asked: number[] = [];
  const over = new AbortController();
  const watch = (async () => {
    while (!over.signal.aborted) asked.push(await live(server));
  })();
  const { statuses, wrong } = await attackWithMutations(server, COUNT, SEED);
  over.abort();
  await watch;
  report(`${COUNT} mutated requests, seed ${SEED}: answered ${JSON.stringify(statuses)}`);
  report(
    `/health/live was requested ${asked.length} times meanwhile, the slowest ${Math.round(Math.max(...asked))} ms`,
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(await unexpectedFailures(server)).toBe(0);
  await untilClosed(server, before + 5);
  report(`files open before ${before}, after ${openFiles(server)}`);
});
