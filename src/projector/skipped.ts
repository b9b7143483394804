import { type Decider } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';

/**
 * What operators have decided about the events of a projection, in its stream `projection-<name>`: it is kept with
 * the log, so that a rebuild and a log copied elsewhere know it too (`docs/decisions.md#x47`).
 *
 * Its name and shape are the storage format: add, never rename.
 */
export interface EventSkipped {
  readonly type: 'EventSkipped';
  readonly data: Skip;
}

/** `at` is an ISO 8601 instant. */
export interface Skip {
  /** Id of the event that this projection leaves out. */
  readonly event: string;
  /** The stream that it is in. */
  readonly stream: string;
  /** The document that it is about, if that could be told. */
  readonly document?: string;
  readonly reason: string;
  /** Who decided it. */
  readonly by: string;
  readonly at: string;
}

const CATEGORY = 'projection';

/** The state is what is skipped already: to skip it again is nothing to do. */
export const skipping: Decider<Skip, ReadonlySet<string>, EventSkipped> = {
  category: CATEGORY,
  initial: new Set(),
  decide: (skip, skipped) => (skipped.has(skip.event) ? [] : [{ type: 'EventSkipped', data: skip }]),
  evolve: (skipped, { data }) => new Set([...skipped, data.event]),
};

/** Ids of the events that the projection of this name leaves out. */
export async function skippedEvents(log: EventLog, projection: string): Promise<ReadonlySet<string>> {
  const skipped = new Set<string>();
  for await (const batch of log.readStream(streamOf(CATEGORY, projection)))
    for (const { data } of batch) skipped.add((JSON.parse(data) as Skip).event);
  return skipped;
}
