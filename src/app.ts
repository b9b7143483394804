import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { PROJECTIONS } from '../projections/index';
import { waitForPosition } from '../projections/wait';
import { baseUrlAt, type Config } from './config';
import { FollowedDirectory } from './directory/follower';
import { httpAdapter } from './http/adapter';
import { DescribeModule } from './http/describe/describe.module';
import { type Described } from './http/describe/described';
import { installHttp } from './http/install';
import { type Position } from './kernel/event';
import { ReadStore } from './kernel/read-store';
import {
  FAILURES,
  type Failures,
  HealthController,
  READINESS,
  type Readiness,
} from './ops/health.controller';
import { type ProductLoader } from './products/commands';
import { productDescription } from './products/description';
import { FeedVersions } from './products/feed-version';
import { productService, ProductsModule } from './products/products.module';
import { SHOWN, type Shown } from './products/shown';

/** What the application is made of: opened by others, and closed by them. */
export interface AppParts {
  readonly config: Config;
  readonly store: ReadStore;
  readonly follower: FollowedDirectory;
  readonly versions: FeedVersions;
  readonly loader: ProductLoader;
  readonly readiness: Readiness;
  readonly log?: FastifyBaseLogger;
  readonly now?: () => Date;
}

/** Writes of no more changes wait until they can be read; for how long at most (`docs/decisions.md#x8`). */
const SMALL = { changes: 1000, milliseconds: 2000 } as const;

/** What the modules are told by the application itself. */
interface AppFacts {
  readonly shown: Shown;
  readonly failures: Failures;
  readonly described: Described;
}

@Module({})
class AppModule {
  static of(
    { config, store, follower, versions, loader, readiness }: AppParts,
    { shown, failures, described }: AppFacts,
  ): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [CqrsModule.forRoot(), ProductsModule.with(config, loader), DescribeModule.with(described)],
      controllers: [HealthController],
      providers: [
        { provide: ReadStore, useValue: store },
        { provide: FollowedDirectory, useValue: follower },
        { provide: FeedVersions, useValue: versions },
        { provide: SHOWN, useValue: shown },
        { provide: READINESS, useValue: readiness },
        { provide: FAILURES, useValue: failures },
      ],
      exports: [ReadStore, FollowedDirectory, FeedVersions, SHOWN],
    };
  }
}

/** The HTTP application, initialised but not listening. */
export async function createApp(parts: AppParts): Promise<NestFastifyApplication> {
  const { config, follower, store, log, now = () => new Date() } = parts;
  const waitFor = (position: Position, milliseconds: number): Promise<boolean> =>
    waitForPosition(store, PROJECTIONS, position, milliseconds);
  const shown: Shown = async ({ changes, position }) => {
    // Without a change there is nothing to wait for.
    if (changes > 0 && changes <= SMALL.changes) await waitFor(position, SMALL.milliseconds);
  };
  const failures = { unexpectedFailures: 0 };
  const baseUrl = (): string => baseUrlAt(config, portOf(app) ?? config.port);
  const described = { vendor: config.vendor, baseUrl, descriptions: [productDescription] };
  const app: NestFastifyApplication = await NestFactory.create<NestFastifyApplication>(
    AppModule.of(parts, { shown, failures, described }),
    httpAdapter(log),
    {
      logger: false,
      bodyParser: false,
      abortOnError: false,
    },
  );
  installHttp(app, {
    services: [productService],
    baseUrl,
    maxBody: config.maxBody,
    rateLimits: config.rateLimits,
    callerOf: (hash) => follower.directory.callerOf(hash),
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
