import { appendIdempotently, toDomainEvent, toNewEvent } from './decider';
import { NO_STREAM, streamOf } from './event';
import { type EventLog, RevisionConflict } from './event-log';

/**
 * A block of integers allotted to one process, bounds included.
 *
 * The name and shape of this event are the storage format: add, never rename.
 */
interface IdsAllotted {
  readonly type: 'IdsAllotted';
  readonly data: { readonly from: number; readonly to: number };
}

/** Integers per block. Those unused when a process ends are lost. */
const BLOCK_SIZE = 100;

/**
 * Unique integers from 1, shared by all processes and ascending within each. Processes allot blocks of them in the stream
 * `sequence-<name>`.
 */
export class Sequence {
  private upcoming = 1;
  private last = 0;
  private allotting: Promise<void> | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly name: string,
  ) {}

  async next(): Promise<number> {
    while (this.upcoming > this.last) {
      this.allotting ??= this.allotBlock().finally(() => (this.allotting = undefined));
      await this.allotting;
    }
    this.upcoming += 1;
    return this.upcoming - 1;
  }

  /** On a conflict another process has allotted a block: read the new end and try again. */
  private async allotBlock(): Promise<void> {
    const stream = streamOf('sequence', this.name);
    for (;;) {
      const { revision, to: end } = await this.readEnd(stream);
      const data = { from: end + 1, to: end + BLOCK_SIZE };
      const event = toNewEvent({ type: 'IdsAllotted', data } satisfies IdsAllotted);
      try {
        await appendIdempotently(this.log, stream, revision, [event]);
        this.upcoming = data.from;
        this.last = data.to;
        return;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }

  private async readEnd(stream: string): Promise<{ readonly revision: number; readonly to: number }> {
    for await (const [event] of this.log.readStream(stream, { backwards: true, limit: 1 })) {
      if (event === undefined) break;
      const { data } = toDomainEvent(event) as IdsAllotted;
      return { revision: event.revision, to: data.to };
    }
    return { revision: NO_STREAM, to: 0 };
  }
}
