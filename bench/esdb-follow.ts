import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { EventStoreDBClient, streamNameFilter } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { openEventStoreDb } from '../src/engines/eventstoredb/open-event-store-db';
import { type NewEvent, NO_STREAM } from '../src/kernel/event';
import { type EventLog } from '../src/kernel/event-log';
import { startEsdbServer } from './esdb-server';
import { type Bench, type Figure, quantile, roundsOf } from './harness';

const FOLLOWERS = 4;

/** Duration of counting calls (ms). */
const COUNTED = 5_000;

/** Events per second that others append meanwhile. */
const RATE = 40;

/** Acceptable number of calls in that time. */
const UNNOTICED = 5;

/**
 * Cost of four followers of streams that do not grow, with our own EventStoreDB server.
 *
 * Measures calls, idle and with 40 events per second in other streams, and the CPU time of this thread per appended and
 * skipped event, against a subscription of the official client that receives the same events.
 */
export async function esdbFollow(bench: Bench): Promise<readonly Figure[]> {
  const server = await startEsdbServer(join(bench.folder, 'esdb-follow.sqlite'));
  const log = await openEventStoreDb(server.url);
  const writer = await openEventStoreDb(server.url.replace('127.0.0.1', 'localhost'));
  try {
    await writer.append('other-0', NO_STREAM, events(1));
    const followers = await follow(log);
    const calls = countCalls();
    const idle = await calls.while(() => after(COUNTED));
    const busy = await calls.while(() => appendFor(writer, COUNTED));
    const count = Math.ceil(bench.count / 10);
    await followers.stop();
    const [ours, bare] = [[], []] as [number[], number[]];
    for (let round = 0; round < roundsOf(bench.count); round += 1) {
      ours.push(await busyWhilePassing(log, writer, count));
      bare.push(await busyBare(server.url, writer, count));
    }
    const [measured, limit] = [ours, bare].map((times) => (quantile(times, 0.5) * 1000) / count) as [
      number,
      number,
    ];
    return [
      callsFigure('esdb-follow calls idle', idle),
      callsFigure('esdb-follow calls busy', busy),
      { figure: 'esdb-follow busy', measured, limit, ratio: limit / measured, goal: 0.8, unit: 'µs/event' },
    ];
  } finally {
    await Promise.all([log.close(), writer.close()]);
    await server.stop();
  }
}

function callsFigure(figure: string, calls: number): Figure {
  const measured = Math.max(1, calls);
  return {
    figure,
    measured,
    limit: UNNOTICED,
    ratio: UNNOTICED / measured,
    goal: 1,
    unit: 'calls in 5 s, or 1',
  };
}

/** CPU time of this thread (ms); the server has its own thread. */
async function busyOf(work: () => Promise<unknown>): Promise<number> {
  const before = performance.eventLoopUtilization();
  await work();
  return performance.eventLoopUtilization(before).active;
}

async function busyWhilePassing(log: EventLog, writer: EventLog, count: number): Promise<number> {
  const followers = await follow(log);
  const time = await busyOf(async () => {
    await appendMany(writer, `other-${randomUUID()}`, count);
    await followers.reached(await writer.head());
  });
  await followers.stop();
  return time;
}

async function busyBare(url: string, writer: EventLog, count: number): Promise<number> {
  const client = EventStoreDBClient.connectionString(url);
  const subscription = client.subscribeToAll({
    fromPosition: 'end',
    filter: streamNameFilter({ regex: '^[^$]' }),
  });
  await once(subscription, 'confirmation');
  const time = await busyOf(async () => {
    let left = count;
    const passed = (async () => {
      for await (const { event } of subscription) if (event !== undefined && (left -= 1) === 0) return;
    })();
    await appendMany(writer, `other-${randomUUID()}`, count);
    await passed;
  });
  await subscription.unsubscribe();
  await client.dispose();
  return time;
}

async function follow(
  log: EventLog,
): Promise<{ reached(position: string): Promise<void>; stop(): Promise<void> }> {
  const start = await log.head();
  const ending = new AbortController();
  const positions = Array.from({ length: FOLLOWERS }, () => '');
  const done = positions.map(async (_, n) => {
    const prefixes = [`none${n}-`];
    for await (const { position } of log.subscribe({ after: start, prefixes, signal: ending.signal }))
      positions[n] = position;
  });
  const reached = async (position: string): Promise<void> => {
    while (positions.some((seen) => seen < position)) await after(5);
  };
  await reached(start);
  return {
    reached,
    stop: async () => {
      ending.abort();
      await Promise.all(done);
    },
  };
}

/** Counts reads and subscriptions started by this process. */
function countCalls(): { while(work: () => Promise<unknown>): Promise<number> } {
  let calls = 0;
  const read: unknown = Reflect.get(StreamsClient.prototype, 'read');
  if (typeof read !== 'function') throw new TypeError('expected @eventstore/db-client 6.2.1');
  Reflect.set(StreamsClient.prototype, 'read', function (this: unknown, ...args: unknown[]): unknown {
    calls += 1;
    return Reflect.apply(read, this, args) as unknown;
  });
  return {
    while: async (work) => {
      calls = 0;
      await work();
      return calls;
    },
  };
}

async function appendFor(log: EventLog, milliseconds: number): Promise<void> {
  const stream = `other-${randomUUID()}`;
  const end = performance.now() + milliseconds;
  for (let revision = NO_STREAM; performance.now() < end;) {
    ({ revision } = await log.append(stream, revision, events(1)));
    await after(1000 / RATE);
  }
}

async function appendMany(log: EventLog, stream: string, count: number): Promise<void> {
  for (let done = 0; done < count; done += 100)
    await log.append(stream, done - 1, events(Math.min(100, count - done)));
}

function events(count: number): readonly NewEvent[] {
  const data = JSON.stringify({ at: new Date().toISOString(), text: 'x'.repeat(800) });
  return Array.from({ length: count }, () => ({ id: randomUUID(), type: 'Happened', data, meta: '{}' }));
}
