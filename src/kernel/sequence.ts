import { appendIdempotently, toDomainEvent, toNewEvent } from './decider';
import { NO_STREAM, streamOf } from './event';
import { type EventLog, RevisionConflict } from './event-log';

/**
 * A block of integers that a process has taken for itself, the bounds included.
 *
 * Name and shape of this event are the storage format: add, never rename.
 */
interface IdsAllotted {
  readonly type: 'IdsAllotted';
  readonly data: { readonly from: number; readonly to: number };
}

/** Integers taken at once: as many may be left out when a process ends. */
const BLOCK = 100;

/**
 * Integers from 1, each given once, by whatever process: those of a process ascend. They are taken from the stream
 * `sequence-<name>` in blocks.
 */
export class Sequence {
  private upcoming = 1;
  private last = 0;
  private taking: Promise<void> | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly name: string,
  ) {}

  async next(): Promise<number> {
    while (this.upcoming > this.last) {
      this.taking ??= this.takeBlock().finally(() => (this.taking = undefined));
      await this.taking;
    }
    this.upcoming += 1;
    return this.upcoming - 1;
  }

  /** Another process that is faster has moved the end on: it is looked for again. */
  private async takeBlock(): Promise<void> {
    const stream = streamOf('sequence', this.name);
    for (;;) {
      const { revision, to: before } = await this.end(stream);
      const data = { from: before + 1, to: before + BLOCK };
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

  private async end(stream: string): Promise<{ readonly revision: number; readonly to: number }> {
    for await (const [event] of this.log.readStream(stream, { backwards: true, limit: 1 })) {
      if (event === undefined) break;
      const { data } = toDomainEvent(event) as IdsAllotted;
      return { revision: event.revision, to: data.to };
    }
    return { revision: NO_STREAM, to: 0 };
  }
}
