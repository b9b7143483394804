import { Body, Controller, Delete, type DynamicModule, Get, Module, Param, Post, Res } from '@nestjs/common';
import { type FastifyBaseLogger, type FastifyReply } from 'fastify';
import { FEED, FeedRefusals, productFaults as fault, productFaultTable } from '../../domain/products/feed';
import { importsText } from '../../domain/products/import-report';
import {
  Answer,
  ListAnswer,
  QueuedAnswer,
  type Streamed,
  StreamedAnswer,
  type StreamRequest,
} from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { defineService } from '../../http/service';
import { streamOf } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { mappingsText } from '../../network/categories/category-counts';
import { type FeedDefinition } from '../../network/events';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { hasVersion } from '../../wire/api/format';
import { jsonpPieces } from '../../wire/json/write';
import { INTEGER, type Keys } from '../../wire/keys/keys';
import { ignoredFields } from '../../wire/keys/name-list';
import { pageHeaders } from '../../wire/keys/pages';
import { listPieces } from '../../wire/record/list';
import { type LoadCommand, ProductCommands } from './commands';
import { DownloadCounter } from './download-counter';
import { digest } from './download/joined-facts';
import { DownloadPlans, type DownloadRequest } from './download/plan';
import { RenderedFeeds } from './download/rendered-feeds';
import { FeedQueries, FeedStates, toXmlFeeds } from './feed.queries';
import {
  categoryKeys,
  columnsOf,
  csvStyleOf,
  deleteKeys,
  type DownloadKeys,
  downloadKeys,
  feedKey,
  feedKeys,
  keyFaults,
  mappingKeys,
  pageOf,
  postKeys,
  type SearchKeys,
  searchKeys,
  visibilityKeys,
} from './keys';
import { type ProductLoader } from './load/load-feed';
import { type LoadedFeed, Loader, type LoadRequest, type LoadResult } from './load/loader';
import { productApi as api, productSchemas } from './api';
import {
  ownFeed,
  PRESENT_PRICES,
  ProductSettings,
  ProductQueries,
  productVisibility,
  type SearchResult,
  sizesOf,
} from './product.queries';
import { resultText } from './result-text';
import { SourcesController } from './sources.controller';

/** Document 1: create, update, replace, delete and search products. */
@Controller('/1.0/products')
class ProductsController {
  constructor(
    private readonly commands: ProductCommands,
    private readonly queries: ProductQueries,
    private readonly settings: ProductSettings,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation(api.searchProducts)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv'])
  search(@CurrentCaller() caller: Caller, @MatrixKeys(searchKeys) keys: SearchKeys): ListAnswer {
    return foundProducts(keys, this.settings, (query) => this.queries.search(keys, caller, query));
  }

  @Post()
  @ApiOperation(api.loadProducts)
  @Roles(['advertiser'])
  async post(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(postKeys) keys: Keys<typeof postKeys>,
    @Body() body: PostedBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer> {
    const { fid, mode = 'update', dryRun } = keys;
    const command: LoadCommand = {
      ...{ feedId: fid, caller, mode, body, dryRun },
      format: () => body.format(['json', 'xml', 'csv', 'tsv'], { gzip: true }),
      columns: columnsOf(keys),
    };
    const loaded = await loggedLoad(this.clock, reply.log, command, () => this.commands.load(command));
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
  @ApiOperation(api.deleteProducts)
  @Roles(['advertiser'])
  async delete(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(deleteKeys) { fid, spId, deleteAll, dryRun }: Keys<typeof deleteKeys>,
  ): Promise<Answer> {
    const which = deleteAll === true ? 'all' : spId;
    const deleted = await this.commands.delete(fid, caller, which, dryRun);
    return Answer.errors([], { position: deleted.position, headers: loadHeaders(deleted) });
  }
}

/** CSV has no header for what these keys add. */
function refuseInCsv(keys: SearchKeys): void {
  for (const key of ['facets', 'fuzzy', 'suggest'] as const)
    if (keys[key] !== undefined && keys[key] !== false)
      throw fault.illegalValue(`${key}: allowed for JSON and XML only, the format is csv`);
}

export function foundProducts(
  keys: SearchKeys,
  { vendor }: Pick<ProductSettings, 'vendor'>,
  search: (query: QueryOptions) => Promise<SearchResult>,
): ListAnswer {
  const style = csvStyleOf(keys);
  return new ListAnswer(
    async ({ view, query }) => {
      if (view.format === 'csv') refuseInCsv(keys);
      const { products, dates, customFields, ...productHeader } = await search(query);
      const { nextCursor } = productHeader;
      const text = resultText(view, { vendor, productHeader, dates, style, customFields });
      return { pieces: listPieces(text, products), headers: pageHeaders({ ...sizesOf(keys), nextCursor }) };
    },
    { format: keys.format },
  );
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

const COUNTED = ['new', 'revised', 'repriced', 'unchanged', 'removed', 'refused', 'unmapped'] as const;

/** What a post or a deletion has done, as headers of its answer (`docs/decisions.md#a15`). */
function loadHeaders(loaded: LoadedFeed & Partial<LoadResult>): Readonly<Record<string, string>> {
  const { loadId, counts } = loaded;
  return {
    ...(loadId === undefined ? {} : { 'X-Load-Id': loadId }),
    'X-Load-Counts': COUNTED.map((name) => `${name}=${counts[name]}`).join(', '),
    ...ignoredFields(loaded.ignoredFields ?? []),
  };
}

/** Runs a load and logs what it has done, or the code with which it was refused (`docs/decisions.md#x86`). */
async function loggedLoad(
  clock: Clock,
  log: FastifyBaseLogger,
  { feedId, mode }: Pick<LoadRequest, 'feedId' | 'mode'>,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  const began = clock.monotonic();
  const facts = () => ({ feedId, mode, ms: Math.round(clock.monotonic() - began) });
  try {
    const loaded = await load();
    const { loadId, counts } = loaded;
    log.info({ ...facts(), loadId, ...counts }, 'load');
    return loaded;
  } catch (error) {
    if (error instanceof Fault) log.info({ ...facts(), code: error.code }, 'load refused');
    throw error;
  }
}

/** Document 1: bulk download of a feed, and when it was last updated. */
@Controller('/1.0/productsUnlimited')
class DownloadsController {
  constructor(
    private readonly counter: DownloadCounter,
    private readonly follower: FollowedDirectory,
    private readonly plans: DownloadPlans,
    private readonly rendered: RenderedFeeds,
    private readonly states: FeedStates,
    private readonly settings: ProductSettings,
  ) {}

  @Get()
  @ApiOperation(api.downloadFeed)
  @Roles(['advertiser', 'publisher'])
  @Produces(['json', 'xml', 'csv'])
  download(@CurrentCaller() caller: Caller, @MatrixKeys(downloadKeys) keys: DownloadKeys): StreamedAnswer {
    const { id: feedId } = ownFeed(this.follower.directory, caller, keys.fid);
    const csv = csvStyleOf(keys);
    const page = pageOf(keys);
    const { format, compress, since } = keys;
    const details = { format, gzip: compress === 'gz', leastRate: this.settings.downloadRate };
    return new StreamedAnswer(async (wanted) => {
      if (since !== undefined && wanted.view.format === 'csv')
        throw fault.illegalValue('since: allowed for JSON and XML only, the format is csv');
      const request: DownloadRequest = {
        feedId,
        caller,
        format: wanted.view.format,
        pretty: wanted.view.pretty,
        vendor: this.settings.vendor,
        trackerUrl: this.settings.trackerUrl,
        dates: keys.dateOutputFormat ?? 'epoch',
        sourceProductUrl: keys.sourceproducturl === true,
        pastPrices: keys.priceHistory === true ? 'all' : PRESENT_PRICES[this.settings.priceHistory],
        csv,
        flatten: keys.csvFlattenFields === true,
        ...(since === undefined ? {} : { since }),
      };
      return await this.begin(request, page, wanted);
    }, details);
  }

  @Get('lastUpdated')
  @ApiOperation(api.getLastUpdated)
  @Roles(['advertiser', 'publisher'])
  async lastUpdated(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>,
  ): Promise<Answer> {
    const { id } = ownFeed(this.follower.directory, caller, fid);
    const [state] = await this.states.of([id]);
    const version = state?.version;
    // In UTC and without an offset (`docs/decisions.md#p19`).
    const lastUpdatedTime = version === undefined ? null : new Date(version.at).toISOString().slice(0, -1);
    return Answer.of(api.getLastUpdated, { feedIds: [id], lastUpdatedTime });
  }

  /** Counts the download, unless nothing is sent (`docs/decisions.md#p18`), and starts to send it. */
  private async begin(
    request: DownloadRequest,
    page: { readonly page: number; readonly size: number } | undefined,
    { view: { jsonp }, gzip, ifNoneMatch, headOnly }: StreamRequest,
  ): Promise<Streamed> {
    const { feedId, caller } = request;
    const plan = await this.plans.of(request);
    const etag = `"${digest([plan.key, page, jsonp, gzip])}"`;
    const headers = { ETag: etag, 'X-Next-Since': plan.next };
    if (hasVersion(ifNoneMatch, etag)) return { status: 304, headers };
    if (headOnly) return { status: 200, headers };
    const records = page && { from: (page.page - 1) * page.size, to: page.page * page.size };
    const { organisationId, tokenHash: client } = caller;
    const take = () => this.rendered.take({ ...plan, client, page: records });
    const numbered = page === undefined ? {} : { page: page.page };
    const download = { feedId, organisationId, version: plan.version, ...numbered };
    const { body, release } = plan.isEmpty ? await take() : await this.counter.count(download, take);
    return { status: 200, headers, body: jsonp === undefined ? body : called(jsonp, body), ended: release };
  }
}

/** A JSONP script around a JSON body that is safe in scripts. */
async function* called(name: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [before = '', ...after] = jsonpPieces(name, { result: [] });
  yield Buffer.from(before);
  yield* body;
  yield Buffer.from(after.join(''));
}

/** Document 1: category tree, category mapping status, feed list; beyond it the load report. */
@Controller('/1.0')
class FeedsController {
  constructor(
    private readonly queries: FeedQueries,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly settings: ProductSettings,
  ) {}

  @Get('productCategories')
  @ApiOperation(api.getCategoryTree)
  @Roles(['advertiser', 'publisher'])
  categories(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(categoryKeys) { language }: Keys<typeof categoryKeys>,
  ): QueuedAnswer {
    return QueuedAnswer.of(api.getCategoryTree, () => this.queries.categoryTrees(caller, language));
  }

  @Get('categoryMappings')
  @ApiOperation(api.listCategoryMappings)
  @Roles(['advertiser'])
  mappings(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(mappingKeys) { fid, state, format }: Keys<typeof mappingKeys>,
  ): ListAnswer {
    const feedIds = [...new Set(fid)].map((id) => ownFeed(this.follower.directory, caller, id).id);
    const find = async () => ({ items: [await this.queries.mappings(feedIds, state)] });
    return ListAnswer.written(mappingsText, find, { format });
  }

  @Get('productFeeds')
  @ApiOperation(api.listFeeds)
  @Roles(['publisher'])
  feeds(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(feedKeys) { programId }: Keys<typeof feedKeys>,
  ): QueuedAnswer {
    return this.list(this.follower.directory.feedsOf(caller), programId);
  }

  @Get('productFeeds/:feedId')
  @ApiOperation(api.getFeed)
  @Roles(['publisher'])
  feed(
    @CurrentCaller() caller: Caller,
    @Param('feedId') feedId: string,
    @MatrixKeys(feedKeys) { programId }: Keys<typeof feedKeys>,
  ): QueuedAnswer {
    const id = INTEGER.read(feedId);
    if (id === undefined)
      throw fault.notNumeric(`/productFeeds/${feedId}: expected ${INTEGER.expected}, the id of a feed`);
    return this.list([ownFeed(this.follower.directory, caller, id)], programId);
  }

  /** Why publishers see a product, or not (`docs/decisions.md#x110`). */
  @Get('products/visibility')
  @ApiOperation(api.getVisibility)
  @Roles(['advertiser'])
  visibility(
    @CurrentCaller() caller: Caller,
    @MatrixKeys(visibilityKeys) { fid, spId: sourceProductId }: Keys<typeof visibilityKeys>,
  ): QueuedAnswer {
    const { directory } = this.follower;
    const feed = ownFeed(directory, caller, fid);
    return QueuedAnswer.of(api.getVisibility, (query) =>
      productVisibility(
        { store: this.store, directory },
        { feed, sourceProductId },
        { asker: 'owner' },
        query,
      ),
    );
  }

  /** Results of the last posts to a feed (`docs/decisions.md#p30`). */
  @Get('products/imports')
  @ApiOperation(api.listImports)
  @Roles(['advertiser'])
  imports(@CurrentCaller() caller: Caller, @MatrixKeys(feedKey) { fid }: Keys<typeof feedKey>): ListAnswer {
    const { id } = ownFeed(this.follower.directory, caller, fid);
    return ListAnswer.written(importsText, async (query) => ({
      items: await this.queries.imports(id, query),
    }));
  }

  /** Those that belong to one of these programs, if any are named. */
  private list(feeds: readonly FeedDefinition[], programIds: readonly number[]): QueuedAnswer {
    const asked = feeds.filter(
      (feed) => programIds.length === 0 || feed.programIds.some((id) => programIds.includes(id)),
    );
    const { vendor } = this.settings;
    return new QueuedAnswer(async () => {
      const list = await this.queries.list(asked);
      return new Answer({ json: () => list, xml: () => toXmlFeeds(list, vendor) });
    });
  }
}

export const productService = defineService({
  system: 'PRODUCTS',
  readModels: 'loads',
  // A search of one feed, and what is written to it.
  streamRead: ({ path, matrix, query }) => {
    const feeds = [...matrix, ...query].filter(({ name }) => name === 'fid');
    const [fid] = feeds.map(({ value = '' }) => value);
    const isOne =
      path === '/1.0/products' && feeds.length === 1 && fid !== undefined && /^\d{1,10}$/.test(fid);
    return isOne ? streamOf(FEED, Number(fid)) : undefined;
  },
  modules: ['products', 'productsUnlimited', 'productCategories', 'categoryMappings', 'productFeeds'],
  description: {
    title: 'Products',
    description: 'Product feeds: loading, searching, downloading; categories, mappings, feeds.',
    faults: productFaultTable,
    schemas: productSchemas,
    errorSchema: 'ProductErrors_v1_0.xsd',
  },
  faults: {
    unusable: fault.illegalValue,
    unexpected: fault.unexpected,
    notAdmitted: fault.tokenRequestNotValid,
    tokenTwice: fault.tokenRequestNotValid,
    keys: keyFaults,
  },
});

interface LoadingParts {
  readonly loader: ProductLoader;
  readonly downloads: RenderedFeeds;
  readonly counter: DownloadCounter;
}

@Module({})
export class ProductsModule {
  static with(settings: ProductSettings, { loader, downloads, counter }: LoadingParts): DynamicModule {
    return {
      module: ProductsModule,
      controllers: [ProductsController, DownloadsController, FeedsController, SourcesController],
      providers: [
        ProductCommands,
        ProductQueries,
        FeedQueries,
        { provide: ProductSettings, useValue: settings },
        { provide: Loader, useValue: loader },
        {
          provide: FeedRefusals,
          useFactory: (clock: Clock, log: EventLog) => new FeedRefusals(clock, log),
          inject: [Clock, EventLog],
        },
        DownloadPlans,
        { provide: RenderedFeeds, useValue: downloads },
        { provide: DownloadCounter, useValue: counter },
      ],
    };
  }
}
