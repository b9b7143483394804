import { type Message, type Outcome } from '../delivery-events';
import { type MessageCache } from './message-cache';
import { type Sendable } from './lane';
import { outcomeWithout } from './outcome';
import { type OwnedPartition } from './owned-partition';
import { type ReceiverState } from './receiver-state';
import { type Recipients } from './recipients';

interface HeldParts {
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
 * Makes dead letters of messages that are held and were due before a time (epoch ms), attempted or not: soon they are deleted from the
 * log (`docs/decisions.md#n8`). Ends redeliveries of such messages. Returns how many there were, at most 1,000 of each partition, once
 * that is durable. Raises `EngineUnavailable`.
 */
export async function expireHeld(
  { partitions, record, ...parts }: HeldParts,
  before: number,
): Promise<number> {
  let count = 0;
  for (const partition of partitions) {
    let left = MOST;
    for await (const { message, ...sendable } of expired(partition, before, parts)) {
      // A redelivery leaves the message as it is.
      const end = sendable.redelivery === undefined ? 'dead' : 'failed';
      const outcome = outcomeWithout({ ...sendable, message }, end, Date.now(), EXPIRED);
      await record(partition, outcome, { message });
      count += 1;
      left -= 1;
      if (left === 0) break;
    }
    await partition.writer.flush();
  }
  return count;
}

/** Messages of a partition that are held and were due before a time. */
async function* expired(
  { inFlight, state: { receivers } }: OwnedPartition,
  before: number,
  { cache, recipients }: Pick<HeldParts, 'cache' | 'recipients'>,
): AsyncGenerator<Sendable> {
  const attempted = new Set(Array.from(inFlight, ({ revision }) => revision));
  for (const [id, state] of receivers) {
    for (const held of heldBy(state)) {
      for (const sendable of held) {
        const { revision } = sendable;
        if (attempted.has(revision)) continue;
        if (cache.get(revision) === undefined && !(await cache.load(revision))) continue;
        const message = cache.get(revision);
        // Those after it are newer.
        if (message === undefined || Date.parse(message.at) >= before) break;
        if (recipients.permission(message.subscriptionId, id, message.cause) !== 'hold') break;
        yield { ...sendable, message };
      }
    }
  }
}

const EXPIRED = 'it was held until it expired';

type Held = Omit<Sendable, 'message'>;

/** What may be held, each list from the oldest on. */
function heldBy({ queue, retries, redeliveries }: ReceiverState): readonly Iterable<Held>[] {
  const byAge = (a: Held, b: Held): number => a.revision - b.revision;
  return [
    Array.from(retries.keys(), (revision): Held => ({ kind: 'retry', revision })).sort(byAge),
    queued(queue),
    Array.from(redeliveries, ([redelivery, revision]): Held => ({
      kind: 'redelivery',
      revision,
      redelivery,
    })).sort(byAge),
  ];
}

function* queued(queue: ReceiverState['queue']): Generator<Held> {
  for (let revision = queue.after(-1); revision !== undefined; revision = queue.after(revision))
    yield { kind: 'first', revision };
}
