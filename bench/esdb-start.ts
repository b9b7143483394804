import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { openLog } from '../src/engines/embedded/log/open-log';
import { type NewEvent, NO_STREAM } from '../src/kernel/event';
import { APPEND_LIMITS } from '../src/kernel/event-log';
import { type EsdbServer, startEsdbServer } from './esdb-server';
import { type Bench, type Figure, quantile, roundsOf, timed } from './harness';
import { Server } from './server';

/** With 100,000 as the count: a million events. */
const TIMES = 10;
const ROLES = 'api,projector,automation,notifier';
/** How long nothing is read when a server has settled (ms). */
const QUIET_MS = 2_000;

interface Times {
  /** From the start of the program until it listens (ms). */
  readonly start: readonly number[];
  /** A command without a server (ms). */
  readonly command: readonly number[];
  /** Events that EventStoreDB reads for one start. */
  readonly read: readonly number[];
}

/**
 * Starts the built program, and runs `affilog tokens list`, over a log in our own EventStoreDB server that has ten
 * times the count of events that neither needs, against the same log without them. EventStoreDB has no index by stream
 * name: what a client skips in a filtered read costs the server as much as what it sends, so the events that it reads
 * are counted too.
 */
export async function esdbStart(bench: Bench): Promise<readonly Figure[]> {
  const rounds = roundsOf(bench.count);
  const bare = await measured(join(bench.folder, 'esdb-start-bare'), 0, rounds);
  const ours = await measured(join(bench.folder, 'esdb-start'), bench.count * TIMES, rounds);
  return [
    figureOf('esdb-start', ours.start, bare.start, 'ms'),
    figureOf('esdb-start tokens list', ours.command, bare.command, 'ms'),
    // A cancelled read has read ahead, if there is anything: some thousands, however long the log is.
    { ...figureOf('esdb-start events read', ours.read, bare.read, 'events'), goal: 0.2 },
  ];
}

function figureOf(figure: string, ours: readonly number[], bare: readonly number[], unit: string): Figure {
  const [measured, limit] = [quantile(ours, 0.5), quantile(bare, 0.5)];
  return { figure, measured, limit, ratio: limit / measured, goal: 0.5, unit };
}

async function measured(dataDir: string, events: number, rounds: number): Promise<Times> {
  const file = `${dataDir}.sqlite`;
  // The network first, then the events, then the read models: as in a log that is old.
  await overEsdb(file, async ({ url }) => {
    await (await Server.start(dataDir, 'api', { EVENT_LOG: url })).stop();
  });
  await appendDownloads(file, events);
  const times = { start: [] as number[], command: [] as number[], read: [] as number[] };
  await overEsdb(file, async (esdb) => {
    const settings = { EVENT_LOG: esdb.url };
    await (await settled(esdb, dataDir, settings)).stop();
    for (let round = 0; round < rounds; round += 1) {
      const before = await esdb.eventsRead();
      let server: Server | undefined;
      times.start.push(await timed(async () => (server = await Server.start(dataDir, ROLES, settings))));
      await quiet(esdb);
      times.read.push((await esdb.eventsRead()) - before);
      times.command.push(await timed(() => server?.affilog('tokens', 'list')));
      await server?.stop();
    }
  });
  await rm(dataDir, { recursive: true });
  return times;
}

async function overEsdb(file: string, work: (esdb: EsdbServer) => Promise<void>): Promise<void> {
  const esdb = await startEsdbServer(file);
  try {
    await work(esdb);
  } finally {
    await esdb.stop();
  }
}

/** A server that has done what it does only once over a log. */
async function settled(
  esdb: EsdbServer,
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<Server> {
  const server = await Server.start(dataDir, ROLES, settings);
  await quiet(esdb);
  return server;
}

/** Waits until nothing is read for a while. */
async function quiet(esdb: EsdbServer): Promise<void> {
  for (let before = -1, now = await esdb.eventsRead(); now > before + QUIET_MS / 100;) {
    before = now;
    await after(QUIET_MS);
    now = await esdb.eventsRead();
  }
}

/** Events that no read model has. */
async function appendDownloads(file: string, count: number): Promise<void> {
  const { log } = await openLog(file, false);
  for (let at = 0; at < count; at += APPEND_LIMITS.events) {
    const length = Math.min(APPEND_LIMITS.events, count - at);
    await log.append('download-1-2', NO_STREAM + at, Array.from({ length }, downloaded));
  }
  await log.close();
}

function downloaded(): NewEvent {
  const data = JSON.stringify({ organisationId: 2, feedId: 1, at: '2026-01-01T00:00:00.000Z' });
  return { id: randomUUID(), type: 'FeedDownloaded', data, meta: '{}' };
}
