import { NO_STREAM } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Sieve } from './filter';
import { metastreamOf, storedName } from './names';
import { BATCH, readStream } from './read-events';
import { Refusal } from './refusal';
import { type ShownEvent, TOMBSTONE, toShown } from './stored-event';
import { lastOf } from './stream-state';

/** Some events of a subscription, and how far the log has been seen with them. */
export interface Followed {
  readonly events: readonly ShownEvent[];
  /** Everything up to here has been seen; undefined where that is not to be told. */
  readonly checkpoint: string | undefined;
  /** Nothing more was there, for the first time or again. */
  readonly caughtUp: boolean;
}

/**
 * All events after a position that pass, then those to come. A filtered one is told how far it has come when it has
 * caught up, and whenever about `interval` events have been looked through since.
 */
export async function* followAll(
  log: EventLog,
  from: string | undefined,
  sieve: Sieve,
  interval: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const after = from ?? (await log.head());
  const { prefixes } = sieve;
  let told = after;
  let live = false;
  let looked = 0;
  for await (const batch of log.subscribe({
    after,
    signal,
    batchSize: BATCH,
    ...(prefixes && { prefixes }),
  })) {
    const events = sieve.passing(batch.events.map(toShown));
    const caughtUp = batch.caughtUp && !live;
    // How many events of other streams the log has passed over is not known: of the past it is many.
    looked += live ? Math.max(1, batch.events.length) : BATCH;
    told = events.at(-1)?.position ?? told;
    const due = interval !== undefined && (caughtUp || looked >= interval) && batch.position > told;
    if (due) told = batch.position;
    if (due || caughtUp) looked = 0;
    yield { events, checkpoint: due ? batch.position : undefined, caughtUp };
    live = batch.caughtUp;
  }
}

/** The events of a stream from a revision on, then those to come, until the stream is ended for ever. */
export async function* followStream(
  log: EventLog,
  stream: string,
  from: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const head = await log.head();
  let next = from ?? ((await lastOf(log, stream))?.revision ?? NO_STREAM) + 1;
  const part = { from: next, backwards: false, count: Infinity };
  for await (const events of (await readStream(log, stream, part)) ?? []) {
    yield { events, checkpoint: undefined, caughtUp: false };
    next = Number(events.at(-1)?.revision ?? next - 1) + 1;
  }
  let live = false;
  const own = storedName(stream);
  const about = storedName(metastreamOf(stream));
  for await (const batch of log.subscribe({
    after: head,
    prefixes: [own, about],
    batchSize: BATCH,
    signal,
  })) {
    const fresh = batch.events.filter((event) => event.stream === own && event.revision >= next);
    yield { events: fresh.map(toShown), checkpoint: undefined, caughtUp: batch.caughtUp && !live };
    live = batch.caughtUp;
    if (batch.events.some((event) => event.stream === about && event.type === storedName(TOMBSTONE)))
      throw new Refusal({ kind: 'stream-deleted', stream });
  }
}
