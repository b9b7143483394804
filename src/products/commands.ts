import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Inject } from '@nestjs/common';
import { type Position } from '../kernel/event';
import { type Remote } from '../kernel/calls';
import { type Loaded, type Loader, type LoadRequest } from './load/loader';

/** Loads a posted body into a feed (Document 1, Create or update products; Replace a feed). */
export class LoadProducts extends Command<Loaded> {
  constructor(
    readonly request: LoadRequest,
    readonly body: AsyncIterable<Uint8Array>,
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

/** The loader, in this thread or another. */
export type ProductLoader = Remote<Loader>;
export const PRODUCT_LOADER = Symbol('ProductLoader');

/** Chunks that may be under way to the loader before its pace is waited for. */
const AHEAD = 16;

@CommandHandler(LoadProducts)
export class LoadProductsHandler implements ICommandHandler<LoadProducts> {
  constructor(@Inject(PRODUCT_LOADER) private readonly loader: ProductLoader) {}

  async execute({ request, body }: LoadProducts): Promise<Loaded> {
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

@CommandHandler(DeleteProducts)
export class DeleteProductsHandler implements ICommandHandler<DeleteProducts> {
  constructor(@Inject(PRODUCT_LOADER) private readonly loader: ProductLoader) {}

  async execute({ feedId, which }: DeleteProducts): Promise<{ position: Position; changes: number }> {
    return this.loader.remove(feedId, which);
  }
}
