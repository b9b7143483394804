import { randomUUID } from 'node:crypto';
import { appendIdempotently } from '../kernel/decider';
import { NO_STREAM, type NewEvent, type Position, streamOf } from '../kernel/event';
import { type EventLog, RevisionConflict } from '../kernel/event-log';
import { type Fault } from '../kernel/fault';
import { type FeedImport } from './feed';

/**
 * The category of a feed's second stream, `feedrefusals-22`: posts that were refused as a whole. They change no product,
 * and must not wait for a load in progress (`docs/decisions.md#x35`).
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export const REFUSALS = 'feedrefusals';

export interface RefusalEvent {
  readonly type: 'FeedImportRefused';
  readonly data: RefusedImport;
}

type RefusedImport = Pick<FeedImport, 'importId' | 'mode' | 'at' | 'durationMs' | 'faults'>;

/** Records posts that are refused as a whole. */
export class FeedRefusals {
  constructor(
    private readonly log: EventLog,
    private readonly now: () => Date,
  ) {}

  /** Call when a post begins. The returned function records that it was refused, and returns the log position. */
  begin(feedId: number, mode: FeedImport['mode']): (fault: Fault) => Promise<Position> {
    const started = this.now().getTime();
    return async ({ code, message }) => {
      const now = this.now();
      const data: RefusedImport = {
        importId: randomUUID(),
        mode,
        at: now.toISOString(),
        durationMs: now.getTime() - started,
        faults: [{ code, message }],
      };
      return await this.append(streamOf(REFUSALS, feedId), {
        id: randomUUID(),
        type: 'FeedImportRefused' satisfies RefusalEvent['type'],
        data: JSON.stringify(data),
        meta: '{}',
      });
    };
  }

  private async append(stream: string, event: NewEvent): Promise<Position> {
    for (;;) {
      try {
        return (await appendIdempotently(this.log, stream, await this.revisionOf(stream), [event])).position;
      } catch (error) {
        // Another post was refused meanwhile.
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }

  private async revisionOf(stream: string): Promise<number> {
    for await (const [last] of this.log.readStream(stream, { backwards: true, limit: 1 }))
      return last?.revision ?? NO_STREAM;
    return NO_STREAM;
  }
}
