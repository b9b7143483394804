import { randomUUID } from 'node:crypto';
import { type RecordedEvent, streamOf } from '../../../../kernel/event';
import { type EventLog } from '../../../../kernel/event-log';
import { emptyTally, FEED, type FeedImport, type Tally } from '../../../../domain/products/feed';
import { contentOf } from '../../../../domain/products/feed-codec';
import { FeedWriter, type WriteItem } from '../append/feed-writer';
import { digestOf, type Fingerprints } from '../../../../domain/products/fingerprints';
import { type LoadHistory, type Undo } from './load-history';

export interface RestoreOptions {
  readonly log: EventLog;
  readonly feedId: number;
  /** The load to undo, found. */
  readonly history: LoadHistory;
  readonly now: () => Date;
  /** Stops it between two appends. */
  readonly signal: AbortSignal;
}

/** What was undone, and the id of the load that did it, which is absent if there was nothing to undo. */
export interface Restored {
  readonly loadId?: string;
  readonly tally: Tally;
}

/** Events read without a pause. */
const BATCH = 1000;

/**
 * Undoes a load: appends events that bring its products back as they were before it, except those that have changed since
 * (`docs/decisions.md#x89`), and closes with a `FeedImported` that publishes a version. Each append is complete in
 * itself: what was interrupted is completed by repeating it, and repeating what is complete appends nothing.
 *
 * `state` is current as of the end of the feed's stream. Other writers may append meanwhile. Raises `EngineUnavailable`.
 */
export async function restoreLoad(state: Fingerprints, options: RestoreOptions): Promise<Restored> {
  const { log, feedId, history, now, signal } = options;
  // Read after the state: it knows every change that the state knows.
  await history.catchUp();
  const started = now();
  const writer = new FeedWriter(log, feedId, state, started.toISOString(), signal, {
    currencyAt: history.currencyAt,
    onCatchUp: () => history.catchUp(),
  });
  for await (const item of itemsOf(options)) {
    writer.refuseAfterStop();
    await writer.add(item);
  }
  const loadId = randomUUID();
  await writer.settle((tally) => {
    if (changesIn(tally) === 0) return undefined;
    return { type: 'FeedImported', data: importOf(tally, { loadId, history, started, ended: now() }) };
  });
  const { tally } = writer;
  return { ...(changesIn(tally) > 0 ? { loadId } : {}), tally };
}

interface Ended extends Pick<RestoreOptions, 'history'> {
  readonly loadId: string;
  readonly started: Date;
  readonly ended: Date;
}

function importOf(tally: Tally, { loadId, history, started, ended }: Ended): FeedImport {
  const { new: listed, revised, repriced, unchanged, removed } = tally;
  const restores = history.found?.importId;
  return {
    importId: loadId,
    mode: 'update',
    at: ended.toISOString(),
    durationMs: ended.getTime() - started.getTime(),
    new: listed,
    revised,
    repriced,
    unchanged,
    removed,
    refused: 0,
    faults: [],
    ...(restores === undefined ? {} : { restores }),
  };
}

function changesIn({ new: listed, revised, repriced, removed }: Tally): number {
  return listed + revised + repriced + removed;
}

/** Removals first, then what needs content, in the order in which that is in the stream. */
async function* itemsOf({ log, feedId, history }: RestoreOptions): AsyncGenerator<WriteItem> {
  const isStill = (product: number) => () => !history.hasChangedSince(product);
  for (const { sourceProductId, difference, product } of history.undos())
    if (difference === 'removed')
      yield { kind: 'delist', product: { sourceProductId }, applies: isStill(product) };
  const { new: listed, revised, repriced } = countUndos(history);
  let left = listed + revised + repriced;
  if (left === 0) return;
  for await (const events of log.readStream(streamOf(FEED, feedId), { batchSize: BATCH })) {
    for (const event of events) {
      const restored = history.restoredBy(event);
      if (restored === undefined) continue;
      yield postOf(event, restored, isStill(restored.product));
      left -= 1;
    }
    if (left === 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function postOf(
  { data }: RecordedEvent,
  { sourceProductId, price, currency }: Undo & { readonly price: number; readonly currency: string },
  applies: () => boolean,
): WriteItem {
  const text = Buffer.from(contentOf(data));
  return {
    kind: 'post',
    product: { sourceProductId, price, content: digestOf(text) },
    currency,
    posted: undefined,
    text: () => text,
    textBytes: text.length,
    applies,
  };
}

/** How many products the load would be undone for, in which way. */
function countUndos(history: LoadHistory): Tally {
  const tally = emptyTally();
  for (const { difference } of history.undos()) tally[difference] += 1;
  return tally;
}
