import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { openLogAt } from '../../src/engines/open';
import { continuationOf } from '../../src/delivery/matching/cursor';
import { requestStream } from '../../src/domain/subscriptions/delivery-requests';
import { messageIdOf } from '../../src/domain/subscriptions/receiver-id';
import { formerIdOf } from '../../src/domain/transactions/transaction-id';
import { streamOf } from '../contracts/event-log/events';
import { at, deliveryWorld, type Sample } from '../api/delivery-samples';
import { GET_RECEIVER, POST_RECEIVER } from '../api/subscription-network';
import { transactionClientOf } from '../api/transaction-network';
import { copyFolder } from '../support/log-folder';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf } from '../support/temporary-log';
import { run, type Run } from './run';

const { world, history, settled, sample } = deliveryWorld();
const { create } = transactionClientOf(() => world.app);

const notifications = (...args: readonly string[]): Promise<Run> =>
  run(['notifications', ...args], { DATA_DIR: world.app.folder });

let nord: Sample;
let deals: Sample;
beforeAll(async () => {
  nord = await sample('nord', { receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }] });
  deals = await sample('deals');
});

test('affilog notifications deliveries lists messages, newest first, and selects them', async () => {
  const one = await nord.due('t-1', { at: at(1) });
  await history().outcome(one, { outcome: 'failed', error: 'status 500', next: at(5) });
  const subject = formerIdOf('T-2_301_1');
  const two = await deals.due('t-2', { subject, at: at(2), stateId: 6 });
  await settled();

  const lines = [
    `${at(2)}\t${two.id}\ttransaction ${subject}\tstate 6\treceiver ${two.receiver}\tdue\n`,
    `${at(1)}\t${one.id}\ttransaction t-1\tstate 1\treceiver ${one.receiver}\tretrying (1 attempt, status 500, again at ${at(5)})\n`,
  ];
  expect(await notifications('deliveries')).toEqual({ code: 0, out: lines.join(''), err: '' });
  const { out } = await notifications('deliveries', '--json', '--most', '1');
  expect(JSON.parse(out)).toMatchObject({ messageId: two.id, transactionId: subject, state: 'due' });
  const receivers = (await notifications('receivers', '--json')).out.trim().split('\n');
  expect(receivers.map((line) => (JSON.parse(line) as { receiverId: string }).receiverId)).toContain(
    one.receiver,
  );
  for (const args of [
    ['--most', '1'],
    ['--state', 'due'],
    ['--organisation', '12'],
    ['--subscription', deals.id],
    ['--receiver', two.receiver],
    ['--transaction', subject],
    ['--transaction', 'T-2_301_1'],
  ])
    expect((await notifications('deliveries', ...args)).out).toBe(lines[0]);
  expect(await notifications('deliveries', '--state', 'sent')).toMatchObject({ code: 2 });
  expect(await notifications('deliveries', '--most', '0')).toMatchObject({
    code: 2,
    err: expect.stringContaining('Expected an integer of at least 1.') as string,
  });
  expect((await notifications('deliveries', '--most', '1')).err).toBe(
    'affilog: 1 of 2 messages; --most lists more\n',
  );
});

test('affilog notifications subscriptions and show list whom there is to notify, and one message', async () => {
  const { code, out, err } = await notifications('subscriptions', '--organisation', '12');
  expect([code, err]).toEqual([0, '']);
  const [first = '', ...receivers] = out.trimEnd().split('\n');
  expect(first.split('\t').slice(0, 3)).toEqual([deals.id, 'organisation 12', 'transactions']);
  expect(receivers.map((line) => line.trim().split('\t')[0])).toEqual(deals.receivers);
  expect(out).not.toContain('receiverBody');
  expect((await notifications('subscriptions', '--subscription', 'none')).err).toContain(
    'no such subscriptions',
  );
  const due = await deals.due('shown');
  await settled();
  const shown = JSON.parse((await notifications('show', due.id)).out) as object;
  expect(shown).toMatchObject({ transactionId: 'shown', state: 'due', request: { method: 'POST' } });
  expect(await notifications('show', 'msg_none')).toMatchObject({
    ...{ code: 2, err: 'affilog: msg_none: expected the id of a message that is still kept\n' },
  });
});

test('what is not found is said on standard error, so that lists stay empty', async () => {
  expect(await notifications('deliveries', '--subscription', '7')).toEqual({
    ...{ code: 0, out: '', err: 'affilog: no messages found\n' },
  });
  expect(await notifications('receivers', '--subscription', '7')).toEqual({
    ...{ code: 0, out: '', err: 'affilog: nothing has been sent to any such receiver\n' },
  });
});

test('where there are no read models yet, an error says who builds them', async () => {
  const empty = await temporaryFolder();
  expect(await run(['notifications', 'deliveries'], { DATA_DIR: empty })).toEqual({
    ...{ code: 1, out: '' },
    err: 'affilog: no generation of deliveries is live: a server builds missing read models when it starts, and so does `affilog rebuild all`\n',
  });
  await removeFolder(empty);
});

test('affilog notifications receivers lists counts, and since when a receiver fails', async () => {
  const { out } = await notifications('receivers', '--subscription', nord.id);
  expect(out).toBe(
    `${nord.receivers[0]!}\thttps://shop.example:8443\torganisation 1\tsubscription ${nord.id}\t1 attempt, 1 failed, 0 delivered, 0 dead\tfailing since ${at(1)}: status 500\n`,
  );
});

test('affilog notifications says until when a receiver rests, and names claims (decisions N7, C13)', async () => {
  const casa = await sample('casa');
  const claim = await casa.due('57', { topic: 'claims', at: at(3), stateId: 201 });
  const now = Date.now();
  for (let attempt = 1; attempt <= 5; attempt += 1)
    await history().outcome(claim, {
      ...{ outcome: 'failed', attempt, ms: 0, isTimeout: true, error: 'timeout' },
      ...{ at: new Date(now).toISOString(), next: new Date(now + 5_000).toISOString() },
    });
  await settled();
  const until = new Date(now + 30_000).toISOString();
  const { out } = await notifications('deliveries', '--claim', '57');
  expect(out).toBe(
    `${at(3)}\t${claim.id}\tclaim 57\tstate 201\treceiver ${claim.receiver}\tretrying (5 attempts, timeout, again at ${until})\n`,
  );
  const receivers = await notifications('receivers', '--subscription', casa.id);
  expect(receivers.out).toContain('\t5 attempts, 5 failed, 0 delivered, 0 dead\t');
  expect(receivers.out).toContain(`\tresting until ${until}\n`);
});

test('affilog notifications redeliver-all counts what was given up in a time, asks, and has it sent again (decisions X152)', async () => {
  const casa = await sample('casa');
  const { id, receivers } = casa;
  const given = async (subject: string, minute: number, receiver = receivers[0]!): Promise<void> => {
    await history().outcome(await casa.due(subject, { at: at(minute), receiver }), {
      outcome: 'dead',
      attempt: 10,
    });
  };
  await given('r1', 1);
  await given('r2', 2);
  await given('r3', 3, receivers[1]);
  await given('late', 50);
  await settled();
  const all = (...args: readonly string[]) =>
    notifications('redeliver-all', id, '--since', at(0), '--until', at(9), ...args);
  expect(await all('--dry-run')).toEqual({ code: 0, out: '3 messages would be sent again\n', err: '' });
  expect((await all('--dry-run', '--receiver', receivers[1]!)).out).toBe('1 messages would be sent again\n');
  expect(await all()).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      '3 messages will be sent again: nothing has been changed; add --yes',
    ) as string,
  });
  expect(await casa.requests('RedeliveryRequested')).toEqual([]);
  expect((await all('--receiver', receivers[1]!, '--yes')).out).toBe('1 messages will be sent again\n');
  expect((await all('--yes', '--json')).out).toBe('{"requested":2,"remaining":0}\n');
  expect(await casa.requests('RedeliveryRequested')).toHaveLength(3);
  expect((await all('--yes')).out).toBe('0 messages would be sent again\n');
  for (const [args, message] of [
    [['7', '--since', at(0), '--until', at(9)], '7: expected the id of a subscription'],
    [[id, '--since', at(9), '--until', at(0)], 'minTime is '],
    [[id, '--since', at(0), '--until', at(9), '--receiver', 'x'], 'x: expected one of '],
    [[id, '--since', at(0)], '--until'],
  ] as const)
    expect(await notifications('redeliver-all', ...args)).toMatchObject({
      code: 2,
      err: expect.stringContaining(message) as string,
    });
  const { out } = await run(['actions', '--action', 'notifications redeliver-all'], {
    DATA_DIR: world.app.folder,
  });
  expect(out.trimEnd().split('\n')).toHaveLength(2);
});

test('affilog notifications redeliver asks for a message again (decisions N14)', async () => {
  const message = await nord.due('again');
  await history().outcome(message, { outcome: 'dead', attempt: 10 });
  await settled();
  const { code, out } = await notifications('redeliver', message.id);
  expect(code).toBe(0);
  const [, nextAttempt] = /^(?:\S+) will be sent again at once: next attempt at (\S+Z)\n$/.exec(out) ?? [];
  const answered = await nord.post(`/deliveries/${message.id}/redeliver`);
  expect(answered.json<object>()).toHaveProperty('redeliveryRequested', nextAttempt);
  const held = await nord.due('held', { receiver: nord.receivers[1]! });
  await settled();
  expect(await notifications('redeliver', held.id)).toMatchObject({
    out: `${held.id} will be sent again when its receiver is enabled\n`,
  });
  const events = await streamOf(world.app.engines.log, requestStream(nord.id));
  expect(JSON.parse(events.at(-2)!.data)).toMatchObject({
    ...{ receiver: message.receiver, message: message.id, revision: message.revision },
  });

  expect(await notifications('redeliver', 'msg_7')).toMatchObject({
    code: 2,
    err: expect.stringContaining('msg_7: expected the id of a message') as string,
  });
  const unsendable = await nord.due('unsendable', {
    request: undefined,
    unsendable: 'its URL is too long',
  } as object);
  await settled();
  expect(await notifications('redeliver', unsendable.id)).toMatchObject({
    code: 2,
    err: `affilog: ${unsendable.id} cannot be sent: its URL is too long\n`,
  });
  const other = await nord.due('other', {
    receiver: nord.receivers[0]!.replace(/./, (first) => (first === 'v' ? 'u' : 'v')),
  });
  await settled();
  expect(await notifications('redeliver', other.id)).toMatchObject({
    code: 2,
    err: expect.stringContaining('no longer has the receiver') as string,
  });
});

test('affilog notifications explain says why messages about a transaction were sent, or not', async () => {
  const excluding = await sample('nord', { filter: { messageTypeIds: [6, 8], siteIds: [1102] } });
  const { transactionId } = await create('E-1');
  const later = await sample('preisblickAll');
  const transitions = await streamOf(world.app.engines.log, `transaction-${transactionId}`);
  const pending = transitions.at(-1)!;
  const [receiver = '', disabled = ''] = nord.receivers;
  const id = messageIdOf(pending.id, receiver);
  const own = { subscriptionId: nord.id, organisationId: 1, receiver, subject: transactionId };
  const message = await history().due('explained', { ...own, id, at: at(0) });
  await history().outcome(message);
  await settled();

  const { out, code } = await notifications('explain', transactionId);
  expect(code).toBe(0);
  expect(out.split('\n').slice(-7)).toEqual([
    expect.stringMatching(/^\d  \S+  Pending \(4\)$/),
    `   subscription ${nord.id} of organisation 1: matched`,
    `      receiver ${receiver}: ${id} delivered (1 attempt, last status 200)`,
    `      receiver ${disabled}: disabled by its owner at that time, so no message was made`,
    `   subscription ${excluding.id} of organisation 1: not matched: messageTypeIds 6, 8 without 4; siteIds 1102 without 1101`,
    expect.stringContaining(`   subscription ${later.id} of organisation 11: created later, at `),
    '',
  ]);
  expect(out).toMatch(`transaction ${transactionId}\n`);

  const only = await notifications('explain', 'E-1_301_1', '--subscription', deals.id);
  expect(only.out).toContain(
    `   subscription ${deals.id} of organisation 12: its organisation is no party of the transaction: these are organisations 1, 11`,
  );
  expect(only.out).not.toContain(nord.id);
  expect((await notifications('explain', transactionId, '--subscription', '7')).out).toContain(
    'there has never been a subscription 7 to transactions',
  );
  expect(await notifications('explain', 'nothing')).toMatchObject({ code: 2 });
  expect(await run(['why', 'delivery', 'E-1'], { DATA_DIR: world.app.folder })).toEqual(
    await notifications('explain', transactionId),
  );
});

describe('affilog notifications own', () => {
  let folder: string;
  let copy: string;
  const own = (dataDir: string, ...args: readonly string[]): Promise<Run> =>
    run(['notifications', 'own', ...args], { DATA_DIR: dataDir });

  beforeEach(async () => {
    [folder, copy] = [await temporaryFolder(), await temporaryFolder()];
    await world.app.engines.log.head();
    await cp(join(world.app.folder, 'log.sqlite'), join(folder, 'log.sqlite'));
  });
  afterEach(async () => {
    for (const one of [folder, copy]) await removeFolder(one);
  });

  test('makes a copy the installation that sends, once', async () => {
    expect(await own(folder, '--yes')).toMatchObject({
      code: 0,
      out: 'notifications are sent from here now\n',
    });
    await copyFolder(folder, copy);
    expect(await own(copy)).toMatchObject({
      code: 2,
      out: '',
      err: 'affilog: notifications will be sent from here: nothing has been changed; add --yes to confirm\n',
    });
    expect(await own(copy, '--yes')).toMatchObject({
      code: 0,
      out: 'notifications are sent from here now\n',
    });
    expect(await own(copy, '--yes')).toMatchObject({
      code: 0,
      out: 'notifications are sent from here already: nothing has been changed\n',
    });
  });

  test('leaves what has happened in a copy without a delivery log unsent', async () => {
    await own(folder, '--yes');
    const log = await openLogAt('sqlite:', folder, 'EVENT_LOG');
    const deliveries = await openLogAt('sqlite:', copy, 'EVENT_LOG');
    const { cursor } = await continuationOf(deliveries, log);
    // What comes after it: the end of the operator's action.
    const [last] = (await eventsOf(log)).filter(({ position }) => position > cursor.upTo);
    expect(last?.type).toBe('OperatorActionEnded');
    await log.close();
    await deliveries.close();
  });
});
