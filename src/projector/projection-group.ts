import { type Directory, directoryAt } from '../network/directory';
import { DIRECTORY_PREFIXES } from '../network/events';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { type Generation } from '../kernel/read-store';
import { type GenerationProjector } from './generation-projector';
import { type Parked, TooManyParked } from './parked';
import { directoryPrefixes, IncomingEvent, runsAhead } from './projection';

/** Called when a projection leaves the group: it stays at its checkpoint, the others continue. */
export type OnLeave = (projector: GenerationProjector, error: TooManyParked) => void;

/**
 * Several projections that read the log together, each with its own checkpoint: an event is read and parsed once.
 * The group also maintains the directory as of exactly the position it has reached.
 */
export class ProjectionGroup {
  private hasLost = false;

  private constructor(
    /** Those that have not left. */
    private projectors: readonly GenerationProjector[],
    readonly directory: Directory,
    private reached: Position,
    private readonly onLeave: OnLeave,
  ) {}

  /** Starts at the lowest checkpoint. Without `onLeave`, the first projection that leaves ends the pass. */
  static async open(
    log: EventLog,
    projectors: readonly GenerationProjector[],
    onLeave: OnLeave = (_, error) => {
      throw error;
    },
  ): Promise<ProjectionGroup> {
    const checkpoints = projectors.map(({ checkpoint }) => checkpoint);
    const lowest = checkpoints.reduce((a, b) => (a < b ? a : b), await log.head());
    const prefixes = directoryPrefixes(projectors.map(({ projection }) => projection));
    return new ProjectionGroup(projectors, await directoryAt(log, lowest, prefixes), lowest, onLeave);
  }

  /** The position to continue reading after. */
  get position(): Position {
    return this.reached;
  }

  /**
   * A projection has left, and all others are ahead of it. They continue faster in a new group, which starts at their
   * checkpoints.
   */
  get isFinished(): boolean {
    return this.hasLost && this.projectors.every(({ checkpoint }) => checkpoint > this.reached);
  }

  /** Those that have not left. */
  get generations(): readonly Generation[] {
    return this.projectors.map(({ generation }) => generation);
  }

  /** Whether it has not left. */
  has(projector: GenerationProjector): boolean {
    return this.projectors.includes(projector);
  }

  get prefixes(): readonly string[] {
    const streams = this.projectors.flatMap(({ projection }) => projection.streams);
    return [...new Set([...this.directoryPrefixes, ...streams])];
  }

  /** Of the streams with its directory. */
  get directoryPrefixes(): readonly string[] {
    return directoryPrefixes(this.projectors.map(({ projection }) => projection));
  }

  /** Whether any of them is projected ahead of the checkpoint. */
  get runsAhead(): boolean {
    return this.projectors.some(({ projection }) => runsAhead(projection));
  }

  /**
   * Applies a batch and advances all checkpoints. When this returns, its documents may still be being written, and
   * checkpoints of projections without any in the batch are not stored before `flush`.
   * Everything before a directory change is written before the change is applied. An aborted batch is applied again
   * from the checkpoints.
   */
  async apply(batch: Pick<EventBatch, 'events' | 'position'>, signal?: AbortSignal): Promise<void> {
    const { events } = batch;
    for (let from = 0, to = 0; from < events.length; from = to) {
      const isChange = changesDirectory(events[from]);
      while (to < events.length && changesDirectory(events[to]) === isChange) to += 1;
      const run = events.slice(from, to);
      const upTo = to === events.length ? batch.position : (run.at(-1)?.position ?? this.reached);
      if (isChange) await this.applyChanges(run, upTo, signal);
      else await this.applyEvents(run, upTo);
      this.reached = upTo;
    }
    for (const projector of this.projectors) projector.advance(batch.position);
    this.reached = batch.position;
  }

  /**
   * Applies events that are ahead of its position, one projection after the other, and writes them. Returns the
   * generations that have them. Of what `applyAhead` requires of the directory, the caller has made sure.
   */
  async applyAhead(events: readonly RecordedEvent[]): Promise<readonly Generation[]> {
    const incoming = events.map((event) => new IncomingEvent(event));
    const applied: GenerationProjector[] = [];
    for (const projector of this.projectors.filter(({ projection }) => runsAhead(projection))) {
      await this.orLeave(projector, projector.applyAhead(incoming, this.directory));
      if (this.has(projector)) applied.push(projector);
    }
    return applied.map(({ generation }) => generation);
  }

  /**
   * Retries the parked documents that are due: folds each from its first event up to the checkpoint. Those that fail
   * again stay parked. Call it between batches, when every projection is at the position of the group.
   */
  async retryDue(log: EventLog): Promise<void> {
    await this.forEach(async (projector) => {
      const due = projector.parked.takeDue(projector.checkpoint);
      if (due.length === 0) return;
      await projector.reproject(await eventsOf(log, projector, due), this.directory);
      await projector.parked.finishRetry(due, projector.checkpoint);
    });
  }

  /** Runs `work` for one projection after the other; one with too many parked documents leaves the group. */
  private async forEach(work: (projector: GenerationProjector) => Promise<void>): Promise<void> {
    for (const projector of this.projectors) await this.orLeave(projector, work(projector));
  }

  /** Waits until all projections have finished writing, their checkpoints too; then raises the first failure. */
  async flush(): Promise<void> {
    await this.ofAll((projector) => projector.flush());
  }

  /** As `flush`, without the checkpoints of projections that have nothing to write. */
  async written(): Promise<void> {
    await this.ofAll((projector) => projector.written());
  }

  private async ofAll(work: (projector: GenerationProjector) => Promise<void>): Promise<void> {
    const works = this.projectors.map((projector) => this.orLeave(projector, work(projector)));
    for (const result of await Promise.allSettled(works))
      if (result.status === 'rejected') throw result.reason;
  }

  private async orLeave(projector: GenerationProjector, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof TooManyParked)) throw error;
      this.projectors = this.projectors.filter((other) => other !== projector);
      this.hasLost = true;
      this.onLeave(projector, error);
    }
  }

  private async applyChanges(
    run: readonly RecordedEvent[],
    upTo: Position,
    signal?: AbortSignal,
  ): Promise<void> {
    const changes = run.flatMap((event) => this.directory.apply(event));
    await this.forEach((projector) => projector.fanOut(changes, this.directory, upTo, signal));
  }

  private async applyEvents(run: readonly RecordedEvent[], upTo: Position): Promise<void> {
    const incoming = run.map((event) => new IncomingEvent(event));
    await this.forEach(async (projector) => {
      if (projector.checkpoint < upTo) await projector.apply(incoming, this.directory, upTo);
    });
  }
}

/**
 * Those that are followed together, with and without loads, and those that are more than a batch behind the others of
 * their group.
 */
export async function groupsOf(
  log: EventLog,
  projectors: readonly GenerationProjector[],
  batchSize: number,
): Promise<{
  readonly near: readonly (readonly GenerationProjector[])[];
  readonly far: readonly GenerationProjector[];
}> {
  const near: GenerationProjector[][] = [];
  const far: GenerationProjector[] = [];
  for (const takesLoads of [true, undefined]) {
    const group = projectors.filter(({ projection }) => projection.takesLoads === takesLoads);
    const furthest = group.reduce((a, { checkpoint: b }) => (a > b ? a : b), START);
    const own: GenerationProjector[] = [];
    for (const one of group) ((await isNear(log, one, furthest, batchSize)) ? own : far).push(one);
    if (own.length > 0) near.push(own);
  }
  return { near, far };
}

async function isNear(
  log: EventLog,
  { checkpoint, projection }: GenerationProjector,
  furthest: Position,
  batchSize: number,
): Promise<boolean> {
  if (checkpoint >= furthest) return true;
  const wanted = { after: checkpoint, prefixes: projection.streams, batchSize };
  for await (const { position } of log.readAll(wanted)) return position >= furthest;
  return true;
}

/** Projections that have stopped because too many of their documents are parked (`docs/decisions.md#x90`). */
export class StoppedProjections {
  /** By collection: the generation that stopped; undefined when it could not be built. */
  private readonly generations = new Map<string, number | undefined>();

  add(collection: string, generation: number | undefined): void {
    this.generations.set(collection, generation);
  }

  has(collection: string): boolean {
    return this.generations.has(collection);
  }

  get names(): readonly string[] {
    return [...this.generations.keys()];
  }

  clear(): void {
    this.generations.clear();
  }

  /** The projectors to run: a stopped one resumes with a new generation, or when a retry is requested. */
  async without(projectors: readonly GenerationProjector[]): Promise<readonly GenerationProjector[]> {
    const running: GenerationProjector[] = [];
    for (const projector of projectors) {
      const { collection, number } = projector.generation;
      const isStopped = this.has(collection) && this.generations.get(collection) === number;
      if (isStopped && !(await projector.parked.isRetryRequested())) continue;
      this.generations.delete(collection);
      running.push(projector);
    }
    return running;
  }

  /** Which have stopped, and how to find out why; undefined if none has. */
  trouble(): string | undefined {
    const stopped = [...this.generations.keys()].map(
      (name) => `${name} has stopped: too many of its documents are parked (affilog parked list ${name})`,
    );
    return stopped.length === 0 ? undefined : stopped.join('; ');
  }
}

/** All events so far of the parked documents, by document. */
async function eventsOf(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): Promise<ReadonlyMap<string, readonly IncomingEvent[]>> {
  const documents = new Set(due.flatMap(({ document }) => document ?? []));
  const withoutDocument = new Set(
    due.filter(({ document }) => document === undefined).map(({ position }) => position),
  );
  for await (const incoming of readStreams(log, projector, withoutDocument.size === 0 ? [] : due)) {
    if (!withoutDocument.has(incoming.event.position)) continue;
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) documents.add(id);
  }
  const events = new Map<string, IncomingEvent[]>([...documents].map((id) => [id, []]));
  for await (const incoming of readStreams(log, projector, due)) {
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) events.get(id)?.push(incoming);
  }
  return events;
}

async function* readStreams(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): AsyncIterable<IncomingEvent> {
  const { streams: prefixes, acrossStreams: isWhole = false } = projector.projection;
  const streams = new Set(due.map(({ stream }) => stream));
  if (streams.size === 0) return;
  for (const batches of isWhole
    ? [eventsOfAll(log, prefixes)]
    : Array.from(streams, (stream) => log.readStream(stream)))
    for await (const events of batches) {
      const reached = events.filter(({ position }) => position <= projector.checkpoint);
      for (const event of reached) if (projector.handles(event)) yield new IncomingEvent(event);
      if (reached.length < events.length) break;
    }
}

async function* eventsOfAll(
  log: EventLog,
  prefixes: readonly string[],
): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const { events } of log.readAll({ after: START, prefixes })) yield events;
}

function changesDirectory(event: RecordedEvent | undefined): boolean {
  return event !== undefined && DIRECTORY_PREFIXES.some((prefix) => event.stream.startsWith(prefix));
}
