import { type Message, type Outcome, whyUnsendable } from '../../domain/deliveries/delivery-events';
import { type Clock } from '../../runtime/clock';
import { type MessageCache } from './message-cache';
import { type Sendable } from './lane';
import { cancelledOutcome, outcomeWithout } from './outcome';
import { type OwnedPartition } from './owned-partition';
import { type ReceiverState } from './receiver-state';
import { type Recipients } from './recipients';
import { type Permission } from './scheduler';

interface OldParts {
  readonly clock: Clock;
  readonly partitions: Iterable<OwnedPartition>;
  readonly cache: MessageCache;
  readonly recipients: Recipients;
  readonly record: (
    partition: OwnedPartition,
    outcome: Outcome,
    about: { readonly message: Message },
  ) => Promise<void>;
}

/** Messages of a partition that expire at once. */
const MOST = 1_000;

/**
 * Makes dead letters of messages that were made before a time (epoch ms) and are neither delivered nor in flight, held
 * or not, attempted or not: soon they are deleted from the log (`docs/decisions.md#n8`). Ends redeliveries of those
 * that are held. Returns how many there were, at most 1,000 of each partition, once that is durable. Raises
 * `EngineUnavailable`.
 */
export async function expireOld(
  { clock, partitions, record, ...parts }: OldParts,
  before: number,
): Promise<number> {
  let count = 0;
  for (const partition of partitions) {
    let left = MOST;
    for await (const { message, permission, ...sendable } of expired(partition, before, parts)) {
      const outcome = outcomeOf({ ...sendable, message }, permission, clock.wall());
      partition.expiring.add(sendable.revision);
      await record(partition, outcome, { message });
      count += 1;
      left -= 1;
      if (left === 0) break;
    }
    await partition.writer.flush();
    partition.expiring.clear();
  }
  return count;
}

/** Messages of a partition that were due before a time and are not in flight. */
async function* expired(
  { inFlight, state: { receivers } }: OwnedPartition,
  before: number,
  { cache, recipients }: Pick<OldParts, 'cache' | 'recipients'>,
): AsyncGenerator<Sendable & { readonly permission: Permission }> {
  for (const [id, state] of receivers) {
    for (const open of openOf(state)) {
      for (const sendable of open) {
        const { revision } = sendable;
        const message = cache.get(revision) ?? (await cache.load(revision));
        // It may have been sent while it was read.
        if (message === undefined || !isOpen(state, sendable)) continue;
        // Those after it are newer.
        if (Date.parse(message.made ?? message.at) >= before) break;
        if ([...inFlight].some((started) => started.revision === revision)) continue;
        const permission = recipients.permission(message.subscriptionId, id, message, sendable.redelivery);
        if (permission !== 'hold' && sendable.redelivery !== undefined) continue;
        yield { ...sendable, message, permission };
      }
    }
  }
}

function outcomeOf(sendable: Sendable, permission: Permission, now: number): Outcome {
  if (permission === 'cancel' || permission === 'withdraw')
    return cancelledOutcome(sendable, permission, now);
  // A redelivery leaves the message as it is.
  const end = sendable.redelivery === undefined ? 'dead' : 'failed';
  if (permission === 'hold') return outcomeWithout(sendable, end, now, HELD);
  const { message } = sendable;
  const why = message.awaitsRate === undefined ? EXPIRED : `it expired while ${whyUnsendable(message)}`;
  return outcomeWithout(sendable, end, now, why);
}

const HELD = 'it was held until it expired';
const EXPIRED = 'it expired before it could be sent';

type Open = Omit<Sendable, 'message'>;

/** What is to be sent, each list from the oldest on. */
function openOf({ queue, retries, redeliveries }: ReceiverState): readonly Iterable<Open>[] {
  const byAge = (a: Open, b: Open): number => a.revision - b.revision;
  return [
    Array.from(retries.keys(), (revision): Open => ({ kind: 'retry', revision })).sort(byAge),
    queued(queue),
    Array.from(redeliveries, ([redelivery, revision]): Open => ({
      kind: 'redelivery',
      revision,
      redelivery,
    })).sort(byAge),
  ];
}

function isOpen({ queue, retries, redeliveries }: ReceiverState, { revision, redelivery }: Open): boolean {
  return redelivery === undefined
    ? queue.has(revision) || retries.has(revision)
    : redeliveries.has(redelivery);
}

function* queued(queue: ReceiverState['queue']): Generator<Open> {
  for (let revision = queue.after(-1); revision !== undefined; revision = queue.after(revision))
    yield { kind: 'first', revision };
}
