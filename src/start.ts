import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { destination, pino, type Logger } from 'pino';
import { refuseOtherLog } from '../projections/origin';
import { feedSource } from '../projections/product-download';
import { baseUrlAt, type Config } from './config';
import { type FollowedDirectory, followDirectory } from './directory/follower';
import { type Engines, openEngines } from './engines/open';
import { type Remote } from './kernel/calls';
import { EngineUnavailable } from './kernel/event-log';
import { createDemo } from './ops/demo';
import { startExporter } from './ops/exporter';
import { startLoader } from './ops/loader';
import { startLogEndpoint } from './ops/log-endpoint';
import { type ProjectorThread, startProjector } from './ops/projector';
import { readinessOf } from './ops/readiness';
import { stopServing } from './ops/stop-serving';
import { FeedVersions } from './products/feed-version';
import { type Running, type ServeOptions } from './ops/serve';
import { RenderedFeeds } from './products/download/rendered-feeds';

/** What has been opened, to be closed in the opposite order. */
type Opened = (() => Promise<void>)[];

/**
 * Starts what a process has to do (docs/architecture.md, Processes): the engines, the threads of its roles, HTTP.
 * Raises `EngineUnavailable`, `OtherLog`, and what the system says when it cannot listen.
 */
export async function start(config: Config, { roles, demo }: ServeOptions): Promise<Running> {
  const log = pino({ level: config.logLevel }, destination(2));
  const opened: Opened = [];
  const stop = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    const engines = await openEngines({
      ...config,
      threads: true,
      readers: Math.max(1, availableParallelism() - 1),
    });
    opened.push(() => engines.close());
    await refuseOther(engines);
    const follower = await openDirectory(engines, opened);
    const demoLines = demo ? await createDemo(engines.log, config.dataDir) : () => [];
    const projector = roles.includes('projector') ? openProjector(engines, log, opened) : undefined;
    const projecting = projector && waitFor(projector);
    // Waited for below; until then a failure is nobody's.
    projecting?.catch(() => undefined);
    const url = roles.includes('api')
      ? await listen(config, engines, follower, log, opened, projector, projecting)
      : undefined;
    await projecting;
    const { esdbPort } = config;
    const replay = esdbPort === undefined ? [] : [await offerLog(engines, esdbPort, log, opened)];
    const port = url === undefined ? config.port : Number(new URL(url).port || 80);
    const shown = [...demoLines(baseUrlAt(config, port)), ...replay];
    return { ...(url === undefined ? {} : { url }), shown, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A read store that does not answer is asked again by the projector. */
async function refuseOther({ log, store }: Engines): Promise<void> {
  await refuseOtherLog(log, store).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

async function openDirectory(engines: Engines, opened: Opened): Promise<FollowedDirectory> {
  const ending = new AbortController();
  const follower = followDirectory(engines.log, ending.signal);
  opened.push(async () => {
    ending.abort();
    await follower.ended;
  });
  await follower.ready;
  return follower;
}

/** How long to wait for read models before requests are taken without them (ms): writes need none. */
const PATIENCE_MS = 10_000;

function openProjector(engines: Engines, log: Logger, opened: Opened): Remote<ProjectorThread> {
  const projector = startProjector(engines, (failure) => log.error(failure));
  opened.push(() => projector.stop());
  return projector;
}

/** Resolves when every read model can be read, or when that takes too long: a read store that is down, a long build. */
async function waitFor(projector: Remote<ProjectorThread>): Promise<void> {
  const late = new AbortController();
  const patience = after(PATIENCE_MS, undefined, { signal: late.signal }).catch(() => undefined);
  await Promise.race([projector.start(), patience]).finally(() => late.abort());
}

/** The line that says where the log can be read. */
async function offerLog(engines: Engines, port: number, log: Logger, opened: Opened): Promise<string> {
  const endpoint = startLogEndpoint(engines, port, (failure) => log.error(failure));
  opened.push(() => endpoint.close());
  return `the log can be read at ${await endpoint.open()}`;
}

async function listen(
  config: Config,
  engines: Engines,
  follower: FollowedDirectory,
  log: Logger,
  opened: Opened,
  projector: Remote<ProjectorThread> | undefined,
  projecting: Promise<void> | undefined,
): Promise<string> {
  const loader = startLoader(engines, config.dataDir);
  const exporter = startExporter(engines);
  const feeds = new RenderedFeeds(exporter, join(config.dataDir, 'spool'), config.downloadSpace);
  await feeds.clean();
  // The threads begin while the modules of HTTP are being loaded.
  const { createApp } = await import('./app.js');
  const readiness = await readinessOf(engines, follower, { projectorTrouble: projector?.trouble });
  const app = await createApp({
    config,
    eventLog: engines.log,
    store: engines.store,
    follower,
    versions: new FeedVersions(engines.log, follower.directory, feedSource(engines.store)),
    loader,
    exporter,
    feeds,
    readiness,
    log,
  });
  opened.push(() => stopServing({ app, loader, feeds, exporter }));
  await projecting;
  await app.listen(config.port, config.host);
  return app.getUrl();
}
