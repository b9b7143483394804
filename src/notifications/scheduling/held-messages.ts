import { type Message, type Outcome } from '../delivery-events';
import { type MessageCache } from './message-cache';
import { outcomeWithout } from './outcome';
import { type OwnedPartition } from './owned-partition';
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

/**
 * Makes dead letters of messages that are held and were due before a time (epoch ms): soon they are deleted from the log
 * (`docs/decisions.md#n8`). Raises `EngineUnavailable`.
 */
export async function expireHeld(
  { partitions, cache, recipients, record }: HeldParts,
  before: number,
): Promise<void> {
  for (const partition of partitions) {
    for (const [id, { queue }] of partition.state.receivers) {
      for (let revision = queue.after(-1); revision !== undefined; revision = queue.after(revision)) {
        if (cache.get(revision) === undefined) await cache.load(revision);
        const message = cache.get(revision);
        if (message === undefined || Date.parse(message.at) >= before) break;
        if (recipients.permission(message.subscriptionId, id, message.cause) !== 'hold') break;
        const sendable = { kind: 'first', revision, message } as const;
        const outcome = outcomeWithout(sendable, 'dead', Date.now(), 'it was held until it expired');
        await record(partition, outcome, { message });
      }
    }
  }
}
