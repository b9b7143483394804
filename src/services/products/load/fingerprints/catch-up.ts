import { DamagedLog, type EventLog } from '../../../../kernel/event-log';
import { type CurrencyAt, evolve } from '../../../../domain/products/feed';
import { parseChange } from '../../../../domain/products/feed-codec';
import { type Fingerprints } from '../../../../domain/products/fingerprints';

/** Events folded without a pause, in some 10 ms: other feeds that are being loaded wait no longer. */
const BATCH = 5000;

/**
 * Folds the events of a stream after the state's revision. Returns false, with nothing folded, if the state is not of
 * this stream: another event, or none, is at its revision, since the log was restored from an older backup or replaced.
 * Raises `DamagedLog` if a revision is missing.
 */
export async function catchUp(
  log: EventLog,
  stream: string,
  state: Fingerprints,
  currencyAt?: CurrencyAt,
): Promise<boolean> {
  // The event at the revision itself is read too, to compare its id.
  let isVerified = state.lastEvent === '';
  for await (const batch of log.readStream(stream, {
    from: Math.max(0, state.revision),
    batchSize: BATCH,
  })) {
    for (const event of batch) {
      if (!isVerified) {
        if (event.revision !== state.revision || event.id !== state.lastEvent) return false;
        isVerified = true;
        continue;
      }
      if (event.revision !== state.revision + 1)
        throw new DamagedLog(`${stream} has no event of revision ${state.revision + 1}`);
      const change = parseChange(event, currencyAt);
      if (change !== undefined) evolve(state, change);
      state.revision = event.revision;
      state.lastEvent = event.id;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return isVerified;
}
