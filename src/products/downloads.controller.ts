import { hash } from 'node:crypto';
import { Controller, Get, Inject } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { products } from '../../projections/products';
import { FollowedDirectory } from '../directory/follower';
import { type Caller } from '../directory/organisations';
import { Answer } from '../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../http/decorators';
import { StreamedAnswer, type Streamed, type StreamRequest } from '../http/streamed-answer';
import { ReadStore } from '../kernel/read-store';
import { hasVersion } from '../wire/conditions';
import { jsonpPieces } from '../wire/jsonp';
import { type Keys } from '../wire/keys';
import { CountDownload } from './commands';
import { csvStyleOf } from './csv-keys';
import { type DownloadKeys, downloadKeys, lastUpdatedKeys, pageOf } from './download-keys';
import { Exporter, type ExportRequest } from './download/exporter';
import { type ProductExporter } from './download/rendered-feed';
import { RenderedFeeds } from './download/rendered-feeds';
import { productFaults as fault } from './faults';
import { FeedVersions } from './feed-version';
import { productOperations as operations } from './operations';
import { ownFeed, PRESENT_PRICES, ProductSettings } from './queries';

/** Document 1: bulk download of a feed, and when it was last updated. */
@Controller('/1.0/productsUnlimited')
export class DownloadsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly feeds: RenderedFeeds,
    private readonly versions: FeedVersions,
    @Inject(Exporter) private readonly exporter: ProductExporter,
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
        throw fault.illegalValue('since: allowed for JSON and XML only, this is csv');
      const request: ExportRequest = {
        feedId,
        caller,
        directoryPosition: this.follower.position,
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
    @MatrixKeys(lastUpdatedKeys) { fid }: Keys<typeof lastUpdatedKeys>,
  ): Promise<Answer> {
    const { id } = ownFeed(this.follower.directory, caller, fid);
    const shown = await this.store.checkpoint({ collection: products.collection.name });
    const version = (await this.versions.at(id, shown))?.version;
    // In UTC and without an offset (`docs/decisions.md#p19`).
    const lastUpdatedTime = version === undefined ? null : new Date(version.at).toISOString().slice(0, -1);
    return new Answer({
      json: () => ({ feedIds: [id], lastUpdatedTime }),
      xml: () => ({ result: { feedIds: { feedId: id }, lastUpdatedTime: lastUpdatedTime ?? '' } }),
    });
  }

  /** Opens the export, counts the download unless it is none (`docs/decisions.md#p18`), and begins to send. */
  private async begin(
    request: ExportRequest,
    page: { readonly page: number; readonly size: number } | undefined,
    { view: { jsonp }, gzip, ifNoneMatch, headOnly }: StreamRequest,
  ): Promise<Streamed> {
    const { feedId, caller } = request;
    const opened = await this.exporter.open(request);
    const etag = `"${hash('sha256', JSON.stringify([opened.key, page, jsonp, gzip]), 'hex').slice(0, 32)}"`;
    const headers = { ETag: etag, 'X-Next-Since': opened.next };
    try {
      if (headOnly || hasVersion(ifNoneMatch, etag)) {
        await this.exporter.close(opened.id);
        return { status: hasVersion(ifNoneMatch, etag) ? 304 : 200, headers };
      }
      if (!opened.isEmpty) {
        const { organisationId } = caller;
        const numbered = page === undefined ? {} : { page: page.page };
        const { version } = opened;
        await this.commands.execute(new CountDownload({ feedId, organisationId, version, ...numbered }));
      }
    } catch (error) {
      await this.exporter.close(opened.id);
      throw error;
    }
    const records = page && { from: (page.page - 1) * page.size, to: page.page * page.size };
    const { body, release } = await this.feeds.take(opened, records);
    return { status: 200, headers, body: jsonp === undefined ? body : called(jsonp, body), ended: release };
  }
}

/** The script of JSONP around a body that may stand in one. */
async function* called(name: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [before = '', ...after] = jsonpPieces(name, { result: [] });
  yield Buffer.from(before);
  yield* body;
  yield Buffer.from(after.join(''));
}
