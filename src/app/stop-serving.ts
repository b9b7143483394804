import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ProductLoader } from '../services/products/commands';
import { type ProductExporter } from '../services/products/download/rendered-feed';
import { type RenderedFeeds } from '../services/products/download/rendered-feeds';
import { raise } from './opened';

/** The parts that serve requests. */
export interface Serving {
  readonly app: NestFastifyApplication;
  readonly loader: ProductLoader;
  readonly feeds: RenderedFeeds;
  readonly exporter: ProductExporter & { end(): Promise<void> };
}

/** Time that downloads in progress have to finish when the server stops (ms). */
const DOWNLOADS_END_MS = 5_000;

/**
 * Takes no more requests and finishes those accepted. A load is aborted between two appends, a download after a
 * while, so that neither delays the stop for long.
 */
export async function stopServing(
  { app, loader, feeds, exporter }: Serving,
  downloadsEnd = DOWNLOADS_END_MS,
): Promise<void> {
  const late = setTimeout(() => {
    // Closed again below, which raises what has failed.
    feeds.close().catch(() => undefined);
  }, downloadsEnd);
  const ends = await Promise.allSettled([app.close(), loader.close()]);
  clearTimeout(late);
  ends.push(...(await Promise.allSettled([feeds.close()])), ...(await Promise.allSettled([exporter.end()])));
  raise(ends.filter((end) => end.status === 'rejected').map(({ reason }): unknown => reason));
}
