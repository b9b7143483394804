import { type Directory } from '../network/directory';
import { type Position } from '../kernel/event';
import { type ReadStore, type Target, UndeclaredField, type Write } from '../kernel/read-store';
import { type Parked, type ParkedDocuments } from './parked';
import { type Projection } from './projection';

/** A document after folding, and the event to name if it cannot be stored. */
export interface FoldedDocument {
  readonly id: string;
  readonly document: object | undefined;
  readonly version: Position;
  readonly stream: string;
  /** The first event of this batch that changed it. */
  readonly cause: Pick<Parked, 'position' | 'event'>;
}

/** A described document and the write that stores it. */
interface Draft {
  readonly folded: FoldedDocument;
  readonly write: Write;
}

/** A batch that the store is writing. */
interface PendingBatch {
  readonly documents: ReadonlyMap<string, FoldedDocument>;
  readonly done: Promise<void>;
}

const NOTHING: PendingBatch = { documents: new Map(), done: Promise.resolve() };

/**
 * Describes folded documents and writes them to the store. Only one batch is written at a time, while the next one
 * is folded. A failed write is raised by the next call, at the latest by `flush`.
 */
export class DocumentWriter {
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

  /** Waits until everything has been written. */
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

  private async begin(drafts: readonly Draft[], checkpoint?: Position): Promise<void> {
    await this.flush();
    // The previous batch may have parked documents: what was folded into them since must wait.
    const writable = drafts.filter(({ folded: { id, version } }) => !this.parked.isParked(id, version));
    await this.parked.save();
    const done = this.save(writable, checkpoint);
    // `flush` reports the failure; without this, it would be an unhandled rejection when folding fails first.
    done.catch(() => undefined);
    this.pending = { documents: new Map(writable.map(({ folded }) => [folded.id, folded])), done };
  }

  private async save(drafts: readonly Draft[], checkpoint: Position | undefined): Promise<void> {
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

  private draft(folded: FoldedDocument, directory: Directory): Draft | undefined {
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

  private async writeOrPark(draft: Draft): Promise<void> {
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
