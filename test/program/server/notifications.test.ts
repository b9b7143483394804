import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openEngines } from '../../../src/engines/open';
import { toNewEvent } from '../../../src/kernel/decider';
import { messageIdOf, receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { type Receiver } from '../../../src/domain/subscriptions/subscription';
import { Receivers } from '../../support/receivers';
import { folderWithNetwork, removeFolder, runProgram, Server } from '../../support/server';
import { cases } from '../../support/size';
import { postConversions, saleOf, STATES, TOKENS, WITH_SALES } from '../sales';

let folder: string;
let receivers: Receivers;
let server: Server;
let isHanging = false;
let ending: AbortController;
/** Ids of messages that were answered. */
let delivered: Set<string>;

beforeEach(async () => {
  ending = new AbortController();
  folder = await folderWithNetwork({}, WITH_SALES);
  delivered = new Set();
  receivers = new Receivers(({ id }) => {
    if (isHanging) return undefined;
    delivered.add(id);
    return 200;
  });
  await receivers.listen();
  await start();
});
afterEach(async () => {
  ending.abort();
  await server.end('SIGKILL');
  await receivers.close();
  await removeFolder(folder);
});

async function start(): Promise<void> {
  const environment = { NOTIFY_ALLOW: `127.0.0.0/8:${receivers.port}` };
  server = await Server.start(folder, { environment });
}

const post = <T>(path: string, token: string, body: unknown): Promise<T> =>
  postConversions<T>(server.url, path, token, body);

/** Subscribes two receivers; returns their ids. */
async function subscribe(): Promise<readonly string[]> {
  const both: readonly Receiver[] = [
    { httpMethod: 'GET', receiverUrl: `${receivers.url(1)}?order=\${orderNumber}&state=\${messageTypeId}` },
    {
      httpMethod: 'POST',
      receiverUrl: receivers.url(2),
      receiverFormat: 'JSON',
      receiverBody: '{"order": ${orderNumber}, "state": ${messageTypeId}}',
    },
  ];
  const posted = { filter: { messageTypeIds: STATES }, receivers: both };
  const { subscriptionId } = await post<{ subscriptionId: string }>(
    'subscriptions',
    TOKENS.publisher,
    posted,
  );
  return both.map((receiver) => receiverIdOf(subscriptionId, receiver));
}

/** Reports sales; returns their ids. */
async function report(...orders: readonly string[]): Promise<readonly string[]> {
  const results = await post<readonly { transactionId: string }[]>(
    'transactions/bulk',
    TOKENS.advertiser,
    orders.map(saleOf),
  );
  return results.map(({ transactionId }) => transactionId);
}

/** Ids of the messages about transactions, from the log. */
async function messagesAbout(ids: readonly string[], to: readonly string[]): Promise<readonly string[]> {
  const settings = { dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  try {
    const messages: string[] = [];
    for (const id of ids)
      for await (const batch of engines.log.readStream(`transaction-${id}`))
        for (const event of batch) messages.push(...to.map((receiver) => messageIdOf(event.id, receiver)));
    return messages;
  } finally {
    await engines.close();
  }
}

/** Waits; not beyond the end of its test, since the next one has other receivers and another server. */
async function until(isSo: () => boolean): Promise<void> {
  const { signal } = ending;
  while (!isSo()) await pause(10, undefined, { signal });
}

const counts = (): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  for (const { id } of receivers.received) found.set(id, (found.get(id) ?? 0) + 1);
  return found;
};

test('rebuilding read models sends nothing, and what becomes due then arrives once', async () => {
  const to = await subscribe();
  const sales = await report('A-1', 'A-2', 'A-3');
  await until(() => delivered.size === 3 * STATES.length * to.length);

  expect(await runProgram(['rebuild', 'all'], { DATA_DIR: folder })).toMatchObject({
    ...{
      code: 0,
      stdout: expect.stringMatching(/^deliveries: generation \d+, 12 documents, 0 differ /m) as string,
    },
  });
  const later = await report('A-4');
  await until(() => delivered.size === 4 * STATES.length * to.length);
  // Those that the server does not have are built when it starts.
  await server.end();
  await rm(join(folder, 'read'), { recursive: true });
  await start();
  const last = await report('A-5');
  await until(() => delivered.size === 5 * STATES.length * to.length);

  expect(await server.end()).toBe(0);
  await receivers.untilLeft();
  const expected = await messagesAbout([...sales, ...later, ...last], to);
  expect([...counts().keys()].sort()).toEqual([...expected].sort());
  expect([...counts().values()]).toEqual(expected.map(() => 1));
});

const KILLS = cases(20, 5);
/** How many messages have arrived, without being answered, when the server is killed. */
const MOMENTS = [0, 1, 0, 3, 6];
const SALES = 25;

test(`of a server that is killed ${KILLS} times after it has answered reports, each message arrives under its id`, async () => {
  const to = await subscribe();
  const expected = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = receivers.received.length;
    isHanging = kill % 5 !== 2;
    const sales = await report(...Array.from({ length: SALES }, (_, at) => `K-${kill}-${at}`));
    const moment = MOMENTS[kill % MOMENTS.length] ?? 0;
    await until(() => receivers.received.length >= before + moment);
    await server.end('SIGKILL');
    await receivers.untilLeft();

    isHanging = false;
    const starting = performance.now();
    await start();
    const restarted = performance.now();
    for (const id of await messagesAbout(sales, to)) expected.add(id);
    expect(expected.size).toBe((kill + 1) * SALES * STATES.length * to.length);
    await until(() => delivered.size >= expected.size);
    expect(delivered).toEqual(expected);
    // Leases of the killed server would have lasted 30 s. A busy machine takes long for anything.
    expect(performance.now() - restarted).toBeLessThan(20_000 + 10 * (restarted - starting));
  }
  expect(await server.end()).toBe(0);
  await receivers.untilLeft();
  expect([...counts().keys()].sort()).toEqual([...expected].sort());
  const texts = new Map(receivers.received.map(({ id, path, body }) => [id, path + body]));
  for (const { id, path, body } of receivers.received) expect(path + body).toBe(texts.get(id));
});

/** As another program may: without the data that each of them needs. */
const POISON = [
  ['program-777', 'ProgramDefined'],
  ['category-777', 'CategoryDefined'],
  ['transaction-777', 'TransactionTracked'],
  ['claim-777', 'ClaimScreened'],
  ['subscription-777', 'SubscriptionCreated'],
  ['exchange-rates', 'ExchangeRatesPublished'],
] as const;

/**
 * Appends these to the log, and to that of deliveries an outcome of nothing; `round` is the number of those in each
 * stream.
 */
async function poison(round: number): Promise<void> {
  const settings = { dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
  const engines = await openEngines(settings);
  try {
    for (const [stream, type] of POISON)
      await engines.log.append(stream, round - 1, [toNewEvent({ type, data: {} }, randomUUID())]);
    const deliveries = await engines.deliveries();
    let revision = -1;
    for await (const [last] of deliveries.readStream('partition-00', { backwards: true, limit: 1 }))
      revision = last?.revision ?? revision;
    const outcome = toNewEvent({ type: 'MessageAttempted', data: { receiver: 'x' } }, randomUUID());
    await deliveries.append('partition-00', revision, [outcome]);
  } finally {
    await engines.close();
  }
}

test('events that cannot be used stop neither a running server nor one that is killed and started again (decisions X103)', async () => {
  const to = await subscribe();
  let arrived = 0;
  /** A sale is reported, and its messages arrive. */
  const works = async (order: string): Promise<void> => {
    await report(order);
    arrived += STATES.length * to.length;
    await until(() => delivered.size === arrived);
    const health = (await (await fetch(`${server.url}/health/ready`)).json()) as { status: string };
    expect(health.status).toBe('ok');
  };
  await works('P-1');
  await poison(0);
  await works('P-2');
  await server.end('SIGKILL');
  await poison(1);
  await start();
  await works('P-3');
  await server.end('SIGKILL');
  await start();
  await works('P-4');
  const { stdout } = await runProgram(['parked', 'list'], { DATA_DIR: folder });
  const ids = stdout
    .trim()
    .split('\n')
    // What it is, and what to do, are below each.
    .filter((line) => !line.startsWith(' '))
    .map((line) => line.split(': ')[0]);
  for (const round of [0, 1])
    expect(ids).toEqual(
      expect.arrayContaining([
        `directory program-777@${round}`,
        `directory category-777@${round}`,
        ...POISON.slice(2).map(([stream]) => `matcher ${stream}@${round}`),
      ]),
    );
  const health = (await (await fetch(`${server.url}/health/ready`)).json()) as { parked: number };
  expect(health.parked).toBe(ids.length);
  expect(await server.end()).toBe(0);
});

test('a PUT that mends a URL loses nothing, although the server is killed after it (decisions N8)', async () => {
  const receiver: Receiver = {
    httpMethod: 'POST',
    receiverUrl: receivers.url(1),
    receiverFormat: 'JSON',
    receiverBody: '{"wrong": ${orderNumber}}',
  };
  const posted = { filter: { messageTypeIds: STATES }, receivers: [receiver] };
  const { subscriptionId: id } = await post<{ subscriptionId: string }>(
    'subscriptions',
    TOKENS.publisher,
    posted,
  );
  isHanging = true;
  const sales = await report('M-1', 'M-2', 'M-3');
  await until(() => receivers.received.length >= 2);
  const mended = { ...receiver, receiverUrl: receivers.url(2), receiverBody: '{"right": ${orderNumber}}' };
  const answer = await fetch(`${server.url}/1.0/conversions/subscriptions/${id}?token=${TOKENS.publisher}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ ...posted, receivers: [mended] }),
  });
  const { receivers: continued } = (await answer.json()) as { receivers: readonly { receiverId: string }[] };
  const to = receiverIdOf(id, receiver);
  expect(continued.map(({ receiverId }) => receiverId)).toEqual([to]);
  await server.end('SIGKILL');
  await receivers.untilLeft();

  isHanging = false;
  await start();
  const expected = await messagesAbout(sales, [to]);
  expect(expected).toHaveLength(3 * STATES.length);
  await until(() => delivered.size >= expected.length);
  expect(await server.end()).toBe(0);
  expect([...delivered].sort()).toEqual([...expected].sort());
  const right = receivers.received.filter(({ path }) => path === '/r2');
  expect(right.map((one) => one.id).sort()).toEqual([...expected].sort());
  for (const { body } of right) expect(body).toContain('right');
});
