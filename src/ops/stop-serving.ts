import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ProductLoader } from '../products/commands';
import { type ProductExporter } from '../products/download/rendered-feed';
import { type RenderedFeeds } from '../products/download/rendered-feeds';

/** What answers requests. */
export interface Serving {
  readonly app: NestFastifyApplication;
  readonly loader: ProductLoader;
  readonly feeds: RenderedFeeds;
  readonly exporter: ProductExporter & { end(): Promise<void> };
}

/** Milliseconds that downloads under way have left when the server stops. */
const DOWNLOADS_END_MS = 5_000;

/**
 * Takes no more requests and finishes those accepted. A load under way is broken off between two appends, downloads
 * after a while, so that none holds up the end.
 */
export async function stopServing(
  { app, loader, feeds, exporter }: Serving,
  downloadsEnd = DOWNLOADS_END_MS,
): Promise<void> {
  const closed = app.close();
  await loader.close();
  const late = setTimeout(() => void feeds.close(), downloadsEnd);
  await closed;
  clearTimeout(late);
  await feeds.close();
  await exporter.end();
}
