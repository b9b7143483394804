import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appendAll, BareLog, eventsIn } from './bare/log';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { type BodyFormat } from '../src/wire/api/format';
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
