import { Inject, Injectable } from '@nestjs/common';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { WaitForReadModels, type WaitTarget } from '../../http/visible-writes';
import { type BodyCost, type PostedBody } from '../../http/posted-body';
import { streamOf } from '../../kernel/event';
import { EngineUnavailable } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { LOADED_PRODUCTS, LOADS } from '../../runtime/metrics';
import { type FeedFormat } from './load/ingest/feed-body';
import { type FeedSource, loadFeed, type ProductLoader } from './load/load-feed';
import { type LoadedFeed, Loader, type LoadRequest, type LoadResult } from './load/loader';
import { ownFeed } from './product.queries';
import { FEED, FeedRefusals, productFaults as fault } from '../../domain/products/feed';

/** A body of products: a request's, or one that was made here, which uses nothing that others need. */
type LoadBody = Pick<PostedBody, 'chunks'> & Partial<Pick<PostedBody, 'isGzip' | 'maxBody' | 'takes'>>;

export interface LoadCommand extends Pick<LoadRequest, 'feedId' | 'mode' | 'columns'> {
  readonly caller: Caller;
  /** Raises the fault of a body of another format. */
  readonly format: () => FeedFormat;
  readonly body: LoadBody;
  /** Checks everything and stores nothing (`docs/decisions.md#a15`). */
  readonly dryRun?: boolean | undefined;
}

/** What advertisers may do with the products of their feeds (ADR 18). */
@Injectable()
export class ProductCommands {
  constructor(
    @Inject(Loader) private readonly loader: ProductLoader,
    private readonly refusals: FeedRefusals,
    private readonly follower: FollowedDirectory,
    private readonly readModels: WaitForReadModels,
  ) {}

  /**
   * Loads a posted body into a feed of the caller's (Document 1, Create or update products; Replace a feed). A post
   * that is refused as a whole is recorded (`docs/decisions.md#p30`). Raises `PF_392` for another organisation's feed.
   * A body may be larger than memory, so the loader reads and checks it while it is being received.
   */
  async load({
    feedId,
    caller,
    mode,
    format,
    columns,
    body,
    dryRun = false,
  }: LoadCommand): Promise<LoadResult> {
    const { directory, position: directoryPosition } = this.follower;
    ownFeed(directory, caller, feedId);
    const record = this.refusals.begin(feedId, mode);
    const receive = async (): Promise<LoadResult> =>
      await loadFeed(
        this.loader,
        { feedId, mode, format: format(), columns, directoryPosition, dryRun },
        sourceOf(body),
      );
    const loaded = await receive().catch(async (error: unknown) => {
      LOADS.add(1, { result: isRefusal(error) ? 'refused' : 'failed' });
      // The caller gets the refusal whether or not it can be recorded.
      if (isRefusal(error) && !dryRun) await record(error).catch(ignoreUnavailable);
      throw error;
    });
    LOADS.add(1, { result: dryRun ? 'dry_run' : 'stored' });
    if (!dryRun) countProducts(loaded);
    await this.readModels.afterWrite(loaded, productsOf(feedId));
    return loaded;
  }

  /** Deletes products of a feed of the caller's (Document 1, Delete products). Raises `PF_392` as above. */
  async delete(
    feedId: number,
    caller: Caller,
    which: readonly string[] | 'all',
    dryRun = false,
  ): Promise<LoadedFeed> {
    ownFeed(this.follower.directory, caller, feedId);
    if (which.length === 0)
      throw fault.parametersMissing('spId is missing: name products to delete, or all by deleteAll=true');
    const deleted = await this.loader.remove(feedId, which, dryRun);
    if (!dryRun) countProducts(deleted);
    await this.readModels.afterWrite(deleted, productsOf(feedId));
    return deleted;
  }
}

/** All that a write to a feed changes for searches. */
function productsOf(feedId: number): WaitTarget {
  return { readModels: 'loads', stream: streamOf(FEED, feedId) };
}

function sourceOf(body: LoadBody): FeedSource {
  return {
    bytes: body.chunks((bytes) => costOfLoad(bytes)),
    most: body.maxBody ?? Infinity,
    isGzip: body.isGzip ?? false,
    onUse: (bytes, use) => body.takes?.(costOfLoad(bytes, use)),
  };
}

/** Bytes of memory for a load of any size: chunks on their way, slices being validated, blocks of the spool. */
const BUFFERED = 6 * 1024 * 1024;
/** The same for each byte of a small body, of which there are as many copies at a time. */
const COPIES = 4;
const LEAST = 64 * 1024;

function buffered(bytes: number): number {
  return Math.min(BUFFERED, LEAST + COPIES * bytes);
}

/**
 * What a body takes of which so many bytes have come, and whose load uses this much (`docs/decisions.md#x100`): counted
 * on disk even while in memory.
 */
export function costOfLoad(bytes: number, use: BodyCost = { memory: 0, space: 0 }): BodyCost {
  return { memory: use.memory + buffered(bytes), space: Math.max(bytes, use.space) };
}

/** A fault of the post, not one of ours (`docs/decisions.md#a12`). */
export function isRefusal(error: unknown): error is Fault {
  return error instanceof Fault && error.status < 500;
}

export function countProducts({ counts }: LoadedFeed): void {
  const { new: listed, removed: delisted, revised, repriced, unchanged, refused } = counts;
  LOADED_PRODUCTS.add(listed, { change: 'listed' });
  LOADED_PRODUCTS.add(revised, { change: 'revised' });
  LOADED_PRODUCTS.add(repriced, { change: 'repriced' });
  LOADED_PRODUCTS.add(unchanged, { change: 'unchanged' });
  LOADED_PRODUCTS.add(delisted, { change: 'delisted' });
  LOADED_PRODUCTS.add(refused, { change: 'refused' });
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}
