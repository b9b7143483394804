import { type CategoryChange } from '../directory/categories';
import { type Directory } from '../directory/directory';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Generation, type ReadStore, type Target } from '../kernel/read-store';
import { type Arrival } from './arrival';
import { type Folded, FoldedWriter } from './folded-writer';
import { nameOf, targetOf } from './generations';
import { ParkedDocuments } from './parked';
import { type Projection } from './projection';
import { skippedEvents } from './skipped';

/** Bounds one look for the documents that changes concern. */
const CHANGES_AT_ONCE = 100;

/** Documents described anew that are written at once: a batch of the store's writer, while the next ones are read. */
const DESCRIBED_AT_ONCE = 2000;

/**
 * One projection on its way into one generation. While the store writes a batch, the next one is folded: a failure
 * to write is raised by whatever comes next, at the latest by `written` (`FoldedWriter`).
 */
export class GenerationFold {
  private readonly target: Target;
  private readonly types: ReadonlySet<string>;
  private readonly replacing: ReadonlySet<string>;
  private readonly writer: FoldedWriter;

  private constructor(
    private readonly store: ReadStore,
    readonly projection: Projection,
    readonly generation: Generation,
    readonly parked: ParkedDocuments,
    /** Ids of events that it is not to fold. */
    private readonly skipped: ReadonlySet<string>,
    private position: Position,
  ) {
    this.target = targetOf(generation);
    this.writer = new FoldedWriter(store, this.target, projection, parked);
    this.types = new Set(projection.handles);
    this.replacing = new Set(projection.replaces);
  }

  /** `code` is what the running code is known by: what it could not fold it does not try again. */
  static async open(
    log: EventLog,
    store: ReadStore,
    projection: Projection,
    generation: Generation,
    code: string,
  ): Promise<GenerationFold> {
    const { collection } = generation;
    const parked = await ParkedDocuments.open(store, { collection, generation: nameOf(generation) }, code);
    return new GenerationFold(
      store,
      projection,
      generation,
      parked,
      await skippedEvents(log, projection.collection.name),
      await store.checkpoint(targetOf(generation)),
    );
  }

  /** How far the log has been folded; once it is `written`, the store says so too. */
  get checkpoint(): Position {
    return this.position;
  }

  handles({ type, stream, id }: RecordedEvent): boolean {
    const isOurs =
      this.types.has(type) && this.projection.streams.some((prefix) => stream.startsWith(prefix));
    return isOurs && !this.skipped.has(id);
  }

  /** Folds events in log order, each document read and written once; with them the checkpoint becomes `upTo`. */
  async take(arrivals: readonly Arrival[], directory: Directory, upTo: Position): Promise<void> {
    const byDocument = new Map<string, Arrival[]>();
    for (const arrival of arrivals) {
      const { event } = arrival;
      if (event.position <= this.position || !this.handles(event)) continue;
      const id = this.idOf(arrival);
      if (id === undefined || this.parked.holds(id, event.position)) continue;
      const others = byDocument.get(id);
      if (others === undefined) byDocument.set(id, [arrival]);
      else others.push(arrival);
    }
    await this.writer.write(await this.fold(byDocument), directory, upTo);
    this.position = upTo;
  }

  /** Says that there is nothing to be folded up to a position. */
  async advance(upTo: Position): Promise<void> {
    if (upTo <= this.position) return;
    await this.writer.mark(upTo);
    this.position = upTo;
  }

  /** Waits until everything has been written. */
  async written(): Promise<void> {
    await this.writer.written();
  }

  /**
   * Describes anew, page by page, the documents that changes of the directory concern. Left half done it is done
   * again, since the checkpoint has not passed it.
   */
  async fanOut(
    changes: readonly CategoryChange[],
    directory: Directory,
    version: Position,
    signal?: AbortSignal,
  ): Promise<void> {
    const { fanOut } = this.projection;
    if (fanOut === undefined || changes.length === 0 || version <= this.position) return;
    await this.written();
    await this.store.refresh(this.target);
    for (let at = 0; at < changes.length; at += CHANGES_AT_ONCE) {
      const filter = fanOut.concerned(changes.slice(at, at + CHANGES_AT_ONCE));
      let concerned: Folded[] = [];
      for await (const page of this.store.scan(this.target, filter)) {
        signal?.throwIfAborted();
        for (const { id, body, version: seen } of page) {
          if (seen >= version || this.parked.holds(id, version)) continue;
          const document = JSON.parse(body) as object;
          const stream = fanOut.streamOf(document);
          concerned.push({ id, document, version, stream, since: { position: version } });
        }
        if (concerned.length < DESCRIBED_AT_ONCE) continue;
        await this.writer.write(concerned, directory);
        concerned = [];
      }
      await this.writer.write(concerned, directory);
    }
    await this.written();
  }

  /** The document that an event is about; an event that does not tell is parked by itself. */
  idOf(arrival: Arrival): string | undefined {
    try {
      return arrival.idBy(this.projection);
    } catch (error) {
      const { stream, position, id: event } = arrival.event;
      this.parked.add({ stream, position, event }, error);
      return undefined;
    }
  }

  /** Folds whole documents again, from their first events, and stores them as of the checkpoint. */
  async foldAgain(byDocument: ReadonlyMap<string, readonly Arrival[]>, directory: Directory): Promise<void> {
    const folded = [...byDocument].flatMap(([id, arrivals]) => {
      const whole = this.foldInto(undefined, START, id, arrivals);
      return whole === undefined || this.parked.holds(id, this.position)
        ? []
        : { ...whole, version: this.position };
    });
    await this.writer.write(folded, directory);
    await this.written();
  }

  private async fold(byDocument: ReadonlyMap<string, readonly Arrival[]>): Promise<readonly Folded[]> {
    if (byDocument.size === 0) return [];
    const { underWay } = this.writer;
    const others: string[] = [];
    for (const [id, [first]] of byDocument)
      if (!underWay.has(id) && !this.replacing.has(first?.event.type ?? '')) others.push(id);
    const found = others.length === 0 ? [] : await this.store.get(this.target, others);
    const byId = new Map(found.map((document) => [document.id, document]));
    return [...byDocument].flatMap(([id, arrivals]) => {
      const written = underWay.get(id);
      if (written !== undefined) return this.foldInto(written.document, written.version, id, arrivals) ?? [];
      const before = byId.get(id);
      const document = before && (JSON.parse(before.body) as object);
      return this.foldInto(document, before?.version ?? START, id, arrivals) ?? [];
    });
  }

  /** Undefined when nothing changes. An event that cannot be folded leaves the document before it, parked. */
  private foldInto(
    before: object | undefined,
    seen: Position,
    id: string,
    arrivals: readonly Arrival[],
  ): Folded | undefined {
    const { projection } = this;
    let folded: Folded | undefined;
    let document = before;
    for (const arrival of arrivals) {
      const { stream, position, id: event } = arrival.event;
      if (position <= seen) continue;
      try {
        const told = arrival.parse();
        const after = projection.fold(document, told);
        if (after === document && after !== undefined) continue;
        document = after;
        const since = folded?.since ?? { position, event };
        folded = { id, document, version: position, stream, since };
      } catch (error) {
        this.parked.add({ document: id, stream, position, event }, error);
        break;
      }
    }
    return folded;
  }
}

/** Waits until everything has been written into each of them, or could not be; raises what that failed for. */
export async function allWritten(folds: readonly GenerationFold[]): Promise<void> {
  const ends = await Promise.allSettled(folds.map((fold) => fold.written()));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
