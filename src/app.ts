import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { PROJECTIONS } from '../projections/index';
import { PositionWait } from './projector/wait';
import { baseUrlAt, type Config } from './config';
import { FollowedDirectory } from './directory/follower';
import { httpAdapter } from './http/adapter';
import { CLOCK, type Clock } from './http/clock';
import { DescribeModule } from './http/describe/describe.module';
import { type Described } from './http/describe/described';
import { installHttp } from './http/install';
import { type Service } from './http/service';
import { SHOWN, type Shown } from './http/shown';
import { type Position } from './kernel/event';
import { EngineUnavailable, EventLog } from './kernel/event-log';
import { answerInTime } from './kernel/in-time';
import { ReadStore } from './kernel/read-store';
import {
  FAILURES,
  type Failures,
  HealthController,
  READINESS,
  type Readiness,
} from './ops/rest/health.controller';
import { MappingsController } from './ops/rest/mappings.controller';
import { opsService } from './ops/rest/ops-service';
import { type ProductLoader } from './products/commands';
import { CountedFeeds } from './products/feed-counts.queries';
import { FeedStates } from './products/feed-states.queries';
import { type RenderedFeeds } from './products/download/rendered-feeds';
import { productService, ProductsModule } from './products/products.module';
import { voucherService, VouchersModule } from './vouchers/vouchers.module';

/** What the application is made of: opened by others, and closed by them. */
export interface AppParts {
  readonly config: Config;
  readonly eventLog: EventLog;
  readonly store: ReadStore;
  readonly follower: FollowedDirectory;
  readonly loader: ProductLoader;
  readonly feeds: RenderedFeeds;
  readonly readiness: Readiness;
  readonly log?: FastifyBaseLogger;
  readonly now?: Clock;
}

const SERVICES: readonly Service[] = [productService, voucherService, opsService];

const OPEN_ROUTES = [
  '/health/live',
  '/health/ready',
  '/docs',
  '/docs/:file',
  '/1.0/openapi',
  '/1.0/schemas/:file',
];

/** Writes of no more changes wait until they can be read; for how long at most (`docs/decisions.md#x8`). */
const SMALL = { changes: 1000, milliseconds: 2000 } as const;
/** How much longer than it waits a read store may take to say how far it is (ms). */
const LOOK_MS = 500;

/** What the modules are told by the application itself. */
interface AppFacts {
  readonly shown: Shown;
  readonly failures: Failures;
  readonly described: Described;
  readonly now: Clock;
}

@Module({})
class AppModule {
  static of(
    { config, eventLog, store, follower, loader, feeds, readiness }: AppParts,
    { shown, failures, described, now }: AppFacts,
  ): DynamicModule {
    const states = new FeedStates(store, follower);
    return {
      module: AppModule,
      global: true,
      imports: [
        CqrsModule.forRoot(),
        ProductsModule.with(config, { loader, feeds }),
        VouchersModule.with(config),
        DescribeModule.with(described),
      ],
      controllers: [HealthController, MappingsController],
      providers: [
        { provide: EventLog, useValue: eventLog },
        { provide: ReadStore, useValue: store },
        { provide: FollowedDirectory, useValue: follower },
        { provide: FeedStates, useValue: states },
        { provide: CountedFeeds, useValue: new CountedFeeds(store, states, follower) },
        { provide: SHOWN, useValue: shown },
        { provide: CLOCK, useValue: now },
        { provide: READINESS, useValue: readiness },
        { provide: FAILURES, useValue: failures },
      ],
      exports: [EventLog, ReadStore, FollowedDirectory, FeedStates, CountedFeeds, SHOWN, CLOCK],
    };
  }
}

/** The HTTP application, initialised but not listening. */
export async function createApp(parts: AppParts): Promise<NestFastifyApplication> {
  const { config, follower, store, log, now = () => new Date() } = parts;
  const wait = new PositionWait(store, PROJECTIONS);
  const waitFor = (position: Position, milliseconds: number, look = LOOK_MS): Promise<boolean> =>
    answerInTime('the read store', wait.until(position, milliseconds), milliseconds + look);
  const shown: Shown = async ({ changes, position }) => {
    // Without a change there is nothing to wait for.
    if (changes === 0 || changes > SMALL.changes) return;
    await waitFor(position, SMALL.milliseconds, 0).catch((error: unknown) => {
      // What has been written stays so, whether it can be read by now or not.
      if (!(error instanceof EngineUnavailable)) throw error;
    });
  };
  const failures = { unexpectedFailures: 0 };
  const baseUrl = (): string => baseUrlAt(config, portOf(app) ?? config.port);
  const described = { vendor: config.vendor, baseUrl, services: SERVICES };
  const app: NestFastifyApplication = await NestFactory.create<NestFastifyApplication>(
    AppModule.of(parts, { shown, failures, described, now }),
    httpAdapter(log),
    {
      logger: false,
      bodyParser: false,
      abortOnError: false,
    },
  );
  installHttp(app, {
    services: SERVICES,
    openRoutes: OPEN_ROUTES,
    baseUrl,
    maxBody: config.maxBody,
    rateLimits: config.rateLimits,
    callerOf: (hash) => follower.directory.callerOf(hash),
    searchTime: config.searchTime,
    downloadRate: config.downloadRate,
    waitFor,
    now,
    onUnexpected: () => (failures.unexpectedFailures += 1),
  });
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}

function portOf(app: NestFastifyApplication): number | undefined {
  const address = app.getHttpServer().address();
  return typeof address === 'object' ? address?.port : undefined;
}
