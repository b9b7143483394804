import { type Outcome, partitionStream } from '../../../src/domain/deliveries/delivery-events';
import { eventsOf } from '../../../src/kernel/decider';
import { OwnedPartition, takePartition } from '../../../src/delivery/scheduling/owned-partition';
import { PartitionState } from '../../../src/delivery/scheduling/partition-state';
import { type Started } from '../../../src/delivery/scheduling/scheduler';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { LeaseHolder } from '../../../src/runtime/lease-holder';
import { runnerWorld } from './runner-world';

describe('A partition', () => {
  const world = runnerWorld();

  /** One with a message in flight. */
  function busyPartition() {
    const lease = new LeaseHolder(SYSTEM_CLOCK, world.engines.leases, 'l', 'one', 1_000);
    const taken = { state: new PartitionState(), revision: -1 };
    const events = {
      durable: () => undefined,
      saving: () => undefined,
      lost: () => undefined,
      trouble: () => undefined,
    };
    const partition = new OwnedPartition(1, { lease, term: 0 }, world.deliveries, taken, () => events);
    const started = {} as Started;
    partition.inFlight.add(started);
    return { partition, started };
  }

  /** Waits longer than the test may take. */
  const waitTwice = async (partition: OwnedPartition) =>
    await Promise.all([partition.idle(600_000), partition.idle(600_000)]);

  it('has everyone go on who waits, once nothing is in flight (decisions N3)', async () => {
    const { partition, started } = busyPartition();
    const waiting = waitTwice(partition);
    partition.done(started);
    await expect(waiting).resolves.toHaveLength(2);
  });

  it('has everyone go on who waits, once it is lost, and nobody wait then (decisions N3)', async () => {
    const { partition } = busyPartition();
    const waiting = waitTwice(partition);
    partition.abort();
    await expect(waiting).resolves.toHaveLength(2);
    await expect(waitTwice(partition)).resolves.toHaveLength(2);
  });

  it('holds a retry until the success of a redelivery is durable, whatever else of the message is (decisions N3, N14)', () => {
    const { partition, started } = busyPartition();
    const outcome = { receiver: 'r', revision: 7 } as Outcome;
    const failed: Outcome = { ...outcome, outcome: 'failed', attempt: 1 };
    const delivered: Outcome = { ...outcome, outcome: 'delivered', redelivery: 9, isManual: true };
    for (const one of [failed, delivered]) partition.appending(one, started);
    const kinds = ['retry', 'redelivery'] as const;
    const isOver = () => kinds.map((kind) => partition.isOver({ revision: 7, kind }));
    expect(isOver()).toEqual([true, false]);
    partition.appended(failed);
    expect(isOver()).toEqual([true, false]);
    partition.appended(delivered);
    expect(isOver()).toEqual([false, false]);
  });

  it('is not taken over by a process that was paused meanwhile, and whose lease is over (decisions N3)', async () => {
    const { deliveries } = world;
    const take = (owner: string, hasLease: () => Promise<boolean>) =>
      takePartition(SYSTEM_CLOCK, deliveries, 2, { owner, hasLease });
    // It is paused after it has read the partition, or when it has not yet.
    const isOvertaken = async () => (await take('two', async () => true)) !== undefined;
    let looks = 0;
    const one = await take('one', async () => ++looks === 1 && (await isOvertaken()));
    expect(one).toBeUndefined();
    expect(await take('one', async () => false)).toBeUndefined();
    const owners: unknown[] = [];
    for await (const event of eventsOf(deliveries, partitionStream(2)))
      owners.push((JSON.parse(event.data) as { readonly owner: string }).owner);
    expect(owners).toEqual(['two']);
  });
});
