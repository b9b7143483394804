import { type FieldType } from '../src/kernel/read-store';
import { type PartitionEvent } from '../src/notifications/delivery-events';
import { afterOutcome, type Health, HEALTHY } from '../src/notifications/scheduling/health';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  /** The last attempt, epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export interface StoredHealth {
  /** When the last attempt began. */
  readonly at: string;
  readonly health: Health;
}

type Handled = Extract<PartitionEvent, { readonly type: 'MessageAttempted' }>;

/**
 * How long (ms) a receiver without attempts keeps its health here. Rests last up to 15 minutes and retries wait up to 29 hours; without a
 * limit, a rebuild would not know what live read models have from events that have expired.
 */
const REMEMBERED_MS = 2 * 24 * 60 * 60 * 1000;

/** How each receiver fares, by its id: as for those who send, since it is folded from the same outcomes (`docs/decisions.md#n7`). */
export const receiverHealth: Projection<StoredHealth, Handled> = {
  collection: { name: 'receiver-health', version: 1, fields: FIELDS, sorts: [] },
  streams: ['partition-'],
  handles: ['MessageAttempted'],
  expires: { field: 'at', at: ({ at }) => Date.parse(at) },
  idOf: ({ data: { receiver } }) => receiver,
  fold(before, { data }) {
    const isRecent = before !== undefined && Date.parse(data.at) - Date.parse(before.at) <= REMEMBERED_MS;
    const known = isRecent ? before.health : HEALTHY;
    const health = afterOutcome(known, data);
    return health === known ? before : { at: data.at, health };
  },
  describe: (document) => ({ document, fields: { at: Date.parse(document.at) } }),
};
