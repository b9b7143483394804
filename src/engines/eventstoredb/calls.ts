import {
  BACKWARDS,
  END,
  excludeSystemEvents,
  FORWARDS,
  START as FIRST,
  streamNameFilter,
} from '@eventstore/db-client';
import { type Position, START } from '../../kernel/event';
import { type ReadingClient } from './connection';
import { Messages } from './messages';

/** How many messages may wait to be taken from a call. */
const WAITING = { highWaterMark: 64 };

/** Events a server looks through until it tells how far it has come. */
const WINDOW = { maxSearchWindow: 256, checkpointInterval: 1 };

/** A follower may not have yet what has been appended: it would show an end of the log that is in the past. */
const WHERE = { requiresLeader: true } as const;

/** What nothing is called: a filter has to have a prefix. */
const NOTHING = ['$nothing'];

/** The events of a stream from a revision on, or back from it; from its start or its end where none is given. */
export function readStream(
  { current: client, silence }: ReadingClient,
  stream: string,
  { from, backwards, limit }: { from: number | undefined; backwards: boolean; limit: number },
  signal: AbortSignal,
): Messages {
  const reading = client.readStream(
    stream,
    {
      fromRevision: from === undefined ? (backwards ? END : FIRST) : BigInt(from),
      direction: backwards ? BACKWARDS : FORWARDS,
      maxCount: Math.min(limit, Number.MAX_SAFE_INTEGER),
      ...WHERE,
    },
    WAITING,
  );
  return new Messages(reading, () => reading.cancel(), signal, silence);
}

/** So many events of the whole log before a position, or before its end, the last one first. */
export function readBackwards(
  { current: client, silence }: ReadingClient,
  before: Position | undefined,
  limit: number,
  signal: AbortSignal,
): Messages {
  const reading = client.readAll(
    {
      fromPosition: before === undefined ? END : positionFrom(before),
      direction: BACKWARDS,
      maxCount: Math.min(limit, Number.MAX_SAFE_INTEGER),
      ...WHERE,
    },
    WAITING,
  );
  return new Messages(reading, () => reading.cancel(), signal, silence);
}

/** All events after a position, and those to come, of streams with one of the prefixes. */
export function subscribe(
  { current: client, silence }: ReadingClient,
  after: Position,
  prefixes: readonly string[] | undefined,
  signal: AbortSignal,
): Messages {
  const filter =
    prefixes === undefined
      ? excludeSystemEvents(WINDOW)
      : streamNameFilter({ prefixes: prefixes.length === 0 ? NOTHING : [...prefixes], ...WINDOW });
  const fromPosition = after === START ? FIRST : positionFrom(after);
  const subscription = client.subscribeToAll({ fromPosition, filter, ...WHERE }, WAITING);
  return new Messages(subscription, () => subscription.unsubscribe(), signal, silence);
}

/** What is written over gRPC is prepared where it is committed. */
function positionFrom(position: Position): { readonly commit: bigint; readonly prepare: bigint } {
  const commit = BigInt(position);
  return { commit, prepare: commit };
}
