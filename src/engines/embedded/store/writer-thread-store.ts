import { type Position } from '../../../kernel/event';
import { type Target } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { StoreThreads } from './store-threads';
import { type PreparedWrite } from './writer';

/** Smaller batches are written faster than they can be sent to another thread. */
const LARGE_BATCH = 100;

/** The read store in a folder. A worker thread writes large batches while the calling thread prepares the next. */
export class WriterThreadStore extends EmbeddedStore {
  private readonly writer: StoreThreads;

  /** `largeBatch`: the number of documents from which the thread is used. */
  constructor(
    directory: string,
    private readonly largeBatch = LARGE_BATCH,
    snapshotMs?: number,
  ) {
    super(directory, { snapshotMs });
    this.writer = new StoreThreads(directory, 1);
  }

  /** Starts the thread, which otherwise starts with the first large batch. */
  start(): void {
    this.writer.start();
  }

  override writePrepared(
    target: Target,
    prepared: readonly PreparedWrite[],
    checkpoint: Position | undefined,
  ): Promise<void> {
    if (prepared.length < this.largeBatch) return super.writePrepared(target, prepared, checkpoint);
    return this.writer.run((store) => store.writePrepared(target, prepared, checkpoint));
  }

  override async drop(...[generation]: Parameters<EmbeddedStore['drop']>): Promise<void> {
    await super.drop(generation);
    await this.writer.closeDropped();
  }

  override async close(): Promise<void> {
    await this.writer.close();
    await super.close();
  }
}
