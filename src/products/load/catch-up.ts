import { type EventLog } from '../../kernel/event-log';
import { applyChange, toChange } from './changes';
import { type Fingerprints } from './fingerprints';

/** Folds what a stream has after the fingerprints' revision, pausing between batches so that other feeds are served. */
export async function catchUp(log: EventLog, stream: string, prints: Fingerprints): Promise<void> {
  for await (const batch of log.readStream(stream, { from: prints.revision + 1 })) {
    for (const event of batch) {
      const change = toChange(event);
      if (change !== undefined) applyChange(prints, change);
      prints.revision = event.revision;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
