import {
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupSearch,
  type Paged,
  type Search,
  type Target,
} from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { StoreThreads } from './store-threads';

/** The read store in a folder: queries are answered by reader threads, all else by the calling thread. */
export class ThreadedStore extends EmbeddedStore {
  private readonly readers: StoreThreads;

  constructor(directory: string, readers: number, snapshotMs?: number) {
    super(directory, snapshotMs);
    this.readers = new StoreThreads(directory, readers);
    this.readers.start();
  }

  override get(target: Target, ids: readonly string[]): Promise<readonly Found[]> {
    return this.readers.ask((store) => store.get(target, ids));
  }

  override search(target: Target, wanted: Search): Promise<Paged & { readonly found: readonly Found[] }> {
    return this.readers.ask((store) => store.search(target, wanted));
  }

  override searchGroups(
    target: Target,
    wanted: GroupSearch,
  ): Promise<Paged & { readonly groups: readonly (readonly Found[])[] }> {
    return this.readers.ask((store) => store.searchGroups(target, wanted));
  }

  override count(target: Target, filter: Filter): Promise<number> {
    return this.readers.ask((store) => store.count(target, filter));
  }

  override countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts> {
    return this.readers.ask((store) => store.countGroups(target, wanted));
  }

  override async drop(...[generation]: Parameters<EmbeddedStore['drop']>): Promise<void> {
    await super.drop(generation);
    await this.readers.forget();
  }

  override async close(): Promise<void> {
    await this.readers.close();
    await super.close();
  }
}
