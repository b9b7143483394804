import {
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupSearch,
  type Search,
  type Target,
} from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { ReaderThreads } from './reader-threads';

/** The read store in a folder: queries are answered by reader threads, all else by the calling thread. */
export class ThreadedStore extends EmbeddedStore {
  private readonly threads: ReaderThreads;

  constructor(directory: string, readers: number) {
    super(directory);
    this.threads = new ReaderThreads(directory, readers);
  }

  override get(target: Target, ids: readonly string[]): Promise<readonly Found[]> {
    return this.threads.ask((queries) => queries.get(target, ids));
  }

  override search(target: Target, wanted: Search): Promise<{ total: number; found: readonly Found[] }> {
    return this.threads.ask((queries) => queries.search(target, wanted));
  }

  override searchGroups(
    target: Target,
    wanted: GroupSearch,
  ): Promise<{ total: number; groups: readonly (readonly Found[])[] }> {
    return this.threads.ask((queries) => queries.searchGroups(target, wanted));
  }

  override count(target: Target, filter: Filter): Promise<number> {
    return this.threads.ask((queries) => queries.count(target, filter));
  }

  override countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts> {
    return this.threads.ask((queries) => queries.countGroups(target, wanted));
  }

  override async drop(...[generation]: Parameters<EmbeddedStore['drop']>): Promise<void> {
    await super.drop(generation);
    await this.threads.forget();
  }

  override async close(): Promise<void> {
    await this.threads.close();
    await super.close();
  }
}
