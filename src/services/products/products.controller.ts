import { Body, Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { Answer, ListAnswer, markDryRun } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { Fault } from '../../kernel/fault';
import { type Caller } from '../../network/organisations';
import { type Keys } from '../../wire/keys/keys';
import { ignoredFields } from '../../wire/keys/name-list';
import { pageHeaders } from '../../wire/keys/pages';
import { listPieces } from '../../wire/record/list';
import { DeleteProducts, LoadProducts } from './commands';
import { csvStyleOf, deleteKeys, postKeys, type SearchKeys, searchKeys } from './keys';
import { productFaults as fault } from '../../domain/products/faults';
import { type Loaded, type LoadRequest, type LoadResult } from './load/loader';
import { productOperations as operations } from './operations';
import { ProductQueries, ProductSettings, sizesOf } from './product.queries';
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
          headers: pageHeaders({ ...sizesOf(keys), nextCursor }),
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
    @MatrixKeys(postKeys) keys: Keys<typeof postKeys>,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const { fid, mode = 'update' } = keys;
    const dryRun = markDryRun(reply, keys.dryRun);
    const command = new LoadProducts(fid, caller, mode, body, dryRun);
    const loaded = await loggedLoad(
      (facts, text) => reply.log.info(facts, text),
      command,
      () => this.commands.execute(command),
    );
    const { loadId, position, counts, largeRemoval } = loaded;
    if (largeRemoval && loadId !== undefined)
      reply.log.warn(
        { feedId: fid, loadId, removed: counts.removed },
        `a replacement has removed most products of feed ${fid}: ` +
          `affilog feeds restore ${fid} --before ${loadId} brings them back`,
      );
    return Answer.errors(refusalsOf(loaded), { position, headers: loadHeaders(loaded) });
  }

  @Delete()
  @ApiOperation(operations.deleteProducts)
  @Roles(['advertiser'])
  async delete(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(deleteKeys) { fid, spId, deleteAll, dryRun }: Keys<typeof deleteKeys>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const which = deleteAll === true ? 'all' : spId;
    const command = new DeleteProducts(fid, caller, which, markDryRun(reply, dryRun));
    const deleted = await this.commands.execute(command);
    return Answer.errors([], { position: deleted.position, headers: loadHeaders(deleted) });
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

/** What a post or a deletion has done, as headers of its answer (`docs/decisions.md#a15`). */
function loadHeaders(loaded: Loaded & Partial<LoadResult>): Readonly<Record<string, string>> {
  const { loadId, counts } = loaded;
  const { new: listed, revised, repriced, unchanged, removed, refused, unmapped } = counts;
  const named = { new: listed, revised, repriced, unchanged, removed, refused, unmapped };
  return {
    ...(loadId === undefined ? {} : { 'X-Load-Id': loadId }),
    'X-Load-Counts': Object.entries(named)
      .map(([name, count]) => `${name}=${count}`)
      .join(', '),
    ...ignoredFields(loaded.ignoredFields ?? []),
  };
}

/** Runs a load and logs what it has done, or the code with which it was refused (`docs/decisions.md#x86`). */
async function loggedLoad(
  log: (facts: object, text: string) => void,
  { feedId, mode }: Pick<LoadRequest, 'feedId' | 'mode'>,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  const began = performance.now();
  const facts = () => ({ feedId, mode, ms: Math.round(performance.now() - began) });
  try {
    const loaded = await load();
    const { loadId, counts } = loaded;
    log({ ...facts(), loadId, ...counts }, 'load');
    return loaded;
  } catch (error) {
    if (error instanceof Fault) log({ ...facts(), code: error.code }, 'load refused');
    throw error;
  }
}
