import { type Directory } from '../directory/directory';
import { DIRECTORY_PREFIXES } from '../directory/events';
import { directoryAt } from '../directory/fold';
import { type Position, type RecordedEvent } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { Arrival } from './arrival';
import { type GenerationFold } from './generation-fold';
import { TooManyParked } from './parked';

/** Hears of a projection that has left the pass: it stays at its checkpoint, the others continue. */
export type OnLeave = (fold: GenerationFold, error: TooManyParked) => void;

/**
 * One way through the log for several projections, each at its own checkpoint: read and parsed once, folded by all.
 * It carries the directory as of exactly the position it has reached.
 */
export class LogPass {
  private hasLost = false;

  private constructor(
    /** Those that it still folds for. */
    private folds: readonly GenerationFold[],
    readonly directory: Directory,
    /** Where to read on. */
    private reached: Position,
    private readonly onLeave: OnLeave,
  ) {}

  /** Begins at the least of the checkpoints. `onLeave`: by default one that leaves ends the pass. */
  static async open(
    log: EventLog,
    folds: readonly GenerationFold[],
    onLeave: OnLeave = (_, error) => {
      throw error;
    },
  ): Promise<LogPass> {
    const checkpoints = folds.map(({ checkpoint }) => checkpoint);
    const least = checkpoints.reduce((a, b) => (a < b ? a : b), await log.head());
    return new LogPass(folds, await directoryAt(log, least), least, onLeave);
  }

  get position(): Position {
    return this.reached;
  }

  /** One has left, and all others are ahead of it: they continue with a pass of their own, which skips what they have. */
  get isOver(): boolean {
    return this.hasLost && this.folds.every(({ checkpoint }) => checkpoint > this.reached);
  }

  /** The streams it needs. */
  get prefixes(): readonly string[] {
    return [
      ...new Set([...DIRECTORY_PREFIXES, ...this.folds.flatMap(({ projection }) => projection.streams)]),
    ];
  }

  /**
   * Folds a batch, and all checkpoints with it; what comes of it is still being written when it returns. Where the
   * directory changes, what came before is written first. An abort leaves it half done, to be done again from the
   * checkpoints.
   */
  async take(batch: EventBatch, signal?: AbortSignal): Promise<void> {
    const { events } = batch;
    for (let from = 0, to = 0; from < events.length; from = to) {
      const isChange = changesDirectory(events[from]);
      while (to < events.length && changesDirectory(events[to]) === isChange) to += 1;
      const run = events.slice(from, to);
      const upTo = to === events.length ? batch.position : (run.at(-1)?.position ?? this.reached);
      if (isChange) await this.change(run, upTo, signal);
      else await this.fold(run, upTo);
      this.reached = upTo;
    }
    await this.each((fold) => fold.advance(batch.position));
    this.reached = batch.position;
  }

  /** Does something for each projection, one after the other; one with too many parked documents leaves the pass. */
  async each(work: (fold: GenerationFold) => Promise<void>): Promise<void> {
    for (const fold of this.folds) await this.unlessLeft(fold, work(fold));
  }

  /** Waits until everything taken has been written, or could not be. */
  async written(): Promise<void> {
    const ends = this.folds.map((fold) => this.unlessLeft(fold, fold.written()));
    for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason;
  }

  private async unlessLeft(fold: GenerationFold, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof TooManyParked)) throw error;
      this.folds = this.folds.filter((other) => other !== fold);
      this.hasLost = true;
      this.onLeave(fold, error);
    }
  }

  private async change(run: readonly RecordedEvent[], upTo: Position, signal?: AbortSignal): Promise<void> {
    const changes = run.flatMap((event) => this.directory.apply(event));
    await this.each((fold) => fold.fanOut(changes, this.directory, upTo, signal));
  }

  private async fold(run: readonly RecordedEvent[], upTo: Position): Promise<void> {
    const arrivals = run.map((event) => new Arrival(event));
    await this.each(async (fold) => {
      if (fold.checkpoint < upTo) await fold.take(arrivals, this.directory, upTo);
    });
  }
}

function changesDirectory(event: RecordedEvent | undefined): boolean {
  return event !== undefined && DIRECTORY_PREFIXES.some((prefix) => event.stream.startsWith(prefix));
}
