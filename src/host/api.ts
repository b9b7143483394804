import { join } from 'node:path';
import { type Logger } from 'pino';
import { type Config } from '../config';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines } from '../engines/open';
import { RenderedFeeds } from '../products/download/rendered-feeds';
import { startExporter } from './exporter';
import { startLoader } from './loader';
import { readinessOf } from './readiness';
import { stopServing } from './stop-serving';

export interface ApiParts {
  readonly config: Config;
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  readonly log: Logger;
  /** As `Runner.trouble`, of the projector of this process, if it has one. */
  readonly projectorTrouble?: (() => Promise<string | undefined>) | undefined;
}

/** What a process with the role `api` does, ready to listen. */
export interface Api {
  /** Resolves with its URL; raises what the system says when it cannot listen. */
  listen(): Promise<string>;
  /** As `stopServing`. */
  close(): Promise<void>;
}

/** Starts the threads that load and download, and makes the HTTP application. */
export async function openApi({ config, engines, follower, log, projectorTrouble }: ApiParts): Promise<Api> {
  const { log: eventLog, store } = engines;
  const loader = startLoader(engines, config.dataDir);
  const exporter = startExporter(engines);
  const feeds = new RenderedFeeds(exporter, join(config.dataDir, 'spool'), config.downloadSpace);
  await feeds.clean();
  // The threads begin while the modules of HTTP are being loaded.
  const { createApp } = await import('../app.js');
  const readiness = await readinessOf(engines, follower, { projectorTrouble });
  const parts = { config, eventLog, store, follower, loader, feeds, readiness, log };
  const app = await createApp(parts);
  return {
    listen: async () => {
      await app.listen(config.port, config.host);
      return await app.getUrl();
    },
    close: () => stopServing({ app, loader, feeds, exporter }),
  };
}
