import { join } from 'node:path';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { hasRates, RATES_STREAM, type RatesEvent } from '../delivery/matching/rates';
import { addressProblem } from '../delivery/sending/addresses';
import { Downloads } from '../delivery/sending/download';
import { type DeliveriesOwned, isOwner, OWNER_STREAM } from '../domain/deliveries/ownership';
import { type Secrets } from '../domain/subscriptions/subscription';
import { BodyBudgets } from '../http/posted-body';
import { type RecordedEvent } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { TokenUses } from '../network/token-uses';
import { allowedBy, secretsOf } from '../operations/installation';
import { Rebuilder } from '../operations/projections';
import { type Metrics } from '../operations/rest/metrics.controller';
import { answersHere, answersInProcesses } from '../operations/sql/remote';
import { type Clock } from '../runtime/clock';
import { type Report } from '../runtime/failure-report';
import { FollowedLog } from '../runtime/followed-log';
import { type ProductLoader } from '../services/products/load/load-feed';
import { DownloadCounter } from '../services/products/download-counter';
import { Exporter } from '../services/products/download/exporter';
import { type ProductExporter, RenderedFeeds } from '../services/products/download/rendered-feeds';
import { SourceFetcher } from '../services/products/source-fetcher';
import { FeedSources, SourceBook } from '../services/products/sources';
import { makeLoader } from '../services/products/load/loader';
import { type Config } from '../settings/config';
import { type AppParts } from './create-app';
import { ProcessMetrics } from './metrics';
import { type BaseParts, openAll, raise } from './opened';
import { atMostEvery, diskTrouble, readinessOf, type RoleTroubles } from './readiness';
import { startExporter } from './threads/exporter';
import { startLoader } from './threads/loader';
import { whenMoved } from './threads/projector';
import { startRebuilder } from './threads/rebuilder';

interface ApiParts
  extends Pick<BaseParts, 'engines' | 'follower'>, Pick<AppParts, 'clock' | 'demoTokens' | 'visibleWithin'> {
  readonly testWithin?: number;
  /** How often the engines and the disk are looked at for `/health/ready`, at most (ms). */
  readonly healthEvery?: number;
  readonly config: Config;
  /** Load and render downloads in threads of their own; needs compiled code. */
  readonly threads: boolean;
  readonly report: Report;
  readonly log?: FastifyBaseLogger;
  readonly troubles?: RoleTroubles;
  readonly metrics?: Metrics;
}

/** As long as an attempt lasts at most (`docs/decisions.md#n4`). */
const TEST_MS = 15_000;

/** Anybody may ask for `/health/ready`. */
const HEALTH_MS = 1_000;

export interface Api {
  /** Initialised, but not listening. */
  readonly app: NestFastifyApplication;
  readonly parts: AppParts;
  readonly exporter: ProductExporter;
  /** Not started. */
  readonly fetcher: SourceFetcher;
  close(): Promise<void>;
}

/** Opens the loader and the exporter, and creates the HTTP application: the same for servers and tests. */
export async function openApi(options: ApiParts): Promise<Api> {
  const { config, engines, follower, threads, report, log, clock, visibleWithin, troubles = {} } = options;
  const { demoTokens = [] } = options;
  const { metrics = new ProcessMetrics({ engines, follower, config, roles: ['api'] }) } = options;
  const { testWithin = TEST_MS, healthEvery = HEALTH_MS } = options;
  const { log: eventLog, store } = engines;
  return await openAll(async (opened) => {
    const { dataDir } = config;
    const loader = threads
      ? startLoader(engines, dataDir, report)
      : makeLoader(clock, eventLog, follower, dataDir);
    opened.push(() => loader.close());
    const exporter = threads ? startExporter(engines, report) : new Exporter(clock, store, follower);
    opened.push(() => exporter.end());
    const rebuilder = threads
      ? startRebuilder(engines, report)
      : { rebuilding: new Rebuilder(engines, clock), end: async () => undefined };
    opened.push(() => rebuilder.end());
    const downloads = new RenderedFeeds(clock, exporter, join(dataDir, 'spool'), config.downloadSpace);
    opened.push(() => downloads.close());
    await downloads.clean();
    const counter = new DownloadCounter({ log: eventLog, folder: join(dataDir, 'uncounted'), clock, report });
    counter.start();
    opened.push(() => counter.close());
    // The threads start while the modules of HTTP are being loaded.
    const { createApp } = await import('./create-app.js');
    const tokenUses = new TokenUses(clock, store, report);
    tokenUses.start();
    opened.push(() => tokenUses.close());
    const ending = new AbortController();
    const secrets = await secretsOf(config);
    const facts = new NotificationFacts(clock, eventLog, secrets, ending.signal);
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
    const known = { clock, log: eventLog, store };
    const book = new SourceBook(clock, eventLog, ending.signal, report);
    const transfers = new Downloads({ clock, allowed, most: config.maxBody });
    opened.push(() => transfers.close());
    const bodyBudgets = new BodyBudgets({ memory: config.bodyMemory, space: config.bodySpace });
    const fetcher = new SourceFetcher({
      ...{ ...known, book, loader, follower, report, leases: engines.leases },
      ...{ downloads: transfers, most: config.maxBody, budgets: bodyBudgets },
    });
    opened.push(() => fetcher.stop());
    let endMoves = (): void => undefined;
    opened.push(async () => endMoves());
    const parts: AppParts = {
      clock,
      config,
      eventLog,
      store,
      leases: engines.leases,
      follower,
      bodyBudgets,
      loader,
      downloads,
      counter,
      readiness,
      metrics,
      tokenUses,
      demoTokens,
      sessionKey: secrets.derived('sessions of the console'),
      answerKey: secrets.derived('answers that are given again'),
      sql: threads
        ? answersInProcesses(config)
        : answersHere({
            ...{ dataDir, log: eventLog, store, deliveries: engines.deliveries },
            directory: async () => follower.directory,
          }),
      rebuilding: rebuilder.rebuilding,
      ...(threads ? { whenMoved: (onMoved) => void (endMoves = whenMoved(onMoved)) } : {}),
      sources: new FeedSources({ ...known, book, addressProblem: (url) => addressProblem(url, allowed) }),
      subscriptions: {
        deliveries: engines.deliveries,
        secrets: () => facts.secrets,
        addressProblem: (url) => addressProblem(url, allowed),
        convertible: () => facts.convertible(),
        testWithin,
        keepMs: config.notifyKeep,
      },
      ...(log === undefined ? {} : { log }),
      ...(visibleWithin === undefined ? {} : { visibleWithin }),
    };
    const app = await createApp(parts);
    const close = async (): Promise<void> => {
      await fetcher.stop();
      await transfers.close();
      await stopServing({ app, loader, downloads, exporter });
      await rebuilder.end();
      await tokenUses.close();
      await counter.close();
      ending.abort();
      endMoves();
      await facts.ended;
    };
    return { app, parts, exporter, fetcher, close };
  }, report);
}

export interface Serving {
  readonly app: NestFastifyApplication;
  readonly loader: ProductLoader;
  readonly downloads: RenderedFeeds;
  readonly exporter: ProductExporter & { end(): Promise<void> };
}

/** Time that downloads in progress have to finish when the server stops (ms). */
const DOWNLOADS_END_MS = 5_000;

/**
 * Takes no more requests and finishes those accepted. A load is aborted between two appends, a download after a
 * while, so that neither delays the stop for long.
 */
export async function stopServing(
  { app, loader, downloads, exporter }: Serving,
  downloadsEnd = DOWNLOADS_END_MS,
): Promise<void> {
  const late = setTimeout(() => {
    // Closed again below, which raises what has failed.
    downloads.close().catch(() => undefined);
  }, downloadsEnd);
  const ends = await Promise.allSettled([app.close(), loader.close()]);
  clearTimeout(late);
  ends.push(
    ...(await Promise.allSettled([downloads.close()])),
    ...(await Promise.allSettled([exporter.end()])),
  );
  raise(ends.filter((end) => end.status === 'rejected').map(({ reason }): unknown => reason));
}

/** What the API answers about notifications, followed from the log: rates, and whose deliveries it has. */
class NotificationFacts extends FollowedLog {
  private rates: RatesEvent['data'] | undefined;
  private owner: DeliveriesOwned['data'] | undefined;

  constructor(
    clock: Clock,
    log: EventLog,
    private readonly own: Secrets,
    signal: AbortSignal,
  ) {
    const prefixes = [RATES_STREAM, OWNER_STREAM];
    super(
      clock,
      log,
      { prefixes, apply: (event) => this.apply(event), subject: 'what is known of rates' },
      signal,
    );
  }

  convertible(): ReadonlySet<string> | undefined {
    return this.rates && new Set(['EUR', ...Object.keys(this.rates.rates)]);
  }

  /** The secrets that messages are signed with. Raises `EngineUnavailable` if this server has another key. */
  get secrets(): Secrets {
    const trouble = this.trouble();
    if (trouble !== undefined) throw new EngineUnavailable(trouble);
    return this.own;
  }

  /** Why the secrets of subscriptions cannot be answered; undefined if they can. */
  trouble(): string | undefined {
    if (this.owner === undefined || this.owner.key === this.own.fingerprint) return undefined;
    return 'secrets are not available: NOTIFY_KEY of this server is not the one that messages are signed with';
  }

  private apply({ type, data }: RecordedEvent): void {
    if (type === 'ExchangeRatesPublished') {
      const published = { data: JSON.parse(data) as RatesEvent['data'] };
      if (hasRates(published)) this.rates = published.data;
    }
    if (type === 'DeliveriesOwned') {
      const owner = JSON.parse(data) as DeliveriesOwned['data'];
      if (isOwner(owner)) this.owner = owner;
    }
  }
}
