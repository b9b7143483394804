import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { Clock } from '../http/clock';
import { type Position } from '../kernel/event';
import { type PostedBody } from '../http/posted-body';
import { type Remote } from '../kernel/calls';
import { execute } from '../kernel/decider';
import { EngineUnavailable, EventLog } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { type LoadResult, Loader, type LoadRequest } from './load/loader';
import { FeedRefusals } from './refusals';
import { KeyedMutex } from '../kernel/keyed-mutex';
import { type CountedDownload, quota, quotaId } from './quota';

/**
 * Loads a posted body into a feed (Document 1, Create or update products; Replace a feed). That it was refused as a
 * whole is recorded too (`docs/decisions.md#p30`).
 */
export class LoadProducts extends Command<LoadResult> {
  constructor(
    readonly request: Omit<LoadRequest, 'format'>,
    readonly body: Pick<PostedBody, 'format' | 'chunks'>,
  ) {
    super();
  }
}

/** Deletes products of a feed (Document 1, Delete products). */
export class DeleteProducts extends Command<{ readonly position: Position; readonly changes: number }> {
  constructor(
    readonly feedId: number,
    readonly which: readonly string[] | 'all',
  ) {
    super();
  }
}

/** Counts a download that is about to begin (Document 1, Limits). Raises 429. */
export class CountDownload extends Command<void> {
  constructor(readonly download: Omit<CountedDownload, 'at' | 'head'>) {
    super();
  }
}

/** The loader, in this thread or another. */
export type ProductLoader = Remote<Loader>;

/** Chunks that may be under way to the loader before its pace is waited for. */
const AHEAD = 16;

@CommandHandler(LoadProducts)
export class LoadProductsHandler implements ICommandHandler<LoadProducts> {
  constructor(
    @Inject(Loader) private readonly loader: ProductLoader,
    private readonly refusals: FeedRefusals,
  ) {}

  async execute({ request, body }: LoadProducts): Promise<LoadResult> {
    const record = this.refusals.begin(request.feedId, request.mode);
    try {
      return await this.load({ ...request, format: body.format() }, body.chunks());
    } catch (error) {
      // It is answered whether or not it can be recorded.
      if (isRefusal(error)) await record(error).catch(ignoreUnavailable);
      throw error;
    }
  }

  private async load(request: LoadRequest, body: AsyncIterable<Uint8Array>): Promise<LoadResult> {
    const id = await this.loader.open(request);
    try {
      await this.send(id, body);
    } catch (error) {
      await this.loader.abort(id);
      throw error;
    }
    return this.loader.finish(id);
  }

  private async send(id: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const underWay: Promise<void>[] = [];
    for await (const chunk of body) {
      if (underWay.length === AHEAD) await underWay.shift();
      const written = this.loader.write(id, chunk);
      // A failure is told when its turn to be waited for comes.
      written.catch(() => undefined);
      underWay.push(written);
    }
    await Promise.all(underWay);
  }
}

/** A fault of the post, not one of ours (`docs/decisions.md#a12`). */
function isRefusal(error: unknown): error is Fault {
  return error instanceof Fault && error.status < 500;
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof EngineUnavailable)) throw error;
}

@CommandHandler(DeleteProducts)
export class DeleteProductsHandler implements ICommandHandler<DeleteProducts> {
  constructor(@Inject(Loader) private readonly loader: ProductLoader) {}

  async execute({ feedId, which }: DeleteProducts): Promise<{ position: Position; changes: number }> {
    return this.loader.remove(feedId, which);
  }
}

@CommandHandler(CountDownload)
export class CountDownloadHandler implements ICommandHandler<CountDownload> {
  /** Many requests of this process for one feed would only conflict with each other. */
  private readonly mutex = new KeyedMutex<string>();

  constructor(
    private readonly log: EventLog,
    private readonly clock: Clock,
  ) {}

  async execute({ download }: CountDownload): Promise<void> {
    const id = quotaId(download);
    await this.mutex.runExclusive(id, async () => {
      const head = await this.log.head();
      return await execute(this.log, quota, id, { ...download, at: this.clock.now().toISOString(), head });
    });
  }
}
