import { type Position } from '../../../kernel/event';
import { type Target } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { StoreThreads } from './store-threads';
import { type Draft } from './writer';

/** Fewer documents than this are written more quickly than handed to another thread. */
const MANY = 100;

/** The read store in a folder: a thread of its own writes large batches while the calling one makes the next. */
export class WriterThreadStore extends EmbeddedStore {
  private readonly writer: StoreThreads;

  /** `many`: documents of a large batch. */
  constructor(
    directory: string,
    private readonly many = MANY,
    snapshotMs?: number,
  ) {
    super(directory, { snapshotMs });
    this.writer = new StoreThreads(directory, 1);
  }

  override writeDrafts(
    target: Target,
    drafts: readonly Draft[],
    checkpoint: Position | undefined,
  ): Promise<void> {
    if (drafts.length < this.many) return super.writeDrafts(target, drafts, checkpoint);
    return this.writer.ask((store) => store.writeDrafts(target, drafts, checkpoint));
  }

  override async drop(...[generation]: Parameters<EmbeddedStore['drop']>): Promise<void> {
    await super.drop(generation);
    await this.writer.forget();
  }

  override async close(): Promise<void> {
    await this.writer.close();
    await super.close();
  }
}
