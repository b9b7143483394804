import { randomUUID } from 'node:crypto';
import { messageTo, type Target } from '../../../bench/deliveries/due-messages';
import { type DomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import { MATCHED, partitionStream } from '../../../src/domain/deliveries/delivery-events';
import { continuationOf } from '../../../src/delivery/matching/cursor';
import { claimDeliveries } from '../../../src/domain/deliveries/ownership';
import { partitionOf } from '../../../src/domain/subscriptions/receiver-id';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { runnerWorld } from './runner-world';

const AT = '2026-03-01T12:00:00.000Z';

describe('An event of the delivery log that another program has written (decisions X103)', () => {
  const world = runnerWorld();
  const { start, targetsOf, ending, until, outcomes } = world;
  let sequence = 0;

  async function due(target: Target): Promise<void> {
    sequence += 1;
    const about = { subject: 't', sequence, cause: await world.engines.log.head() };
    await append(MATCHED, { type: 'MessageDue', data: messageTo(target, about) });
  }

  async function append(stream: string, event: DomainEvent): Promise<void> {
    let revision = NO_STREAM;
    for await (const batch of world.deliveries.readStream(stream)) revision = batch.at(-1)!.revision;
    await world.deliveries.append(stream, revision, [toNewEvent(event, randomUUID())]);
  }

  it.each([
    ['a message without anything', MATCHED, 'MessageDue', {}],
    ['a message without a request', MATCHED, 'MessageDue', { id: 'm' }],
    ['a message with half a request', MATCHED, 'MessageDue', { id: 'm', request: {} }],
    ['a redelivery of nothing', MATCHED, 'RedeliveryDue', {}],
    ['a probe at no time', MATCHED, 'ProbeDue', {}],
    ['a cursor without a position', MATCHED, 'Matched', {}],
    ['an outcome of nothing', 'partition', 'MessageAttempted', {}],
    [
      'an outcome that there is not',
      'partition',
      'MessageAttempted',
      { id: 'm', revision: 0, outcome: 'x', at: AT },
    ],
    ['a snapshot without parts', 'partition', 'PartitionSaved', {}],
    [
      'a snapshot that is none',
      'partition',
      'PartitionSaved',
      { part: 1, parts: 1, matchedUpTo: 9, receivers: [null] },
    ],
  ] as const)('does not stop the sending of others, nor a take-over: %s', async (_, to, type, data) => {
    const [target] = await targetsOf(1);
    const { receiver } = target!;
    const stream = to === 'partition' ? partitionStream(partitionOf(receiver)) : to;
    const poison = { type, data: { receiver, ...data } };
    await append(stream, poison);
    await due(target!);
    const { attempts, attempt } = ending({ status: 200 });
    const first = start('one', attempt);
    await until(() => attempts.length === 1);
    // While it runs, its own appends to its partition conflict with others.
    if (to === MATCHED) await append(stream, poison);
    await due(target!);
    await until(() => attempts.length === 2);
    await first.stop();
    await append(stream, poison);
    await due(target!);
    start('two', attempt);
    await until(() => attempts.length === 3);
    await until(async () => (await outcomes()).filter(({ outcome }) => outcome === 'delivered').length === 3);
    expect(new Set(attempts.map(({ id }) => id)).size).toBe(3);
  });

  it('is no cursor, and names no owner', async () => {
    const { log } = world.engines;
    const cursor = { upTo: await log.head(), messages: 0 };
    await append(MATCHED, { type: 'Matched', data: cursor });
    await append(MATCHED, { type: 'Matched', data: { upTo: 'x', messages: 0 } });
    await append(MATCHED, { type: 'Matched', data: { ...cursor, event: 5 } });
    expect(await continuationOf(world.deliveries, log)).toMatchObject({ cursor, revision: 2, complete: 0 });
    const owner = { installation: 'here', key: 'k' };
    expect(await claimDeliveries(SYSTEM_CLOCK, log, owner)).toBeUndefined();
    await log.append('deliveries-owner', 0, [
      toNewEvent({ type: 'DeliveriesOwned', data: { at: AT } }, randomUUID()),
    ]);
    expect(await claimDeliveries(SYSTEM_CLOCK, log, owner)).toBeUndefined();
  });
});
