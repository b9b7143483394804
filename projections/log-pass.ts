import { type Directory } from '../src/directory/directory';
import { DIRECTORY_PREFIXES } from '../src/directory/events';
import { directoryAt } from '../src/directory/fold';
import { type Position, type RecordedEvent } from '../src/kernel/event';
import { type EventBatch, type EventLog } from '../src/kernel/event-log';
import { Arrival } from './arrival';
import { allWritten, type GenerationFold } from './generation-fold';

/**
 * One way through the log for several projections, each at its own checkpoint: read and parsed once, folded by all.
 * It carries the directory as of exactly the position it has reached.
 */
export class LogPass {
  private constructor(
    readonly folds: readonly GenerationFold[],
    readonly directory: Directory,
    /** Where to read on. */
    private reached: Position,
  ) {}

  /** Begins at the least of the checkpoints. */
  static async open(log: EventLog, folds: readonly GenerationFold[]): Promise<LogPass> {
    const least = folds.map(({ checkpoint }) => checkpoint).reduce((a, b) => (a < b ? a : b));
    return new LogPass(folds, await directoryAt(log, least), least);
  }

  get position(): Position {
    return this.reached;
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
    for (const fold of this.folds) await fold.advance(batch.position);
    this.reached = batch.position;
  }

  /** Waits until everything taken has been written, or could not be. */
  async written(): Promise<void> {
    await allWritten(this.folds);
  }

  private async change(run: readonly RecordedEvent[], upTo: Position, signal?: AbortSignal): Promise<void> {
    const changes = run.flatMap((event) => this.directory.apply(event));
    for (const fold of this.folds) await fold.fanOut(changes, this.directory, upTo, signal);
  }

  private async fold(run: readonly RecordedEvent[], upTo: Position): Promise<void> {
    const arrivals = run.map((event) => new Arrival(event));
    for (const fold of this.folds)
      if (fold.checkpoint < upTo) await fold.take(arrivals, this.directory, upTo);
  }
}

function changesDirectory(event: RecordedEvent | undefined): boolean {
  return event !== undefined && DIRECTORY_PREFIXES.some((prefix) => event.stream.startsWith(prefix));
}
