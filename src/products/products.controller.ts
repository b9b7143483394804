import { Controller, Delete, Get, Inject, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type Caller as CallerOfToken } from '../directory/organisations';
import { Answer } from '../http/answer';
import { Caller, For, Offers, Posted, RequestKeys, Told } from '../http/decorators';
import { ListAnswer } from '../http/list-answer';
import { type PostedBody } from '../http/posted-body';
import { type Keys } from '../wire/keys';
import { listPieces } from '../wire/list-text';
import { DeleteProducts, LoadProducts } from './commands';
import { csvStyleOf } from './csv-keys';
import { Fault } from '../kernel/fault';
import { productFaults as fault } from './faults';
import { type LoadResult } from './load/loader';
import { productOperations as told } from './operations';
import { PRODUCT_SETTINGS, ProductQueries, type ProductSettings } from './queries';
import { deleteKeys, postKeys, type SearchKeys, searchKeys } from './search-keys';
import { resultText } from './result-text';

/** Document 1: create, update, replace, delete and search products. */
@Controller('/1.0/products')
export class ProductsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: ProductQueries,
    @Inject(PRODUCT_SETTINGS) private readonly settings: ProductSettings,
  ) {}

  @Get()
  @Told(told.searchProducts)
  @For('advertiser', 'publisher')
  @Offers('json', 'xml', 'csv')
  search(@Caller() caller: CallerOfToken, @RequestKeys(searchKeys) keys: SearchKeys): ListAnswer {
    const style = csvStyleOf(keys);
    return new ListAnswer(
      async ({ view, query }) => {
        const { products, nextCursor, ...result } = await this.queries.search(keys, caller, query);
        const productHeader = {
          totalHits: result.totalHits,
          ...(nextCursor === undefined ? {} : { nextCursor }),
        };
        const text = resultText(view, { ...result, productHeader, style, vendor: this.settings.vendor });
        return {
          pieces: listPieces(text, products),
          ...(nextCursor === undefined ? {} : { headers: { 'X-Next-Cursor': nextCursor } }),
        };
      },
      { format: keys.format },
    );
  }

  @Post()
  @Told(told.loadProducts)
  @For('advertiser')
  async post(
    @Caller() caller: CallerOfToken,
    @RequestKeys(postKeys) { fid, mode }: Keys<typeof postKeys>,
    @Posted() body: PostedBody,
  ): Promise<Answer> {
    const loaded = await this.commands.execute(new LoadProducts(fid, caller, mode ?? 'update', body));
    return Answer.errors(refusalsOf(loaded), { position: loaded.position });
  }

  @Delete()
  @Told(told.deleteProducts)
  @For('advertiser')
  async delete(
    @Caller() caller: CallerOfToken,
    @RequestKeys(deleteKeys) { fid, spId, deleteAll }: Keys<typeof deleteKeys>,
  ): Promise<Answer> {
    const which = deleteAll === true ? 'all' : spId;
    const deleted = await this.commands.execute(new DeleteProducts(fid, caller, which));
    return Answer.errors([], { position: deleted.position });
  }
}

/** The refused products, each by itself; those beyond what is listed as a number. */
function refusalsOf({ faults, moreFaults }: LoadResult): Fault[] {
  const listed = faults.map(
    ({ code, status, message, sourceProductId }) =>
      new Fault(code, status, message, sourceProductId === undefined ? {} : { sourceProductId }),
  );
  return moreFaults === 0
    ? listed
    : [...listed, fault.illegalValue(`${moreFaults} more faults are not listed`)];
}
