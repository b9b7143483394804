import { isDeepStrictEqual } from 'node:util';
import { type FieldType } from '../src/kernel/read-store';
import { MATCHED, type MatchedEvent, type PartitionEvent } from '../src/domain/deliveries/delivery-events';
import { afterOutcome, afterProbeRequest, type Health, HEALTHY } from '../src/domain/deliveries/health';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  /** The last attempt, epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export interface StoredHealth {
  readonly at: string;
  readonly health: Health;
}

type HealthChange = Extract<
  MatchedEvent | PartitionEvent,
  { readonly type: 'MessageAttempted' | 'ProbeDue' }
>;

/**
 * How long (ms) a receiver without attempts keeps its health here. Rests last up to 15 minutes and retries wait up to
 * 29 hours; without a limit, a rebuild would not know what live read models have from events that have expired.
 */
const REMEMBERED_MS = 2 * 24 * 60 * 60 * 1000;

/** The health of each receiver, by its id, folded from the outcomes that senders fold too (`docs/decisions.md#n7`). */
export const receiverHealth: Projection<StoredHealth, HealthChange> = {
  collection: { name: 'receiver-health', version: 2, fields: FIELDS, sorts: [] },
  streams: [MATCHED, 'partition-'],
  acrossStreams: true,
  handles: ['MessageAttempted', 'ProbeDue'],
  expires: { field: 'at', at: ({ at }) => Date.parse(at) },
  usesDirectory: false,
  idOf: ({ data: { receiver } }) => receiver,
  fold(before, { type, data }) {
    if (type === 'ProbeDue') return before && afterProbe(before, Date.parse(data.at));
    const isRecent = before !== undefined && Date.parse(data.at) - Date.parse(before.at) <= REMEMBERED_MS;
    const known = isRecent ? before.health : HEALTHY;
    const health = afterOutcome(known, data);
    // Not by identity: a document that was stored meanwhile has a copy.
    return isDeepStrictEqual(health, known) ? before : { at: data.at, health };
  },
  describe: (document) => ({ document, fields: { at: Date.parse(document.at) } }),
};

function afterProbe(before: StoredHealth, at: number): StoredHealth {
  const health = afterProbeRequest(before.health, at);
  return health === before.health ? before : { ...before, health };
}
