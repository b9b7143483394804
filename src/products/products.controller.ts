import { Body, Controller, Delete, Get, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type Caller } from '../directory/organisations';
import { Answer } from '../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../http/decorators';
import { ListAnswer } from '../http/list-answer';
import { PostedBody } from '../http/posted-body';
import { type Keys } from '../wire/keys';
import { listPieces } from '../wire/list-text';
import { DeleteProducts, LoadProducts } from './commands';
import { csvStyleOf } from './csv-keys';
import { Fault } from '../kernel/fault';
import { productFaults as fault } from './faults';
import { type LoadResult } from './load/loader';
import { productOperations as operations } from './operations';
import { ProductQueries, ProductSettings } from './product.queries';
import { deleteKeys, postKeys, type SearchKeys, searchKeys } from './search-keys';
import { resultText } from './result-text';

/** Document 1: create, update, replace, delete and search products. */
@Controller('/1.0/products')
export class ProductsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: ProductQueries,
    private readonly settings: ProductSettings,
  ) {}

  @Get()
  @ApiOperation(operations.searchProducts)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv'])
  search(@CurrentCaller() caller: Caller, @MatrixKeys(searchKeys) keys: SearchKeys): ListAnswer {
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
  @ApiOperation(operations.loadProducts)
  @Roles(['advertiser'])
  async post(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) { fid, mode }: Keys<typeof postKeys>,
    @Body() body: PostedBody,
  ): Promise<Answer> {
    const loaded = await this.commands.execute(new LoadProducts(fid, caller, mode ?? 'update', body));
    return Answer.errors(refusalsOf(loaded), { position: loaded.position });
  }

  @Delete()
  @ApiOperation(operations.deleteProducts)
  @Roles(['advertiser'])
  async delete(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(deleteKeys) { fid, spId, deleteAll }: Keys<typeof deleteKeys>,
  ): Promise<Answer> {
    const which = deleteAll === true ? 'all' : spId;
    const deleted = await this.commands.execute(new DeleteProducts(fid, caller, which));
    return Answer.errors([], { position: deleted.position });
  }
}

/** The faults of refused products; those beyond the limit as a count. */
function refusalsOf({ faults, moreFaults }: LoadResult): Fault[] {
  const listed = faults.map(
    ({ code, status, message, sourceProductId }) =>
      new Fault(code, status, message, sourceProductId === undefined ? {} : { sourceProductId }),
  );
  return moreFaults === 0
    ? listed
    : [...listed, fault.illegalValue(`${moreFaults} more faults are not listed`)];
}
