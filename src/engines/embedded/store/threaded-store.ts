import {
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  type QueryOptions,
  type Results,
  type Search,
} from '../../../kernel/query';
import { type Target } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { StoreThreads } from './store-threads';

/**
 * The read store in a folder. Reader threads answer queries; the calling thread does everything else, including `count` for
 * health checks, which must not wait for searches.
 */
export class ThreadedStore extends EmbeddedStore {
  private readonly readers: StoreThreads;

  constructor(directory: string, readers: number, snapshotMs?: number) {
    super(directory, { snapshotMs });
    this.readers = new StoreThreads(directory, readers);
    this.readers.start();
  }

  override get(
    target: Target,
    ids: readonly string[],
    options: QueryOptions = {},
  ): Promise<readonly Found[]> {
    return this.readers.run((store) => store.get(target, ids, withoutSignal(options)), options);
  }

  override search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    return this.readers.run((store) => store.search(target, wanted, withoutSignal(options)), options);
  }

  override searchGroups(
    target: Target,
    wanted: GroupSearch,
    options: QueryOptions = {},
  ): Promise<GroupResults> {
    return this.readers.run((store) => store.searchGroups(target, wanted, withoutSignal(options)), options);
  }

  override countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts> {
    return this.readers.run((store) => store.countGroups(target, wanted));
  }

  override async drop(...[generation]: Parameters<EmbeddedStore['drop']>): Promise<void> {
    await super.drop(generation);
    await this.readers.closeDropped();
  }

  override async close(): Promise<void> {
    await this.readers.close();
    await super.close();
  }
}

/** The options without the signal, which cannot be sent to a thread. */
function withoutSignal({ signal, ...options }: QueryOptions): QueryOptions {
  signal?.throwIfAborted();
  return options;
}
