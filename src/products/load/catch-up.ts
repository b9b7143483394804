import { type EventLog } from '../../kernel/event-log';
import { applyChange, toChange } from './changes';
import { type Fingerprints } from './fingerprints';

/** Folded in some 10 ms: long enough to get on beside feeds that are being loaded, short enough for them. */
const BATCH = 5000;

/** Folds what a stream has after the fingerprints' revision, pausing between batches so that other feeds are served. */
export async function catchUp(log: EventLog, stream: string, prints: Fingerprints): Promise<void> {
  for await (const batch of log.readStream(stream, { from: prints.revision + 1, batchSize: BATCH })) {
    for (const event of batch) {
      const change = toChange(event);
      if (change !== undefined) applyChange(prints, change);
      prints.revision = event.revision;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
