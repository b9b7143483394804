import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appendAll, BareLog, eventsIn } from './bare/log';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { type BodyFormat } from '../src/wire/api/format';
import { type FeedText } from './products';
import { Server } from './server';

/**
 * Posts new products to an empty feed, without a projector.
 *
 * Ours: from the start of the POST to the answer, when everything is durable.
 * Bare, sequentially in one thread: `read` reads the same bytes (already in memory); then the events that the server
 * has appended (already in memory) are appended to a log with the same schema.
 */
export async function compareLoads(
  bench: Bench,
  { figure, format, goal }: { readonly figure: string; readonly format: BodyFormat; readonly goal: number },
  read: (body: Buffer) => void,
): Promise<readonly Figure[]> {
  const path = await bench.body(format);
  const body = await readFile(path);
  const log = new BareLog(join(bench.folder, `${figure}.sqlite`));
  const server = await Server.start(join(bench.folder, figure), 'api');
  try {
    const compared = await compareRates(
      { figure, goal, count: bench.count },
      (round) => timed(() => server.post(round + 1, format, path)),
      (round) => {
        const stream = `feed-${round + 1}`;
        const events = eventsIn(server.logFile, stream);
        return timed(() => {
          read(body);
          appendAll(log, stream, events);
        });
      },
    );
    return [compared];
  } finally {
    await server.stop();
    log.close();
  }
}

/**
 * Posts new products to empty feeds of one server, without a projector: in a format, and the
 * same ones in JSON, in turn.
 */
export async function compareFormats(
  bench: Bench,
  { figure, format }: { readonly figure: string; readonly format: FeedText },
): Promise<readonly Figure[]> {
  const [path, json] = [await bench.body(format), await bench.body('json')];
  const server = await Server.start(join(bench.folder, figure), 'api');
  try {
    // The first load of a process compiles what both use.
    const feedOf = (round: number): number => 2 * round + 3;
    await server.post(1, format, path);
    await server.post(2, 'json', json);
    const compared = await compareRates(
      { figure, goal: 0.8, count: bench.count },
      (round) => timed(() => server.post(feedOf(round), format, path)),
      (round) => timed(() => server.post(feedOf(round) + 1, 'json', json)),
    );
    return [compared];
  } finally {
    await server.stop();
  }
}
