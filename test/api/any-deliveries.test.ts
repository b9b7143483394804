import { execute } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { CONVERSION_TOKENS } from './transaction-network';
import { at, deliveryWorld, type Due, type Json } from './delivery-samples';
import { OTHER_TOKENS, TOKENS } from './network';
import { GET_RECEIVER, POST_RECEIVER } from './subscription-network';

const { world, history, settled, sample } = deliveryWorld();

const ask = (path: string, token: string = OTHER_TOKENS.operator) =>
  world.app.get(`/ops/1.0/${path}`, { token });
const list = async (path: string): Promise<readonly Json[]> => (await ask(path)).json<readonly Json[]>();
const subjects = async (keys: string): Promise<readonly unknown[]> =>
  (await list(`deliveries;${keys}`)).map(({ transactionId }) => transactionId);

let nord: Awaited<ReturnType<typeof sample>>;
let deals: typeof nord;
let messages: readonly Due[];
beforeAll(async () => {
  nord = await sample('nord', { receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }] });
  deals = await sample('deals');
  const [, second = ''] = nord.receivers;
  messages = [
    await nord.due('n0'),
    await nord.due('n1', { at: at(1), receiver: second, stateId: 4 }),
    await deals.due('d0', { at: at(2) }),
    await deals.due('d1', { at: at(3) }),
  ];
  await history().outcome(messages[2]!, { outcome: 'dead', attempt: 10, at: at(-30), error: 'timeout' });
  await history().outcome(messages[3]!, { at: at(1) });
  await history().outcome(messages[0]!, { outcome: 'failed', at: at(-24) });
  await settled();
});

test('operators list the messages of all organisations, newest first, without what was sent (decisions N14)', async () => {
  const answer = await ask('deliveries');
  expect(answer.headers['x-total-count']).toBe('4');
  expect(answer.json()).toMatchObject([
    { organisationId: 12, subscriptionId: deals.id, transactionId: 'd1', state: 'delivered' },
    { organisationId: 12, transactionId: 'd0', state: 'dead', lastError: 'timeout' },
    { organisationId: 1, subscriptionId: nord.id, transactionId: 'n1', state: 'due', held: true },
    { organisationId: 1, transactionId: 'n0', state: 'retrying', held: false },
  ]);
  expect(answer.body).not.toContain('receiver.example');
});

test('they are selected by organisation, subscription and the keys of owners (decisions N14)', async () => {
  expect(await subjects('organisationId=1')).toEqual(['n1', 'n0']);
  expect(await subjects(`subscriptionId=${deals.id}`)).toEqual(['d1', 'd0']);
  expect(await subjects('state=due,dead')).toEqual(['d0', 'n1']);
  expect(await subjects(`receiverId=${nord.receivers[0]!}`)).toEqual(['n0']);
  expect(await subjects('transactionId=d0,n0')).toEqual(['d0', 'n0']);
  expect(await subjects('messageTypeId=4')).toEqual(['n1']);
  expect(await subjects(`minTime=${at(1)};maxTime=${at(2)}`)).toEqual(['d0', 'n1']);
  expect(await subjects(`minTime=${at(1)};maxTime=2026-03-01`)).toEqual(await subjects(`minTime=${at(1)}`));
  const first = await ask('deliveries;pageSize=3;cursor=*');
  const next = String(first.headers['x-next-cursor']);
  expect(await subjects(`pageSize=3;cursor=${next}`)).toEqual(['n0']);
  expect((await ask('deliveries;pageSize=0')).statusCode).toBe(400);
  expect((await ask('deliveries;state=held')).statusCode).toBe(400);
});

test('messages about claims have the names of claims, and are found by them only (decisions C13)', async () => {
  const claim = await sample('casa');
  await claim.due('57', { topic: 'claims', at: at(4), stateId: 4 });
  await settled();
  const keys = `subscriptionId=${nord.id},${claim.id}`;
  const [one] = await list(`deliveries;${keys};pageSize=1`);
  expect(one).toMatchObject({ claimId: '57', statusId: 4 });
  expect(one).not.toHaveProperty('transactionId');
  expect(one).not.toHaveProperty('messageTypeId');
  const found = async (key: string) =>
    (await list(`deliveries;${keys};${key}`)).map(({ transactionId, claimId }) => transactionId ?? claimId);
  expect(await found('messageTypeId=4')).toEqual(['n1']);
  expect(await found('statusId=4')).toEqual(['57']);
  expect(await found('claimId=57')).toEqual(['57']);
  expect(await found('transactionId=57')).toEqual([]);
  expect(await found('statusId=4;messageTypeId=4')).toEqual([]);
});

test('operators list all receivers with the sums of their days, the last used first (decisions N14)', async () => {
  expect(await list('receivers')).toEqual([
    {
      ...{ organisationId: 12, subscriptionId: deals.id, receiverId: deals.receivers[0] },
      ...{ disabled: false, attempts: 2, failed: 1, delivered: 1, dead: 1 },
      lastSuccess: { time: at(1), status: 200 },
      lastFailure: { time: at(-30), status: 500, error: 'timeout' },
    },
    {
      ...{ organisationId: 1, subscriptionId: nord.id, receiverId: nord.receivers[0] },
      ...{ disabled: false, attempts: 1, failed: 1, delivered: 0, dead: 0, failingSince: at(-24) },
      lastFailure: { time: at(-24), status: 500 },
    },
  ]);
  const ids = async (keys: string) => (await list(`receivers;${keys}`)).map(({ receiverId }) => receiverId);
  expect(await ids('organisationId=12')).toEqual([deals.receivers[0]]);
  expect(await ids(`subscriptionId=${nord.id}`)).toEqual([nord.receivers[0]]);
  const first = await ask('receivers;pageSize=1;cursor=*');
  expect(first.headers['x-total-count']).toBe('2');
  expect(await ids(`pageSize=1;cursor=${String(first.headers['x-next-cursor'])}`)).toHaveLength(1);
});

test('nobody but operators may ask (decisions N11)', async () => {
  for (const token of [...Object.values(CONVERSION_TOKENS), ...Object.values(TOKENS)])
    for (const path of ['deliveries', 'receivers']) {
      const answer = await ask(path, token);
      expect(answer.statusCode).toBe(403);
      expect(answer.body).not.toContain('transactionId');
    }
});

test('operators see until when a receiver rests, and when its messages are attempted (decisions N7)', async () => {
  const resting = await sample('casa');
  const message = await resting.due('resting', { at: at(9) });
  for (let attempt = 1; attempt <= 5; attempt += 1)
    await history().outcome(message, { outcome: 'failed', at: at(10), ms: 0, isTimeout: true, next: at(10) });
  await settled();
  const restingUntil = new Date(Date.parse(at(10)) + 30_000).toISOString();
  const keys = `subscriptionId=${resting.id}`;
  expect(await list(`receivers;${keys}`)).toMatchObject([{ receiverId: resting.receivers[0], restingUntil }]);
  expect(await list(`deliveries;${keys}`)).toMatchObject([{ nextAttempt: restingUntil }]);

  const disabling = {
    do: 'disableReceiver',
    at: at(10),
    receiver: message.receiver,
    reason: 'gone',
  } as const;
  await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, resting.id, disabling);
  const [receiver] = await list(`receivers;${keys}`);
  const [held] = await list(`deliveries;${keys}`);
  expect(receiver).toHaveProperty('disabled', true);
  expect(receiver).not.toHaveProperty('restingUntil');
  expect(held).toMatchObject({ state: 'retrying', held: true });
  expect(held).not.toHaveProperty('nextAttempt');
});
