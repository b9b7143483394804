import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openEngines } from '../src/engines/open';
import { execute } from '../src/kernel/decider';
import { subscriptionDecider } from '../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { memoryOf } from './deliveries';
import { Receivers } from './deliveries/receivers';
import { type Bench, type Figure, quantile } from './harness';
import { CONVERSION_TOKENS, EVENTS } from './network';
import { Server } from './server';
import { postedTransaction } from './transactions';

/** Reports a second, for ten seconds with 100,000 as the count. */
const RATE = 500;
const SHARE = 0.05;
/** Milliseconds from the answer to a report until the first attempt. */
const LIMIT = 250;
const POLL_MS = 100;
const STATES = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/**
 * Transactions are reported one by one, 500 a second, and each is told to one of twenty receivers. Measures the time
 * from the answer to a report until its message arrives; before the answer counts as 0.
 */
export async function firstAttempt(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  try {
    const dataDir = join(bench.folder, 'first-attempt');
    await (await Server.start(dataDir, 'api')).stop();
    await subscribe(dataDir, receivers);
    const server = await Server.start(dataDir, 'api,projector,notifier', receivers.settings);
    try {
      // The first ones find everything cold.
      await receivers.reset({ keepTimes: true });
      await delaysOf(receivers, await reportAll(server, 'W', RATE));
      await receivers.reset({ keepTimes: true });
      const answered = await reportAll(server, 'R', Math.ceil(bench.count * SHARE));
      const delays = await delaysOf(receivers, answered);
      const measured = quantile(delays, 0.99);
      const figure = 'first-attempt p99';
      return [
        { figure, measured, limit: LIMIT, ratio: LIMIT / Math.max(1, measured), goal: 1, unit: 'ms' },
        memoryOf('first-attempt', [{ memory: server.peakMemory() }]),
      ];
    } finally {
      await server.stop();
    }
  } finally {
    await receivers.stop();
  }
}

/** How long after its answer each report has arrived, once all have. */
async function delaysOf(
  receivers: Receivers,
  answered: ReadonlyMap<string, number>,
): Promise<readonly number[]> {
  for (;;) {
    const { times } = await receivers.arrived(answered.size);
    const delays = [...answered].map(([order, at]) => Math.max(0, (times[`o=${order}`] ?? Infinity) - at));
    if (!delays.includes(Infinity)) return delays;
    await pause(POLL_MS);
  }
}

/** One subscription of the publisher for each event of the program. */
async function subscribe(dataDir: string, receivers: Receivers): Promise<void> {
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

/** Reports transactions at the rate; returns when each was answered, by order number. */
async function reportAll(
  server: Server,
  prefix: string,
  count: number,
): Promise<ReadonlyMap<string, number>> {
  const answered = new Map<string, number>();
  const path = `/1.0/conversions/transactions/bulk?token=${CONVERSION_TOKENS.advertiser}`;
  const start = performance.now();
  const reports: Promise<void>[] = [];
  for (let number = 0; number < count; number += 1) {
    const wait = start + (number * 1000) / RATE - performance.now();
    if (wait > 1) await pause(wait);
    const order = `${prefix}-${number}`;
    const posted = { ...postedTransaction(order, number), eventId: EVENTS[number % EVENTS.length] };
    reports.push(server.postJson(path, [posted]).then(() => void answered.set(order, Date.now())));
  }
  await Promise.all(reports);
  return answered;
}
