import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openEngines } from '../src/engines/open';
import { execute } from '../src/kernel/decider';
import { subscriptionDecider } from '../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { BareSender } from './bare/deliveries';
import { memoryOf } from './deliveries';
import { now } from './deliveries/clock';
import { Receivers } from './deliveries/receivers';
import { type Bench, type Figure, quantile } from './harness';
import { CONVERSION_TOKENS, EVENTS } from './network';
import { Server } from './server';
import { postedTransaction } from './transactions';

/** Reports a second. At the first one the machine has time: what is aimed at there is ours, in ms. */
const RATES = [200, 500] as const;
const AIMS = { p50: 3, p99: 12, processor: 3 } as const;
/** At 500 a second. */
const MOST_MS = 250;
const SHARE = 0.05;
const POLL_MS = 100;
const STATES = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/**
 * Transactions are reported one by one, at a rate, and each is told to one of twenty receivers. Measures the time from
 * when the report was due until its message arrives, and the processor time of the server for each.
 *
 * Bare: undici alone sends the signed messages when the reports are due, with nothing reported, matched or recorded.
 */
export async function firstAttempt(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  const figures: Figure[] = [];
  try {
    const dataDir = join(bench.folder, 'first-attempt');
    await (await Server.start(dataDir, 'api')).stop();
    await subscribe(dataDir, receivers);
    const server = await Server.start(dataDir, 'api,projector,notifier', receivers.settings);
    const bare = new BareSender(EVENTS.map((_, number) => receivers.url(number)));
    try {
      const send = {
        report: (order: string, number: number) => server.postJson(PATH, [reportOf(order, number)]),
        bare: (order: string, number: number) => bare.get(number % EVENTS.length, `?o=${order}`),
      };
      // The first ones find everything cold.
      await arrivals(receivers, await atRate(RATES[1], RATES[1], 'W', send.report));
      await arrivals(receivers, await atRate(RATES[1], RATES[1], 'V', send.bare));
      for (const rate of RATES) {
        const count = Math.ceil(bench.count * SHARE);
        const began = server.processorSeconds();
        const ours = await arrivals(receivers, await atRate(rate, count, `R${rate}`, send.report));
        const processor = ((server.processorSeconds() - began) * 1000) / count;
        const others = await arrivals(receivers, await atRate(rate, count, `B${rate}`, send.bare));
        figures.push(...figuresAt(rate, { ours, others, processor }));
      }
      return [...figures, memoryOf('first-attempt', [{ memory: server.peakMemory() }])];
    } finally {
      await bare.close();
      await server.stop();
    }
  } finally {
    await receivers.stop();
  }
}

function figuresAt(
  rate: number,
  {
    ours,
    others,
    processor,
  }: { readonly ours: readonly number[]; readonly others: readonly number[]; readonly processor: number },
): readonly Figure[] {
  const isAimed = rate === RATES[0];
  const aimed = (name: string, measured: number, limit: number): Figure => {
    const ratio = limit / Math.max(0.001, measured);
    return { figure: `first-attempt ${name}, ${rate}/s`, measured, limit, ratio, goal: 1, unit: 'ms' };
  };
  const beside = ([name, share]: readonly [string, number]): Figure => {
    const [measured, limit] = [quantile(ours, share), quantile(others, share)];
    const figure = `first-attempt ${name} (undici), ${rate}/s`;
    return { figure, measured, limit, ratio: limit / measured, goal: null, unit: 'ms' };
  };
  const [p50, p99] = [quantile(ours, 0.5), quantile(ours, 0.99)];
  return [
    beside(['p50', 0.5]),
    beside(['p99', 0.99]),
    ...(isAimed
      ? [
          aimed('p50', p50, AIMS.p50),
          aimed('p99', p99, AIMS.p99),
          aimed('processor', processor, AIMS.processor),
        ]
      : [aimed('p99', p99, MOST_MS)]),
  ];
}

const PATH = `/1.0/conversions/transactions/bulk?token=${CONVERSION_TOKENS.advertiser}`;

function reportOf(order: string, number: number) {
  return { ...postedTransaction(order, number), eventId: EVENTS[number % EVENTS.length] };
}

/** How long after they were due messages have arrived (ms), once all have. */
async function arrivals(receivers: Receivers, due: ReadonlyMap<string, number>): Promise<readonly number[]> {
  for (;;) {
    const { times } = await receivers.arrived(due.size);
    const delays = [...due].map(([order, at]) => (times[`o=${order}`] ?? Infinity) - at);
    if (!delays.includes(Infinity)) {
      await receivers.reset({ keepTimes: true });
      return delays;
    }
    await pause(POLL_MS);
  }
}

/** One subscription of the publisher for each event of the program. */
async function subscribe(dataDir: string, receivers: Receivers): Promise<void> {
  await receivers.reset({ keepTimes: true });
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const at = new Date().toISOString();
  for (const [number, eventId] of EVENTS.entries()) {
    const receiverUrl = `${receivers.url(number)}?o=\${orderNumber}`;
    const subscription = {
      filter: { stateIds: STATES, eventIds: [eventId] },
      receivers: [{ receiverUrl, httpMethod: 'GET' }],
    } as const;
    const command = { do: 'create', at, topic: 'transactions', organisationId: 2, subscription } as const;
    await execute(SYSTEM_CLOCK, engines.log, subscriptionDecider, randomUUID(), command);
  }
  await engines.close();
}

/** Sends at a rate; returns when each was due, by order number, once all have been answered. */
async function atRate(
  rate: number,
  count: number,
  prefix: string,
  send: (order: string, number: number) => Promise<unknown>,
): Promise<ReadonlyMap<string, number>> {
  const due = new Map<string, number>();
  const start = now();
  const sent: Promise<unknown>[] = [];
  for (let number = 0; number < count; number += 1) {
    const at = start + (number * 1000) / rate;
    // Timers have whole milliseconds: none is sent early.
    const wait = Math.ceil(at - now());
    if (wait > 0) await pause(wait);
    const order = `${prefix}-${number}`;
    due.set(order, at);
    sent.push(send(order, number));
  }
  await Promise.all(sent);
  return due;
}
