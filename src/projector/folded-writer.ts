import { type Directory } from '../directory/directory';
import { type Position } from '../kernel/event';
import { type ReadStore, type Target, UndeclaredField, type Write } from '../kernel/read-store';
import { type Parked, type ParkedDocuments } from './parked';
import { type Projection } from './projection';

/** A document as folding left it, and what to blame should it turn out not to be storable. */
export interface Folded {
  readonly id: string;
  readonly document: object | undefined;
  readonly version: Position;
  readonly stream: string;
  /** The event that changed it first. */
  readonly since: Pick<Parked, 'position' | 'event'>;
}

/** A document, as the next fold is given it, with what is to be written of it. */
interface Drafted {
  readonly folded: Folded;
  readonly write: Write;
}

/** What the store is writing: the documents by id, for whoever folds on meanwhile. */
interface Writing {
  readonly documents: ReadonlyMap<string, Folded>;
  readonly done: Promise<void>;
}

const NOTHING: Writing = { documents: new Map(), done: Promise.resolve() };

/**
 * Describes what has been folded and has the store write it; while that goes on, the next batch may be folded. A failure
 * to write is raised by whatever comes next, at the latest by `written`.
 */
export class FoldedWriter {
  private writing = NOTHING;

  constructor(
    private readonly store: ReadStore,
    private readonly target: Target,
    private readonly projection: Projection,
    private readonly parked: ParkedDocuments,
  ) {}

  /** The documents that are being written. */
  get underWay(): ReadonlyMap<string, Folded> {
    return this.writing.documents;
  }

  /** Waits until everything has been written. */
  async written(): Promise<void> {
    await this.writing.done;
  }

  /** Describes documents and has them written, once what came before is; with them the checkpoint, if one is given. */
  async write(folded: readonly Folded[], directory: Directory, checkpoint?: Position): Promise<void> {
    await this.begin(
      folded.flatMap((document) => this.drafted(document, directory) ?? []),
      checkpoint,
    );
  }

  /** Has a checkpoint written by itself. */
  async mark(checkpoint: Position): Promise<void> {
    await this.begin([], checkpoint);
  }

  private async begin(drafts: readonly Drafted[], checkpoint?: Position): Promise<void> {
    await this.written();
    // Whatever could not be stored is parked by now, and what has been folded into it since has to wait.
    const kept = drafts.filter(({ folded: { id, version } }) => !this.parked.holds(id, version));
    await this.parked.keep();
    const done = this.save(kept, checkpoint);
    // Who waits for it is told; nobody may, when what comes next fails too.
    done.catch(() => undefined);
    this.writing = { documents: new Map(kept.map(({ folded }) => [folded.id, folded])), done };
  }

  private async save(drafts: readonly Drafted[], checkpoint: Position | undefined): Promise<void> {
    try {
      await this.store.write(
        this.target,
        drafts.map(({ write }) => write),
        checkpoint,
      );
    } catch (error) {
      if (!(error instanceof UndeclaredField)) throw error;
      for (const draft of drafts) await this.writeOrPark(draft);
      await this.parked.keep();
      await this.store.write(this.target, [], checkpoint);
    }
  }

  private drafted(folded: Folded, directory: Directory): Drafted | undefined {
    const { id, document, version } = folded;
    if (document === undefined) return { folded, write: { version, remove: id } };
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

  private async writeOrPark(draft: Drafted): Promise<void> {
    try {
      await this.store.write(this.target, [draft.write]);
    } catch (error) {
      if (!(error instanceof UndeclaredField)) throw error;
      this.park(draft.folded, error);
    }
  }

  private park({ id, stream, since }: Folded, error: unknown): void {
    this.parked.add({ document: id, stream, ...since }, error);
  }
}
