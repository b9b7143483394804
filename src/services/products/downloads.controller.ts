import { Controller, Get } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Answer, type Streamed, StreamedAnswer, type StreamRequest } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { hasVersion } from '../../wire/conditions';
import { jsonpPieces } from '../../wire/json/write';
import { type Keys } from '../../wire/keys/keys';
import { CountDownload } from './commands';
import { csvStyleOf, type DownloadKeys, downloadKeys, feedKey, pageOf } from './keys';
import { digest } from './download/joined-facts';
import { DownloadPlans, type DownloadRequest } from './download/plan';
import { RenderedFeeds } from './download/rendered-feeds';
import { productFaults as fault } from '../../domain/products/faults';
import { LAST_UPDATED } from './feed.queries';
import { FeedStates } from './feed-states.queries';
import { productOperations as operations } from './operations';
import { ownFeed, PRESENT_PRICES, ProductSettings } from './product.queries';

/** Document 1: bulk download of a feed, and when it was last updated. */
@Controller('/1.0/productsUnlimited')
export class DownloadsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly follower: FollowedDirectory,
    private readonly plans: DownloadPlans,
    private readonly feeds: RenderedFeeds,
    private readonly states: FeedStates,
    private readonly settings: ProductSettings,
  ) {}

  @Get()
  @ApiOperation(operations.downloadFeed)
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
  @ApiOperation(operations.getLastUpdated)
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
    return Answer.of(LAST_UPDATED, { feedIds: [id], lastUpdatedTime });
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
    if (!plan.isEmpty) {
      const { organisationId } = caller;
      const numbered = page === undefined ? {} : { page: page.page };
      const { version } = plan;
      await this.commands.execute(new CountDownload({ feedId, organisationId, version, ...numbered }));
    }
    const records = page && { from: (page.page - 1) * page.size, to: page.page * page.size };
    const { tokenHash: client } = caller;
    const { body, release } = await this.feeds.take({ ...plan, client, page: records });
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
