import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openEngines } from '../src/engines/open';
import { execute } from '../src/kernel/decider';
import { subscriptionDecider } from '../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { prepare } from './deliveries/prepare';
import { Receivers } from './deliveries/receivers';
import { startEsdbServer } from './esdb-server';
import { type Bench, type Figure, quantile, roundsOf } from './harness';
import { CONVERSION_TOKENS } from './network';
import { Server } from './server';
import { postedTransaction } from './transactions';

/** With 100,000 as the count: 200,000 messages. */
const TIMES = 2;
/** Receivers that hang, which the messages are due to. Another one is healthy. */
const HUNG = 1_000;
const SETTLED_MS = 5_000;
/** Seconds. */
const LIMIT = 5;
const ENDS = ['killed', 'stopped'] as const;

/**
 * Messages are due to 1,000 receivers that hang, twice the count, when a notifier starts again, after it was killed and
 * after an orderly stop; meanwhile, a transaction was reported of which a healthy receiver is to be notified. Measures
 * the seconds from the start of the process to the first attempt, and to the arrival at the healthy receiver, over both
 * event logs.
 */
export async function* notifierStart(bench: Bench): AsyncGenerator<Figure> {
  yield* await measured(bench, 'sqlite', 'sqlite:');
  const server = await startEsdbServer(join(bench.folder, 'notifier-start.sqlite'));
  try {
    yield* await measured(bench, 'esdb', server.url);
  } finally {
    await server.stop();
  }
}

async function measured(bench: Bench, engine: string, eventLog: string): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  const dataDir = join(bench.folder, `notifier-start-${engine}`);
  const settings = { ...receivers.settings, EVENT_LOG: eventLog };
  try {
    await prepare(dataDir, receivers, {
      targets: HUNG,
      messages: bench.count * TIMES,
      isGrouped: true,
      eventLog,
    });
    await subscribeHealthy(dataDir, eventLog, receivers.url(HUNG));
    await receivers.reset({ hung: HUNG });
    const api = await Server.start(dataDir, 'api,projector', settings);
    let order = 0;
    const report = async (): Promise<void> => {
      order += 1;
      const path = `/1.0/conversions/transactions/bulk?token=${CONVERSION_TOKENS.advertiser}`;
      await api.postJson(path, [postedTransaction(`N-${order}`, order)]);
    };
    const times = new Map<string, number[]>();
    try {
      await report();
      let notifier = await Server.start(dataDir, 'notifier', settings);
      await receivers.arrived(1);
      for (let round = 0; round < roundsOf(bench.count); round += 1)
        for (const end of ENDS) {
          await pause(SETTLED_MS);
          await (end === 'killed' ? notifier.kill() : notifier.stop());
          await report();
          await receivers.reset({ hung: HUNG });
          const start = Date.now();
          notifier = await Server.start(dataDir, 'notifier', settings);
          const { begun, first } = await receivers.arrived(1);
          for (const [name, at] of Object.entries({ [end]: begun, [`${end} new`]: first }))
            times.set(name, [...(times.get(name) ?? []), (at - start) / 1000]);
        }
      await notifier.stop();
    } finally {
      await api.stop();
    }
    return [...times].map(([name, seconds]) => figureOf(`notifier-start ${engine} ${name}`, seconds));
  } finally {
    await receivers.stop();
    await rm(dataDir, { recursive: true });
  }
}

function figureOf(figure: string, seconds: readonly number[]): Figure {
  const measured = quantile(seconds, 0.5);
  return { figure, measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 's' };
}

/** To all transactions of the first site. */
async function subscribeHealthy(dataDir: string, eventLog: string, receiverUrl: string): Promise<void> {
  const engines = await openEngines({ dataDir, eventLog, readStore: 'sqlite:', threads: false });
  const filter = { stateIds: [1, 2, 3, 4, 5, 6, 7, 8, 9] };
  const receivers = [{ receiverUrl, httpMethod: 'GET' }] as const;
  const command = {
    do: 'create',
    at: new Date().toISOString(),
    topic: 'transactions',
    organisationId: 2,
  } as const;
  await execute(SYSTEM_CLOCK, engines.log, subscriptionDecider, randomUUID(), {
    ...command,
    subscription: { filter, receivers },
  });
  await engines.close();
}
