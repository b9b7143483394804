import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { postAll } from './bare/deliveries';
import { prepare, subscribeAll } from './deliveries/prepare';
import { Receivers } from './deliveries/receivers';
import { type Bench, type Figure, quantile, roundsOf } from './harness';
import { CONVERSION_TOKENS, EVENTS, SITES } from './network';
import { inParallel } from '../src/runtime/concurrency';
import { Server } from './server';
import { postedTransaction } from './transactions';

const RECEIVERS = 1_000;
const HUNG = 50;
const UNIT = 'deliveries/s';
const MEMORY_LIMIT = 400;

interface Delivered {
  readonly rate: number;
  readonly memory: number;
}

/**
 * How transactions are reported: how many in a post, how many posts at a time, and the deliveries per second aimed at.
 */
const WAYS = [
  { figure: 'deliveries single', perPost: 1, atOnce: 32, aim: 2_000 },
  { figure: 'deliveries bulk', perPost: 100, atOnce: 4, aim: 5_000 },
] as const;

/**
 * New transactions are reported over HTTP as fast as they are answered, singly and in posts of 100; each is told to one
 * of 1,000 receivers, all in one process of the system. From the first post to the last arrival.
 */
export async function deliveries(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  const dataDir = join(bench.folder, 'deliveries');
  try {
    await (await Server.start(dataDir, 'api')).stop();
    await subscribeAll(dataDir, receivers);
    const server = await Server.start(dataDir, 'api,projector,notifier', receivers.settings);
    try {
      const figures: Figure[] = [];
      for (const { figure, perPost, atOnce, aim } of WAYS) {
        const [rates, processor]: [number[], number[]] = [[], []];
        for (let round = 0; round < roundsOf(bench.count); round += 1) {
          await receivers.reset();
          const prefix = `${perPost}-${round}`;
          const used = server.processorSeconds();
          const start = Date.now();
          await reportAll(server, { prefix, count: bench.count, perPost, atOnce });
          const { last } = await receivers.arrived(bench.count);
          rates.push(rateBetween(start, last, bench.count));
          processor.push(((server.processorSeconds() - used) * 1000) / bench.count);
        }
        const measured = quantile(rates, 0.5);
        figures.push({ figure, measured, limit: aim, ratio: measured / aim, goal: 1, unit: UNIT });
        figures.push(processorOf(figure, quantile(processor, 0.5)));
      }
      return figures;
    } finally {
      await server.stop();
    }
  } finally {
    await receivers.stop();
    await rm(dataDir, { recursive: true });
  }
}

/** Processor time of the server for each message, beside that of the fastest of other systems (ms). */
const OTHERS_MS = 1.9;

function processorOf(figure: string, measured: number): Figure {
  const ratio = OTHERS_MS / Math.max(0.001, measured);
  return { figure: `${figure} processor`, measured, limit: OTHERS_MS, ratio, goal: null, unit: 'ms' };
}

interface Reports {
  readonly prefix: string;
  readonly count: number;
  readonly perPost: number;
  readonly atOnce: number;
}

async function reportAll(server: Server, { prefix, count, perPost, atOnce }: Reports): Promise<void> {
  const path = `/1.0/conversions/transactions/bulk?token=${CONVERSION_TOKENS.advertiser}`;
  const firsts = Array.from({ length: Math.ceil(count / perPost) }, (_, post) => post * perPost);
  await inParallel(firsts, atOnce, async (first) => {
    const posted = Array.from({ length: Math.min(perPost, count - first) }, (_, at) => {
      const number = first + at;
      const siteId = SITES[Math.floor(number / EVENTS.length) % SITES.length];
      const eventId = EVENTS[number % EVENTS.length];
      return { ...postedTransaction(`${prefix}-${number}`, number), siteId, eventId };
    });
    await server.postJson(path, posted);
  });
}

/**
 * Messages that are due to 1,000 receivers in another process, sent by one notifier: signed, and each durable before
 * its slot is free. From the first arrival to the last.
 *
 * Bare: undici alone posts as many signed messages to the same receivers, 256 at a time.
 */
export async function deliveriesDue(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  try {
    const [ours, bare]: [Delivered[], number[]] = [[], []];
    for (let round = 0; round < roundsOf(bench.count); round += 1) {
      bare.push(await bareRate(receivers, bench.count));
      ours.push(await rateOf(bench, receivers, 0));
    }
    const measured = medianOf(ours);
    const limit = quantile(bare, 0.5);
    const figure = 'deliveries-due';
    const rate = { figure, measured, limit, ratio: measured / limit, goal: 0.5, unit: UNIT };
    return [rate, memoryOf(figure, ours)];
  } finally {
    await receivers.stop();
  }
}

/** The same with 50 of the 1,000 receivers hanging, which is compared with none of them hanging. */
export async function deliveriesHung(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  try {
    const [hung, none]: [Delivered[], Delivered[]] = [[], []];
    for (let round = 0; round < roundsOf(bench.count); round += 1) {
      none.push(await rateOf(bench, receivers, 0));
      hung.push(await rateOf(bench, receivers, HUNG));
    }
    const [measured, limit] = [medianOf(hung), medianOf(none)];
    const figure = 'deliveries-hung';
    const rate = { figure, measured, limit, ratio: measured / limit, goal: 0.9, unit: UNIT };
    return [rate, memoryOf(figure, hung)];
  } finally {
    await receivers.stop();
  }
}

async function bareRate(receivers: Receivers, count: number): Promise<number> {
  await receivers.reset();
  await postAll(receivers.urls(RECEIVERS), count);
  const { first, last } = await receivers.arrived(count);
  return rateBetween(first, last, count);
}

async function rateOf(bench: Bench, receivers: Receivers, hung: number): Promise<Delivered> {
  const dataDir = join(bench.folder, 'deliveries-due');
  await prepare(dataDir, receivers, { targets: RECEIVERS, messages: bench.count });
  await receivers.reset({ hung });
  const server = await Server.start(dataDir, 'notifier', receivers.settings);
  try {
    const messages = answeredOf(bench.count, hung);
    const { first, last } = await receivers.arrived(messages);
    return { rate: rateBetween(first, last, messages), memory: server.peakMemory() };
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true });
  }
}

/** Of so many messages to all receivers in turn, those to receivers that answer. */
function answeredOf(count: number, hung: number): number {
  return Math.floor(count / RECEIVERS) * (RECEIVERS - hung) + Math.max(0, (count % RECEIVERS) - hung);
}

function rateBetween(first: number, last: number, count: number): number {
  return (count / Math.max(1, last - first)) * 1000;
}

function medianOf(delivered: readonly Delivered[]): number {
  return quantile(
    delivered.map(({ rate }) => rate),
    0.5,
  );
}

/** Peak resident memory of the notifier in MB. */
export function memoryOf(figure: string, runs: readonly Pick<Delivered, 'memory'>[]): Figure {
  const measured = Math.max(...runs.map(({ memory }) => memory));
  const limit = MEMORY_LIMIT;
  return { figure: `${figure} memory`, measured, limit, ratio: limit / measured, goal: 1, unit: 'MB' };
}
