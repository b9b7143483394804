import { join } from 'node:path';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { type AppParts } from './create-app';
import { type Config } from '../settings/config';
import { TokenUses } from '../network/token-uses';
import { DownloadCounter } from '../services/products/download-counter';
import { Exporter } from '../services/products/download/exporter';
import { addressProblem } from '../delivery/sending/addresses';
import { type ProductExporter } from '../services/products/download/rendered-feed';
import { RenderedFeeds } from '../services/products/download/rendered-feeds';
import { diskTrouble } from './disk';
import { allowedBy, secretsOf } from '../operations/installation';
import { NotificationFacts } from './notification-facts';
import { startExporter } from './roles/exporter';
import { type Report } from '../runtime/failure-report';
import { startLoader } from './roles/loader';
import { makeLoader } from '../services/products/load/make-loader';
import { type Base } from './open-base';
import { openAll } from './opened';
import { atMostEvery, readinessOf, type Troubles } from './readiness';
import { stopServing } from './stop-serving';

interface ApiOptions extends Pick<Base, 'engines' | 'follower'>, Pick<AppParts, 'visibleWithin'> {
  /** How long a request for a test of a receiver waits for its outcome (ms). */
  readonly testWithin?: number;
  /** How often the engines and the disk are looked at for `/health/ready`, at most (ms). */
  readonly healthEvery?: number;
  readonly config: Config;
  /** Load and render downloads in threads of their own; needs compiled code. */
  readonly threads: boolean;
  /** Receives failures after which the process continues. */
  readonly report: Report;
  readonly log?: FastifyBaseLogger;
  readonly now?: () => Date;
  readonly troubles?: Troubles;
}

/** As long as an attempt lasts at most (`docs/decisions.md#n4`). */
const TEST_MS = 15_000;

/** Anybody may ask for `/health/ready`. */
const HEALTH_MS = 1_000;

/** What a process with the role `api` does. */
export interface Api {
  /** Initialised, but not listening. */
  readonly app: NestFastifyApplication;
  /** Its parts. */
  readonly parts: AppParts;
  /** Renders its downloads. */
  readonly exporter: ProductExporter;
  /** As `stopServing`. */
  close(): Promise<void>;
}

/** Opens the loader and the exporter, and creates the HTTP application: the same for servers and tests. */
export async function openApi(options: ApiOptions): Promise<Api> {
  const { config, engines, follower, threads, report, log, now, visibleWithin, troubles = {} } = options;
  const { testWithin = TEST_MS, healthEvery = HEALTH_MS } = options;
  const { log: eventLog, store } = engines;
  return await openAll(async (opened) => {
    const { dataDir } = config;
    const loader = threads
      ? startLoader(engines, dataDir, report)
      : makeLoader(eventLog, follower, dataDir, now === undefined ? {} : { now });
    opened.push(() => loader.close());
    const exporter = threads ? startExporter(engines, report) : new Exporter(store, follower);
    opened.push(() => exporter.end());
    const feeds = new RenderedFeeds(exporter, join(dataDir, 'spool'), config.downloadSpace);
    opened.push(() => feeds.close());
    await feeds.clean();
    const counter = new DownloadCounter({
      log: eventLog,
      folder: join(dataDir, 'uncounted'),
      now: now ?? (() => new Date()),
      report,
    });
    counter.start();
    opened.push(() => counter.close());
    // The threads start while the modules of HTTP are being loaded.
    const { createApp } = await import('./create-app.js');
    const tokenUses = new TokenUses(store, now ?? (() => new Date()), report);
    tokenUses.start();
    opened.push(() => tokenUses.close());
    const ending = new AbortController();
    const facts = new NotificationFacts(eventLog, await secretsOf(config), ending.signal);
    opened.push(async () => {
      ending.abort();
      await facts.ended;
    });
    const look = await readinessOf(engines, follower, {
      troubles: {
        ...troubles,
        // A process that does not send answers the secrets.
        notifier: troubles.notifier ?? (async () => facts.trouble()),
        disk: () => diskTrouble(dataDir),
      },
    });
    const readiness = atMostEvery(healthEvery, look);
    const allowed = allowedBy(config);
    const parts: AppParts = {
      config,
      eventLog,
      store,
      follower,
      loader,
      feeds,
      counter,
      readiness,
      tokenUses,
      subscriptions: {
        deliveries: engines.deliveries,
        secrets: () => facts.secrets,
        addressProblem: (url) => addressProblem(url, allowed),
        convertible: () => facts.convertible(),
        testWithin,
        keepMs: config.notifyKeep,
      },
      ...(log === undefined ? {} : { log }),
      ...(now === undefined ? {} : { now }),
      ...(visibleWithin === undefined ? {} : { visibleWithin }),
    };
    const app = await createApp(parts);
    const close = async (): Promise<void> => {
      await stopServing({ app, loader, feeds, exporter });
      await tokenUses.close();
      await counter.close();
      ending.abort();
      await facts.ended;
    };
    return { app, parts, exporter, close };
  }, report);
}
