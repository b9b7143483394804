import { type Decider, load } from '../kernel/decider';
import { type EventLog } from '../kernel/event-log';

/**
 * An operator excluded an event from a projection. It is an event in the stream `projection-<name>`, so a rebuild
 * and a copy of the log honour it too (`docs/decisions.md#x47`).
 *
 * Its name and shape are the storage format: add, never rename.
 */
export interface EventSkipped {
  readonly type: 'EventSkipped';
  readonly data: Skip;
}

/** `at` is an ISO 8601 instant. */
export interface Skip {
  readonly event: string;
  readonly stream: string;
  /** The document that it belongs to, if the event names one. */
  readonly document?: string;
  readonly reason: string;
  readonly by: string;
  readonly at: string;
}

/** The state is the set of skipped events; skipping one of them again appends nothing. */
export const skipDecider: Decider<Skip, ReadonlySet<string>, EventSkipped> = {
  category: 'projection',
  initial: new Set(),
  decide: (skip, skipped) => (skipped.has(skip.event) ? [] : [{ type: 'EventSkipped', data: skip }]),
  evolve: (skipped, { data }) => new Set([...skipped, data.event]),
};

/** Ids of the events that a projection skips. */
export async function skippedEvents(log: EventLog, projection: string): Promise<ReadonlySet<string>> {
  return (await load(log, skipDecider, projection)).state;
}
