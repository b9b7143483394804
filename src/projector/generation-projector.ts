import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import {
  type Generation,
  type ReadStore,
  type Target,
  targetOf,
  UndeclaredField,
  type Write,
} from '../kernel/read-store';
import { type CategoryChange } from '../network/categories/categories';
import { type Directory } from '../network/directory';
import { nameOf } from './generations';
import { type Parked, ParkedDocuments, skippedEvents } from './parked';
import { type IncomingEvent, type Projection } from './projection';

/** Directory changes per query for the documents that they affect. */
const CHANGES_PER_QUERY = 100;

/** Documents written per batch by a fan-out, while the next ones are read. */
const FAN_OUT_BATCH = 2000;

/**
 * Applies events to one generation of one projection. A batch is written while the next one is folded; a failed
 * write is raised by the next one, at the latest by `flush` (`DocumentWriter`).
 */
export class GenerationProjector {
  readonly target: Target;
  private readonly types: ReadonlySet<string>;
  private readonly replacing: ReadonlySet<string>;
  private readonly writer: DocumentWriter;
  /** The checkpoint in the store, as far as it is not being written. */
  private recorded: Position;

  private constructor(
    private readonly store: ReadStore,
    readonly projection: Projection,
    readonly generation: Generation,
    readonly parked: ParkedDocuments,
    /** Ids of the events that operators have excluded. */
    private readonly skipped: ReadonlySet<string>,
    private position: Position,
    private readonly isProjected: (id: string) => boolean,
  ) {
    this.target = targetOf(generation);
    this.recorded = position;
    this.writer = new DocumentWriter(store, this.target, projection, parked);
    this.types = new Set(projection.handles);
    this.replacing = new Set(projection.replaces);
  }

  /**
   * `code` identifies the running code, which does not retry what it has failed at itself. `isProjected`: whether it
   * projects documents with this id, by default all.
   */
  static async open(
    log: EventLog,
    store: ReadStore,
    projection: Projection,
    generation: Generation,
    code: string,
    isProjected: (id: string) => boolean = () => true,
  ): Promise<GenerationProjector> {
    const { collection } = generation;
    const parked = await ParkedDocuments.open(store, { collection, generation: nameOf(generation) }, code);
    return new GenerationProjector(
      store,
      projection,
      generation,
      parked,
      await skippedEvents(log, projection.collection.name),
      await store.checkpoint(targetOf(generation)),
      isProjected,
    );
  }

  /** The position up to which events have been applied; after `flush` it equals the checkpoint in the store. */
  get checkpoint(): Position {
    return this.position;
  }

  handles({ type, stream, id }: RecordedEvent): boolean {
    const isOurs =
      this.types.has(type) && this.projection.streams.some((prefix) => stream.startsWith(prefix));
    return isOurs && !this.skipped.has(id);
  }

  /**
   * Applies events in log order, reading and writing each document once, and sets the checkpoint to `upTo` in the
   * same write. If nothing changes, `flush` or a later write sets it.
   */
  async apply(incoming: readonly IncomingEvent[], directory: Directory, upTo: Position): Promise<void> {
    if (await this.project(incoming, directory, upTo)) this.recorded = upTo;
    this.position = upTo;
  }

  /**
   * Applies events that are ahead of the checkpoint, which stays where it is, and writes them. Events between the two
   * must matter neither to their documents nor to the directory.
   */
  async applyAhead(incoming: readonly IncomingEvent[], directory: Directory): Promise<void> {
    await this.project(incoming, directory);
    await this.written();
  }

  /** Whether anything is to be written: with it, the checkpoint. */
  private async project(
    incoming: readonly IncomingEvent[],
    directory: Directory,
    checkpoint?: Position,
  ): Promise<boolean> {
    const byDocument = new Map<string, IncomingEvent[]>();
    for (const one of incoming) {
      const { event } = one;
      if (event.position <= this.position || !this.handles(event)) continue;
      const id = this.documentIdOf(one);
      if (id === undefined || !this.isProjected(id) || this.parked.isParked(id, event.position)) continue;
      const others = byDocument.get(id);
      if (others === undefined) byDocument.set(id, [one]);
      else others.push(one);
    }
    const folded = await this.fold(byDocument);
    if (folded.length > 0) await this.writer.write(folded, directory, checkpoint);
    return folded.length > 0;
  }

  /** Moves the checkpoint when there are no events to apply; `flush` or a later write stores it. */
  advance(upTo: Position): void {
    if (upTo > this.position) this.position = upTo;
  }

  async flush(): Promise<void> {
    await this.record();
    await this.written();
  }

  /** Starts to store the checkpoint, unless what has been applied is written with it. */
  async record(): Promise<void> {
    if (this.recorded >= this.position) return;
    await this.writer.writeCheckpoint(this.position);
    this.recorded = this.position;
  }

  /** Waits until what has been applied is written; `flush` stores the checkpoint too if that was nothing. */
  async written(): Promise<void> {
    await this.writer.flush();
  }

  /**
   * Describes again, page by page, the documents that directory changes affect, and sets the checkpoint to `version`.
   * After an interruption it runs again, since the checkpoint has not moved.
   */
  async fanOut(
    changes: readonly CategoryChange[],
    directory: Directory,
    version: Position,
    signal?: AbortSignal,
  ): Promise<void> {
    const { fanOut } = this.projection;
    if (fanOut === undefined || changes.length === 0 || version <= this.position) return;
    await this.flush();
    await this.store.refresh(this.target);
    for (let at = 0; at < changes.length; at += CHANGES_PER_QUERY) {
      const filter = fanOut.affectedBy(changes.slice(at, at + CHANGES_PER_QUERY));
      let affected: FoldedDocument[] = [];
      for await (const page of this.store.scan(this.target, filter)) {
        signal?.throwIfAborted();
        for (const { id, body, version: current } of page) {
          if (current >= version || this.parked.isParked(id, version)) continue;
          const document = JSON.parse(body) as object;
          const stream = fanOut.streamOf(document);
          affected.push({ id, document, version, stream, cause: { position: version } });
        }
        if (affected.length < FAN_OUT_BATCH) continue;
        await this.writer.write(affected, directory);
        affected = [];
      }
      await this.writer.write(affected, directory);
    }
    // Once all are written, with the checkpoint: whoever learns of it shows what was written up to there.
    await this.written();
    this.position = version;
    await this.flush();
  }

  /** Id of the document that an event belongs to; an event that does not name one is parked by itself. */
  documentIdOf(incoming: IncomingEvent): string | undefined {
    try {
      return incoming.documentIdFor(this.projection);
    } catch (error) {
      const { stream, position, id: event } = incoming.event;
      this.parked.add({ stream, position, event }, error);
      return undefined;
    }
  }

  /** Folds whole documents from their first events and stores them as of the checkpoint. */
  async reproject(
    byDocument: ReadonlyMap<string, readonly IncomingEvent[]>,
    directory: Directory,
  ): Promise<void> {
    const folded = [...byDocument].flatMap(([id, incoming]) => {
      const whole = this.foldInto(undefined, START, id, incoming);
      return whole === undefined || this.parked.isParked(id, this.position)
        ? []
        : { ...whole, version: this.position };
    });
    await this.writer.write(folded, directory);
    // Again, with the documents: whoever has seen the checkpoint shows them too.
    await this.writer.writeCheckpoint(this.position);
    this.recorded = this.position;
    await this.written();
  }

  private async fold(
    byDocument: ReadonlyMap<string, readonly IncomingEvent[]>,
  ): Promise<readonly FoldedDocument[]> {
    if (byDocument.size === 0) return [];
    const { inFlight } = this.writer;
    const toRead: string[] = [];
    for (const [id, [first]] of byDocument)
      if (!inFlight.has(id) && !this.replacing.has(first?.event.type ?? '')) toRead.push(id);
    const found = toRead.length === 0 ? [] : await this.store.get(this.target, toRead);
    const stored = new Map(found.map((document) => [document.id, document]));
    return [...byDocument].flatMap(([id, incoming]) => {
      const latest = inFlight.get(id);
      if (latest !== undefined) return this.foldInto(latest.document, latest.version, id, incoming) ?? [];
      const before = stored.get(id);
      const document = before && (JSON.parse(before.body) as object);
      return this.foldInto(document, before?.version ?? START, id, incoming) ?? [];
    });
  }

  /** Undefined when nothing changes. A document whose event cannot be folded is parked as it was before the event. */
  private foldInto(
    before: object | undefined,
    version: Position,
    id: string,
    incoming: readonly IncomingEvent[],
  ): FoldedDocument | undefined {
    const { projection } = this;
    let folded: FoldedDocument | undefined;
    let document = before;
    for (const one of incoming) {
      const { stream, position, id: event } = one.event;
      if (position <= version) continue;
      try {
        const after = projection.fold(document, one.parse());
        if (after === document && after !== undefined) continue;
        document = after;
        const cause = folded?.cause ?? { position, event };
        folded = { id, document, version: position, stream, cause };
      } catch (error) {
        this.parked.add({ document: id, stream, position, event }, error);
        break;
      }
    }
    return folded;
  }
}

/** Waits until all of them have finished writing, then raises the first failure. */
export async function flushAll(projectors: readonly GenerationProjector[]): Promise<void> {
  const results = await Promise.allSettled(projectors.map((projector) => projector.flush()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** A document after folding, and the event to name if it cannot be stored. */
interface FoldedDocument {
  readonly id: string;
  readonly document: object | undefined;
  readonly version: Position;
  readonly stream: string;
  /** The first event of this batch that changed it. */
  readonly cause: Pick<Parked, 'position' | 'event'>;
}

interface DescribedWrite {
  readonly folded: FoldedDocument;
  readonly write: Write;
}

interface PendingBatch {
  readonly documents: ReadonlyMap<string, FoldedDocument>;
  readonly done: Promise<void>;
}

const NOTHING: PendingBatch = { documents: new Map(), done: Promise.resolve() };

/**
 * Describes folded documents and writes them to the store. Only one batch is written at a time, while the next one
 * is folded. A failed write is raised by the next call, at the latest by `flush`.
 */
class DocumentWriter {
  private pending = NOTHING;

  constructor(
    private readonly store: ReadStore,
    private readonly target: Target,
    private readonly projection: Projection,
    private readonly parked: ParkedDocuments,
  ) {}

  /** Documents that are being written: the store may not return them yet. */
  get inFlight(): ReadonlyMap<string, FoldedDocument> {
    return this.pending.documents;
  }

  async flush(): Promise<void> {
    await this.pending.done;
  }

  /** Describes documents and starts to write them, with the checkpoint if given, once the previous batch is done. */
  async write(folded: readonly FoldedDocument[], directory: Directory, checkpoint?: Position): Promise<void> {
    await this.begin(
      folded.flatMap((document) => this.draft(document, directory) ?? []),
      checkpoint,
    );
  }

  async writeCheckpoint(checkpoint: Position): Promise<void> {
    await this.begin([], checkpoint);
  }

  private async begin(drafts: readonly DescribedWrite[], checkpoint?: Position): Promise<void> {
    await this.flush();
    // The previous batch may have parked documents: what was folded into them since must wait.
    const writable = drafts.filter(({ folded: { id, version } }) => !this.parked.isParked(id, version));
    await this.parked.save();
    const done = this.save(writable, checkpoint);
    // `flush` reports the failure; without this, it would be an unhandled rejection when folding fails first.
    done.catch(() => undefined);
    this.pending = { documents: new Map(writable.map(({ folded }) => [folded.id, folded])), done };
  }

  private async save(drafts: readonly DescribedWrite[], checkpoint: Position | undefined): Promise<void> {
    try {
      await this.store.write(
        this.target,
        drafts.map(({ write }) => write),
        checkpoint,
      );
    } catch (error) {
      if (!(error instanceof UndeclaredField)) throw error;
      for (const draft of drafts) await this.writeOrPark(draft);
      await this.parked.save();
      await this.store.write(this.target, [], checkpoint);
    }
  }

  private draft(folded: FoldedDocument, directory: Directory): DescribedWrite | undefined {
    const { id, document, version } = folded;
    if (document === undefined) {
      const { expires } = this.projection;
      return { folded, write: { version, remove: id, ...(expires === undefined ? {} : { forget: true }) } };
    }
    try {
      const described = this.projection.describe(document, id, directory);
      const body = JSON.stringify(described.document);
      return {
        folded: { ...folded, document: described.document },
        write: { version, put: { id, fields: described.fields, body } },
      };
    } catch (error) {
      this.park(folded, error);
      return undefined;
    }
  }

  private async writeOrPark(draft: DescribedWrite): Promise<void> {
    try {
      await this.store.write(this.target, [draft.write]);
    } catch (error) {
      if (!(error instanceof UndeclaredField)) throw error;
      this.park(draft.folded, error);
    }
  }

  private park({ id, stream, cause }: FoldedDocument, error: unknown): void {
    this.parked.add({ document: id, stream, ...cause }, error);
  }
}
