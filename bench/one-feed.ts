import { join } from 'node:path';
import { type Bench } from './harness';
import { Server } from './server';

/** The filled feed. */
export const FEED = 1;

/** Runs `work` with a server that has all products in one visible feed. */
export async function withFeed<Result>(
  bench: Bench,
  name: string,
  use: (server: Server, dataDir: string) => Promise<Result>,
): Promise<Result> {
  const dataDir = join(bench.folder, name);
  const server = await Server.start(dataDir, 'api,projector');
  try {
    await server.shows(await server.post(FEED, 'json', await bench.body('json')));
    return await use(server, dataDir);
  } finally {
    await server.stop();
  }
}
