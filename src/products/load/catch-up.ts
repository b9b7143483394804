import { DamagedLog, type EventLog } from '../../kernel/event-log';
import { applyChange, toChange } from './changes';
import { type Fingerprints } from './fingerprints';

/** Folded in some 10 ms: long enough to get on beside feeds that are being loaded, short enough for them. */
const BATCH = 5000;

/**
 * Folds what a stream has after the fingerprints' revision, pausing between batches so that other feeds are served.
 * False, and nothing folded, if they are not of this stream: another event, or none, is at their revision, since the
 * log was restored from an older backup or is another one. Raises `DamagedLog` if a revision is missing.
 */
export async function catchUp(log: EventLog, stream: string, prints: Fingerprints): Promise<boolean> {
  // The event at the revision itself is read too: its id is compared.
  let isChecked = prints.lastEvent === '';
  for await (const batch of log.readStream(stream, {
    from: Math.max(0, prints.revision),
    batchSize: BATCH,
  })) {
    for (const event of batch) {
      if (!isChecked) {
        if (event.revision !== prints.revision || event.id !== prints.lastEvent) return false;
        isChecked = true;
        continue;
      }
      if (event.revision !== prints.revision + 1)
        throw new DamagedLog(`${stream} has no event of revision ${prints.revision + 1}`);
      const change = toChange(event);
      if (change !== undefined) applyChange(prints, change);
      prints.revision = event.revision;
      prints.lastEvent = event.id;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return isChecked;
}
