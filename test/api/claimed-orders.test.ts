import { randomUUID } from 'node:crypto';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { claimTopic } from '../../src/domain/claims/topic';
import { automationsOver } from '../../src/processes/automations';
import { Notifier } from '../../src/delivery/notifier';
import { START } from '../../src/kernel/event';
import { MATCHED } from '../../src/domain/deliveries/delivery-events';
import { Secrets } from '../../src/domain/subscriptions/subscription';
import { Sender } from '../../src/delivery/sending/sender';
import { AllowedAddresses } from '../../src/delivery/sending/addresses';
import { transactionIdOf } from '../../src/domain/transactions/transaction-id';
import { transactionTopic } from '../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { Receivers } from '../support/receivers';
import { CLAIM_NETWORK, claimClientOf, INQUIRY, type Listed } from './claim-network';
import { subscriptionClientOf } from './subscription-network';
import { type ConversionClient, transactionClientOf } from './transaction-network';
import { DAY, NOW } from './voucher-network';

const ATTRIBUTES = [
  ...['messageTypeId', 'transactionId', 'legacyTransactionId', 'sequenceNumber', 'orderNumber', 'orderValue'],
  ...[
    'publisherCommission',
    'currencyId',
    'eventId',
    'eventTypeId',
    'programId',
    'siteId',
    'timeOfEvent',
    'epi',
  ],
];
const BODY = `{${ATTRIBUTES.map((name) => `"${name}": \${${name}}`).join(', ')}}`;

/** Who subscribes to all states of transactions; each has a receiver with the number of its place. */
const SUBSCRIBERS: readonly ConversionClient[] = ['nord', 'preisblick', 'preisblickAll', 'deals', 'casa'];

type Values = Readonly<Record<string, unknown>>;

let now = NOW;
let app: TestApp;
let notifier: Notifier;
let runner: AutomationRunner;
const receivers = new Receivers();
const failures: string[] = [];
const claims = claimClientOf(() => app);
const conversions = transactionClientOf(() => app);
const subscriptions = subscriptionClientOf(() => app);

beforeAll(async () => {
  await receivers.listen();
  const allow = `127.0.0.0/8:${receivers.port}`;
  const report = (failure: unknown): void => void failures.push(String(failure));
  app = await TestApp.start({
    network: CLAIM_NETWORK,
    now: () => new Date(now),
    settings: { NOTIFY_ALLOW: allow },
  });
  for (const [number, subscriber] of SUBSCRIBERS.entries()) {
    const receiver = { httpMethod: 'POST', receiverUrl: receivers.url(number), receiverBody: BODY };
    const filter = { messageTypeIds: [1, 2, 3, 4, 5, 6, 7, 8] };
    await subscriptions.create({ filter, receivers: [{ ...receiver, receiverFormat: 'JSON' }] }, subscriber);
  }
  const { log, store, leases } = app.engines;
  const secrets = new Secrets(Buffer.alloc(32));
  const parts = {
    ...{ log, leases, deliveries: await app.engines.deliveries(), topics: [transactionTopic, claimTopic] },
    ...{
      clock: SYSTEM_CLOCK,
      secrets,
      owner: { installation: 'test', key: secrets.fingerprint },
      keepMs: 30 * DAY,
    },
    newSender: () => new Sender({ clock: SYSTEM_CLOCK, allowed: AllowedAddresses.parse(allow) }),
  };
  notifier = new Notifier(parts, { name: 'test', report });
  notifier.start();
  const clock = new TestClock(
    () => now,
    () => now,
  );
  const { follower } = app;
  const automating = { owner: 'test', clock, report };
  runner = new AutomationRunner(
    { log, store, leases, follower },
    automationsOver(SYSTEM_CLOCK, store),
    automating,
  );
});
afterAll(async () => {
  await runner.stop();
  await notifier.stop();
  await receivers.close();
  await app.close();
  expect(failures).toEqual([]);
});

async function automate(): Promise<void> {
  const { store } = app.engines;
  await app.settled();
  for (const automation of automationsOver(SYSTEM_CLOCK, store)) while (await runner.turn(automation));
  await app.settled();
}

/** Waits until every message about what has happened was delivered. */
async function delivered(): Promise<void> {
  // Events are matched in the order of the log: when the messages about this report are due, so are all before them.
  const last = randomUUID();
  await conversions.create(last);
  const deliveries = await app.engines.deliveries();
  const [due, settled] = [new Set<string>(), new Set<string>()];
  let isMatched = false;
  for await (const { events } of deliveries.subscribe({ after: START, prefixes: [MATCHED, 'partition-'] })) {
    for (const { type, data } of events) {
      const { id } = JSON.parse(data) as { readonly id: string };
      if (type === 'MessageDue') due.add(id);
      if (type === 'MessageAttempted') settled.add(id);
      isMatched ||= type === 'MessageDue' && data.includes(last);
    }
    if (isMatched && due.size === settled.size) return;
  }
}

/** The messages about an order, as each subscriber received them. */
function messagesAbout(orderNumber: string): ReadonlyMap<string, readonly Values[]> {
  const messagesTo = (number: number): readonly Values[] =>
    receivers.received
      .filter(({ path }) => path === `/r${number}`)
      .map(({ body }) => JSON.parse(body) as Values)
      .filter((values) => values['orderNumber'] === orderNumber);
  return new Map(SUBSCRIBERS.map((name, number) => [name, messagesTo(number)]));
}

/** The parties of a claim have received these messages, other subscribers none. */
function toParties(messages: readonly Values[]): ReadonlyMap<string, readonly Values[]> {
  const isParty = (name: string): boolean => name === 'nord' || name.startsWith('preisblick');
  return new Map(SUBSCRIBERS.map((name) => [name, isParty(name) ? messages : []]));
}

async function approve({ claimId }: Listed, corrections: object = {}): Promise<void> {
  const answer = await claims.rule([{ claimId, statusIdClaim: 3, versionNo: 0, ...corrections }]);
  expect([answer.statusCode, answer.body]).toEqual([200, '']);
}

/** The values of both messages about a claim of the inquiry event that was approved (decisions C6, C10). */
function bothMessages(orderNumber: string, values: Values): readonly Values[] {
  const legacyTransactionId = `${orderNumber}_${INQUIRY}_1`;
  const common = {
    ...{ legacyTransactionId, orderNumber, currencyId: 'EUR', eventId: INQUIRY, eventTypeId: 5 },
    ...{ programId: 101, siteId: 1101, timeOfEvent: '2026-02-20T00:00:00.000Z', epi: null, ...values },
  };
  return [
    { ...common, messageTypeId: 1, transactionId: null, sequenceNumber: '1' },
    {
      ...common,
      messageTypeId: 5,
      transactionId: transactionIdOf(legacyTransactionId, 101),
      sequenceNumber: '2',
    },
  ];
}

describe('subscribers to conversions receive what follows from a claim (decisions C10)', () => {
  it('as messages of type 1 and 5 with the values approved, each party each once, nobody else any', async () => {
    const order = 'approved';
    await approve(await claims.create(order, { epi: 'spring' }), { orderValue: 80, expectedCommission: 5 });
    await delivered();
    expect(messagesAbout(order)).toEqual(toParties([]));
    await automate();
    await automate();
    await delivered();
    const both = bothMessages(order, { orderValue: 80, publisherCommission: 5, epi: 'spring' });
    expect(messagesAbout(order)).toEqual(toParties(both));
  });

  it('also after an automatic approval, with the values claimed (decisions C11)', async () => {
    const order = 'approved by the clock';
    await claims.create(order);
    now += 30 * DAY - 1;
    await automate();
    await delivered();
    expect(messagesAbout(order)).toEqual(toParties([]));
    now += 1;
    await automate();
    await delivered();
    const both = bothMessages(order, { orderValue: 100, publisherCommission: 7.5 });
    expect(messagesAbout(order)).toEqual(toParties(both));
  });

  it('in the currency that was claimed, though the program is paused and has another one by now', async () => {
    const order = 'in euros';
    const [program] = CLAIM_NETWORK.programs;
    await approve(await claims.create(order));
    await app.import({ programs: [{ ...program, currency: 'GBP', status: 'paused' }] });
    await automate();
    await delivered();
    await app.import({ programs: [{ ...program, status: 'active' }] });
    const both = bothMessages(order, { orderValue: 100, publisherCommission: 7.5 });
    expect(messagesAbout(order)).toEqual(toParties(both));
  });

  it('but nothing if the order was tracked meanwhile: only the messages about its report', async () => {
    const order = 'tracked meanwhile';
    await approve(await claims.create(order));
    await conversions.create(order, { timeOfEvent: now - 60_000 });
    await delivered();
    const told = messagesAbout(order);
    expect(told.get('nord')).toMatchObject([
      { messageTypeId: 1, eventId: 301 },
      { messageTypeId: 4, eventId: 301 },
    ]);
    await automate();
    await delivered();
    expect(messagesAbout(order)).toEqual(told);
    const listed = (await conversions.get(`;orderNumber=${order}`)).json<readonly Values[]>();
    expect(listed).toMatchObject([{ messageTypeId: 4, eventId: 301 }]);
  });
});
