import { execute } from '../../src/kernel/decider';
import { messageIdOf } from '../../src/domain/subscriptions/receiver-id';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { at, deliveryWorld, type Due, type Sample } from '../api/delivery-samples';
import { GET_RECEIVER, POST_RECEIVER } from '../api/subscription-network';
import { transactionClientOf } from '../api/transaction-network';
import { streamOf } from '../contracts/event-log/events';
import { run } from './run';

const { world, history, settled, sample } = deliveryWorld();
const { create } = transactionClientOf(() => world.app);

const linesOf = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { out } = await run(['notifications', ...args], { DATA_DIR: world.app.folder });
  return out.trimEnd().split('\n');
};

async function disable({ id, receivers }: Sample): Promise<void> {
  const command = { do: 'disableReceiver', at: at(9), receiver: receivers[0]!, reason: 'gone' } as const;
  await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, command);
}

/** Five time-outs, after which the receiver rests. */
async function failing(message: Due): Promise<void> {
  const now = Date.now();
  for (let attempt = 1; attempt <= 5; attempt += 1)
    await history().outcome(message, {
      ...{ outcome: 'failed', attempt, ms: 0, isTimeout: true, error: 'timeout' },
      ...{ at: new Date(now).toISOString(), next: new Date(now + 5_000).toISOString() },
    });
}

let nord: Sample;
let messages: readonly Due[];
beforeAll(async () => {
  nord = await sample('nord', { receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }] });
  const { transactionId } = await create('H-1');
  const [receiver = '', ofOwner = ''] = nord.receivers;
  const pending = (await streamOf(world.app.engines.log, `transaction-${transactionId}`)).at(-1)!;
  messages = [
    await nord.due('first', { subject: transactionId, id: messageIdOf(pending.id, receiver) }),
    await nord.due('second', { at: at(1), receiver: ofOwner }),
    await nord.due('third', { at: at(2) }),
  ];
  await failing(messages[0]!);
  await history().outcome(messages[2]!, { at: at(3) });
  await disable(nord);
  await settled();
});

test('a message to a disabled receiver is held: it has no time of a next attempt (decisions N8, N17)', async () => {
  const [third, second, first, ...others] = await linesOf('deliveries', '--subscription', nord.id);
  expect(third).toMatch(/\tdelivered \(1 attempt, last status 200\)$/);
  expect(second).toMatch(/\tdue \(held: its receiver is disabled\)$/);
  expect(first).toMatch(/\tretrying \(5 attempts, timeout, held: its receiver is disabled\)$/);
  expect(others).toEqual([]);
});

test('explain says the same (decisions N8, N17)', async () => {
  const lines = await linesOf('explain', messages[0]!.subject, '--subscription', nord.id);
  expect(lines).toContain(
    `      receiver ${nord.receivers[0]!}: ${messages[0]!.id} retrying (5 attempts, timeout, held: its receiver is disabled)`,
  );
});

test('receivers names those that are disabled: they do not rest (decisions N7, N8)', async () => {
  const [line, ...others] = await linesOf('receivers', '--subscription', nord.id);
  expect(line).toMatch(/\tdisabled, 1 message held$/);
  expect(line).not.toContain('resting');
  expect(others).toEqual([]);
});
