import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { PROJECTIONS } from '../../projections';
import { claimService, ClaimsModule } from '../services/claims/claims.controller';
import { baseUrlAt, type Config } from '../settings/config';
import { DirectoryView, FollowedDirectory } from '../network/follower';
import { isExpired } from '../network/organisations';
import { type TokenUses } from '../network/token-uses';
import { ConsoleModule, CONSOLE_ROUTES } from '../console/console.controller';
import { DocsModule, DOCS_ROUTES } from '../docs/docs.controller';
import { type OfferedToken } from '../docs/operation';
import { httpAdapter } from '../http/adapter';
import { Clock } from '../runtime/clock';
import { DescribeModule } from '../http/describe';
import { RequestJournal } from '../http/idempotency';
import { installHttp, HttpModule } from '../http/install';
import { type BodyBudgets } from '../http/posted-body';
import { type HttpParts } from '../http/service';
import { type Reach, WaitForReadModels } from '../http/visible-writes';
import { EventLog } from '../kernel/event-log';
import { type Leases } from '../kernel/leases';
import { ReadStore } from '../kernel/read-store';
import { type Metrics } from '../operations/rest/metrics.controller';
import { OperatorsModule, type Readiness } from '../operations/rest/operators.module';
import { type AnswerSql } from '../operations/sql/remote';
import { type Rebuilding } from '../operations/projections';
import { operatorService } from '../operations/rest/operator-service';
import { type ProductLoader } from '../services/products/load/load-feed';
import { CountedFeeds, FeedStates } from '../services/products/feed.queries';
import { type DownloadCounter } from '../services/products/download-counter';
import { type RenderedFeeds } from '../services/products/download/rendered-feeds';
import { productService, ProductsModule } from '../services/products/products.controller';
import { FeedSources } from '../services/products/sources';
import { AheadWait } from '../projector/ahead';
import { type Moved, PositionWait } from '../projector/wait';
import { type SubscriptionParts } from '../services/subscriptions/subscription.queries';
import { subscriptionServices, SubscriptionsModule } from '../services/subscriptions/subscriptions.module';
import { transactionApi } from '../services/transactions/api';
import { TransactionsModule } from '../services/transactions/transactions.controller';
import { voucherService, VouchersModule } from '../services/vouchers/vouchers.controller';

/** What the application is made of: opened and closed by others. */
export interface AppParts {
  readonly config: Config;
  readonly eventLog: EventLog;
  readonly store: ReadStore;
  readonly leases: Leases;
  readonly follower: FollowedDirectory;
  readonly loader: ProductLoader;
  readonly downloads: RenderedFeeds;
  readonly counter: DownloadCounter;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly tokenUses: TokenUses;
  readonly subscriptions: SubscriptionParts;
  readonly rebuilding: Rebuilding;
  readonly sql: AnswerSql;
  readonly sources: FeedSources;
  readonly bodyBudgets: BodyBudgets;
  /** Calls back whenever read models have moved, if that is known. */
  readonly whenMoved?: (onMoved: (moved: Moved) => void) => void;
  /** Tokens that the documentation offers to everybody: those of a demonstration. */
  readonly demoTokens?: readonly OfferedToken[];
  /** Seals the sessions of the console. */
  readonly sessionKey: Uint8Array;
  /** Seals the answers to requests with an `Idempotency-Key`. */
  readonly answerKey: Uint8Array;
  readonly log?: FastifyBaseLogger;
  /** The present; tests provide another one. */
  readonly clock: Clock;
  /** How long small writes wait until queries see them (ms); tests wait longer. */
  readonly visibleWithin?: number;
}

const OPEN_ROUTES = [
  '/',
  '/1.0',
  '/health/live',
  '/health/ready',
  '/1.0/openapi',
  '/1.0/schemas',
  '/1.0/schemas/:file',
  '/1.0/schemas/events',
  '/1.0/schemas/events/:type',
  ...CONSOLE_ROUTES,
  ...DOCS_ROUTES,
];

@Module({})
class AppModule {
  static of(parts: AppParts, http: HttpParts): DynamicModule {
    const { config, eventLog, store, follower, loader, downloads, counter, readiness, metrics } = parts;
    const { clock } = parts;
    const waitFor = (takesLoads: boolean): PositionWait =>
      new PositionWait(
        clock,
        store,
        PROJECTIONS.filter((one) => (one.takesLoads === true) === takesLoads),
      );
    const [loads, others] = [waitFor(true), waitFor(false)];
    const waits = { loads: [loads], others: [others], all: [loads, others] };
    parts.whenMoved?.((moved) => {
      for (const wait of waits.all) wait.moved(moved);
    });
    const ahead = new AheadWait(clock, eventLog, store, PROJECTIONS);
    const reach: Reach = async (position, milliseconds, { readModels = 'others', stream }) => {
      const waiting = waits[readModels].map((wait) => wait.until(position, milliseconds));
      const areShown = Promise.all(waiting).then((shown) => shown.every(Boolean));
      const reached = await Promise.all([
        stream === undefined ? areShown : ahead.orShown(areShown, stream, position),
        follower.reachedWithin(position, milliseconds),
        parts.sources.reachedWithin(position, milliseconds),
      ]);
      return reached.every(Boolean);
    };
    const readModels = new WaitForReadModels(clock, reach, parts.visibleWithin);
    const states = new FeedStates(clock, store, follower);
    return {
      module: AppModule,
      global: true,
      imports: [
        HttpModule.with(http, readModels, clock),
        ProductsModule.with(config, { loader, downloads, counter }),
        VouchersModule.with(config),
        TransactionsModule,
        ClaimsModule,
        SubscriptionsModule.with(parts.subscriptions),
        OperatorsModule.with({ readiness, metrics }, parts.sql, {
          ...config,
          config,
          leases: parts.leases,
          deliveries: parts.subscriptions.deliveries,
          rebuilding: parts.rebuilding,
        }),
        DescribeModule,
        DocsModule.with(parts.demoTokens ?? []),
        ConsoleModule.with(parts.sessionKey),
      ],
      providers: [
        { provide: EventLog, useValue: eventLog },
        { provide: ReadStore, useValue: store },
        { provide: FollowedDirectory, useValue: follower },
        { provide: DirectoryView, useValue: follower },
        { provide: FeedStates, useValue: states },
        { provide: FeedSources, useValue: parts.sources },
        { provide: CountedFeeds, useValue: new CountedFeeds(store, states, follower) },
      ],
      exports: [EventLog, ReadStore, FollowedDirectory, DirectoryView, FeedStates, CountedFeeds, FeedSources],
    };
  }
}

/** The HTTP application, initialised but not listening. */
export async function createApp(parts: AppParts): Promise<NestFastifyApplication> {
  const { config, clock, follower, log, tokenUses } = parts;
  const messages = subscriptionServices({ transactions: transactionApi });
  const http: HttpParts = {
    ...config,
    bodyBudgets: parts.bodyBudgets,
    services: [productService, voucherService, claimService, ...messages, operatorService],
    openRoutes: OPEN_ROUTES,
    journal: new RequestJournal(clock, parts.subscriptions.deliveries, parts.answerKey),
    baseUrl: () => baseUrlAt(config, portOf(app) ?? config.port),
    callerOf: (hash) => {
      const caller = follower.directory.organisations.callerOf(hash);
      return caller === undefined || isExpired(caller, clock.now()) ? undefined : caller;
    },
    tokenUsed: (hash) => tokenUses.note(hash),
  };
  const app: NestFastifyApplication = await NestFactory.create<NestFastifyApplication>(
    AppModule.of(parts, http),
    httpAdapter(log),
    { logger: false, bodyParser: false, abortOnError: false },
  );
  installHttp(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}

function portOf(app: NestFastifyApplication): number | undefined {
  const address = app.getHttpServer().address();
  return typeof address === 'object' ? address?.port : undefined;
}
