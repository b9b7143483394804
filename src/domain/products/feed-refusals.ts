import { type Decider, type EventOf, execute } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Fault } from '../../kernel/fault';
import { type Clock } from '../../runtime/clock';
import { type FeedImport } from './feed';

/**
 * The category of a feed's second stream, `feedrefusals-22`: posts that were refused as a whole. They change no
 * product, and must not wait for a load in progress (`docs/decisions.md#x35`).
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export const REFUSALS = 'feedrefusals';

export type RefusalEvent = EventOf<'FeedImportRefused', RefusedImport>;

type RefusedImport = Pick<FeedImport, 'importId' | 'mode' | 'at' | 'durationMs' | 'faults'>;

const decider: Decider<RefusedImport, null, RefusalEvent> = {
  category: REFUSALS,
  initial: null,
  supersedes: () => true,
  decide: (data) => [{ type: 'FeedImportRefused', data }],
  evolve: () => null,
};

/** Records posts that are refused as a whole. */
export class FeedRefusals {
  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
  ) {}

  /** Call when a post begins. The returned function records that it was refused, and returns the log position. */
  begin(feedId: number, mode: FeedImport['mode']): (fault: Fault) => Promise<Position | undefined> {
    const started = this.clock.wall();
    return async ({ code, message }) => {
      const now = this.clock.now();
      const { position } = await execute(this.clock, this.log, decider, feedId, {
        importId: this.clock.uuid(),
        mode,
        at: now.toISOString(),
        durationMs: now.getTime() - started,
        faults: [{ code, message }],
      });
      return position;
    };
  }
}
