import { CONVERSION_TOKENS } from './transaction-network';
import { type Copy, subscription, SUBSCRIPTIONS, subscriptionWorld } from './subscription-network';
import { refusalOf } from './voucher-network';

const world = subscriptionWorld();
const { post, remove, ids } = world;
const MOST = 100;

it('racing posts over two processes create 100 subscriptions of an organisation, and no more (decisions N15)', async () => {
  const other = await world.app.again();
  const request = {
    method: 'POST',
    url: `${SUBSCRIPTIONS}?token=${CONVERSION_TOKENS.nord}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(subscription()),
  } as const;
  const posts = Array.from({ length: MOST + 30 }, (_, at) =>
    at % 2 === 0 ? post(subscription()) : other.inject(request),
  );
  const answers = await Promise.all(posts);
  await other.close();
  const created = answers.filter(({ statusCode }) => statusCode === 201);
  const distinct = new Set(created.map((answer) => answer.json<Copy>().subscriptionId));
  expect([created.length, distinct.size, await ids()]).toEqual([
    MOST,
    MOST,
    expect.arrayContaining([...distinct]),
  ]);
  const refused = answers.filter(({ statusCode }) => statusCode !== 201).map(refusalOf);
  expect(new Set(refused.map(({ codes }) => codes))).toEqual(new Set(['400 CON_350']));
  expect(refused[0]?.message).toBe(
    'you have 100 subscriptions: expected at most that many; delete one first',
  );
  // Others are not concerned.
  expect((await post(subscription(), 'casa')).statusCode).toBe(201);
});

it('the place of a deleted one is free for another, with an id that no other ever had (decisions N15)', async () => {
  const before = await ids();
  expect(before).toHaveLength(MOST);
  const seen = new Set(before);
  let last = before[7]!;
  for (let round = 0; round < 9; round += 1) {
    expect((await remove(last)).statusCode).toBe(200);
    const answer = await post(subscription());
    expect(answer.statusCode).toBe(201);
    last = answer.json<Copy>().subscriptionId;
    expect(seen.has(last)).toBe(false);
    seen.add(last);
    expect((await post(subscription())).statusCode).toBe(400);
  }
  expect(await ids()).toEqual([...before.filter((id) => id !== before[7]), last]);
});
