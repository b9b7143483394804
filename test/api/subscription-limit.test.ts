import { execute } from '../../src/kernel/decider';
import { type SubscriptionContent, subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { CONVERSION_TOKENS } from './transaction-network';
import {
  type Copy,
  POST_RECEIVER,
  subscription,
  SUBSCRIPTIONS,
  subscriptionWorld,
} from './subscription-network';
import { refusalOf } from './voucher-network';

const world = subscriptionWorld();
const { post, put, remove, ids } = world;
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

describe('the settings of a subscription (decisions N15)', () => {
  const LIMIT = 128 * 1024;
  /** As stored. */
  const content = (receiverBody: string): SubscriptionContent => ({
    filter: { stateIds: [4, 6] },
    receivers: ['ä'.repeat(30_000), 'ö'.repeat(30_000), receiverBody].map((body) => ({
      ...POST_RECEIVER,
      receiverFormat: 'custom',
      receiverBody: body,
    })),
  });
  const sizeOf = (stored: SubscriptionContent) => Buffer.byteLength(JSON.stringify(stored));
  const largest = LIMIT - sizeOf(content(''));
  const posted = (receiverBody: string) => subscription({ receivers: content(receiverBody).receivers });
  const refusal = (size: number) => ({
    codes: '400 CON_350',
    message:
      `the settings have ${size} bytes as JSON in UTF-8: expected at most ${LIMIT}; ` +
      'shorten them, or create several subscriptions',
  });

  it('have 128 KiB as JSON at most, when it is created and when it is replaced', async () => {
    expect(refusalOf(await post(posted('x'.repeat(largest + 1)), 'casa'))).toEqual(refusal(LIMIT + 1));
    const answer = await post(posted('x'.repeat(largest)), 'casa');
    expect(answer.statusCode).toBe(201);
    const { subscriptionId: id } = answer.json<Copy>();
    // In JSON a line break has two bytes.
    const longer = posted('x'.repeat(largest - 1) + '\n');
    expect(refusalOf(await put(id, longer, 'casa'))).toEqual(refusal(LIMIT + 1));
    expect((await put(id, posted('y'.repeat(largest)), 'casa')).statusCode).toBe(200);
    await remove(id, 'casa');
  });

  it('may be replaced by ones that are no larger, if they were accepted before that was limited', async () => {
    const { subscriptionId: id } = (await post(subscription(), 'casa')).json<Copy>();
    const large = content('x'.repeat(largest + 500));
    await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, {
      do: 'replace',
      at: '2026-03-01T12:00:00.000Z',
      subscriptionId: id,
      subscription: large,
    });
    expect((await put(id, posted('y'.repeat(largest + 500)), 'casa')).statusCode).toBe(200);
    expect(refusalOf(await put(id, posted('y'.repeat(largest + 501)), 'casa'))).toEqual(refusal(LIMIT + 501));
    expect((await put(id, posted('y'.repeat(largest + 400)), 'casa')).statusCode).toBe(200);
    await remove(id, 'casa');
  });
});
