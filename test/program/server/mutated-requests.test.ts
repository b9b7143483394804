import { attackWithMutations, live, openFiles, unexpectedFailures, untilClosed } from '../../support/attack';
import { folderWithNetwork, removeFolder, Server } from '../../support/server';

const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REQUESTS = 500;

/** The exporter and two validators are started by their first call, which may be among the requests. */
const LAZY_THREADS = 3;
/** Of its event loop. */
const FILES_OF_A_THREAD = 5;

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

it(`${REQUESTS} mutated requests cause no unexpected failure, leak nothing and leave no file open (decisions X73; HOSTILE_SEED=${SEED})`, async () => {
  // Opens most of what is opened lazily.
  await attackWithMutations(server, 100, SEED + 1);
  const before = openFiles(server);
  const { statuses, wrong } = await attackWithMutations(server, REQUESTS, SEED);
  expect(wrong).toEqual([]);
  expect(Object.keys(statuses).length).toBeGreaterThan(4);
  expect(await unexpectedFailures(server)).toBe(0);
  await live(server);
  await untilClosed(server, before + 5 + LAZY_THREADS * FILES_OF_A_THREAD);
});
