import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { productTopic } from '../src/domain/products/topic';
import { receiverIdOf } from '../src/domain/subscriptions/receiver-id';
import { type SubscriptionContent, subscriptionDecider } from '../src/domain/subscriptions/subscription';
import { openEngines } from '../src/engines/open';
import { execute } from '../src/kernel/decider';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { generateProducts, inventWords } from './generate';
import { type Bench, compareRates, type Figure, quantile, roundsOf, timed } from './harness';
import { PUBLISHER_TOKEN, SITES } from './network';
import { CATEGORIES } from './products';
import { Server } from './server';

const FEED = 1;
const SUBSCRIPTIONS = 1_000;
const ROLES = 'api,projector,automation,notifier';
/** Of the prices before: each load lowers all of them. */
const SHARE = 0.8;
/** Between looks at what is matched (ms). */
const LOOK_MS = 200;

/**
 * Posts a feed whose prices have all fallen, to a server with all roles.
 *
 * Ours: with 1,000 subscriptions to products, each to falls of the price of products with another word in their names.
 * Reference: without any, in another folder. Then how long it takes after such a load until its messages are listed,
 * against the time until searches show the load, which messages wait for.
 */
export async function productSubscriptions(bench: Bench): Promise<readonly Figure[]> {
  const rounds = roundsOf(bench.count);
  const bodies: string[] = [];
  for (let round = 0; round <= rounds; round += 1) bodies.push(await bodyOf(bench, SHARE ** round));
  const bodyAt = (round: number): string => bodies[round] ?? '';
  const subscribedFolder = join(bench.folder, 'product-subscriptions');
  await (await Server.start(subscribedFolder, 'api')).stop();
  const all = await subscribe(subscribedFolder);
  const [subscribed, other] = [
    await Server.start(subscribedFolder, ROLES),
    await Server.start(join(bench.folder, 'product-subscriptions-none'), ROLES),
  ];
  try {
    for (const server of [subscribed, other]) await server.shows(await server.post(FEED, 'json', bodyAt(0)));
    await matched(subscribed, all, 1);
    const [shown, behind]: [number[], number[]] = [[], []];
    const bothRest = () => Promise.all([subscribed.rests(), other.rests()]);
    const compared = await compareRates(
      { figure: 'product-subscriptions', goal: 0.95, count: bench.count, rounds },
      async (round) => {
        let position = '';
        await bothRest();
        const took = await timed(
          async () => (position = await subscribed.post(FEED, 'json', bodyAt(round + 1))),
        );
        behind.push(await timed(() => matched(subscribed, all, round + 2)));
        await subscribed.shows(position);
        return took;
      },
      async (round) => {
        let position = '';
        await bothRest();
        const took = await timed(async () => (position = await other.post(FEED, 'json', bodyAt(round + 1))));
        shown.push(await timed(() => other.shows(position)));
        return took;
      },
    );
    const [measured, limit] = [quantile(behind, 0.5) / 1000, quantile(shown, 0.5) / 1000];
    const figure = 'product-subscriptions behind';
    return [compared, { figure, measured, limit, ratio: limit / measured, goal: null, unit: 's' }];
  } finally {
    await subscribed.stop();
    await other.stop();
  }
}

/** A body in which prices have this share of their first ones. */
async function bodyOf({ folder, count }: Bench, share: number): Promise<string> {
  const path = join(folder, `prices-${share}.json`);
  const file = createWriteStream(path);
  let separator = '{"products":[';
  for (const product of generateProducts({ count, categories: CATEGORIES })) {
    const price = Math.round(product.price * share * 100) / 100;
    const isFull = !file.write(separator + JSON.stringify({ ...product, price }));
    separator = ',';
    if (isFull) await once(file, 'drain');
  }
  file.end(']}');
  await once(file, 'finish');
  return path;
}

/** Subscribes to falling prices, and to changes of feeds; returns the id of the last one. */
async function subscribe(dataDir: string): Promise<string> {
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const at = new Date().toISOString();
  const receiverBody = productTopic.sample.receiverBody;
  const url = 'https://receiver.example/';
  const receiver = { httpMethod: 'POST', receiverUrl: url, receiverBody, receiverFormat: 'JSON' } as const;
  const contentOf = (filter: SubscriptionContent['filter']): SubscriptionContent => ({
    ...{ siteId: SITES[0] ?? 0, filter, receivers: [receiver] },
  });
  const words = inventWords(5_000, 7).slice(0, SUBSCRIPTIONS);
  const contents = words.map((word) => contentOf({ stateIds: [1], keywords: [word], minFallPercent: 10 }));
  let id = '';
  try {
    for (const subscription of [...contents, contentOf({ stateIds: [3] })]) {
      id = SYSTEM_CLOCK.uuid().replaceAll('-', '');
      const change = (command: Parameters<typeof subscriptionDecider.decide>[0]) =>
        execute(SYSTEM_CLOCK, engines.log, subscriptionDecider, id, command);
      await change({ do: 'create', at, topic: 'products', organisationId: 2, subscription });
      // Its messages are made, and not attempted.
      await change({ do: 'disableReceiver', at, receiver: receiverIdOf(id, receiver), reason: 'gone' });
    }
  } finally {
    await engines.close();
  }
  return id;
}

/** Waits until messages about so many loads are listed. */
async function matched(server: Server, subscription: string, loads: number): Promise<void> {
  const path = `/1.0/products/subscriptions/${subscription}/deliveries;pageSize=100?token=${PUBLISHER_TOKEN}`;
  while ((JSON.parse(await server.get(path)) as readonly object[]).length < loads) await pause(LOOK_MS);
}
