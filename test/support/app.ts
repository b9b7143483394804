import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PROJECTIONS } from '../../projections';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { type AppParts, createApp } from '../../src/app/create-app';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Config, readConfig } from '../../src/settings/config';
import { type FollowedDirectory } from '../../src/network/follower';
import { type TokenUses } from '../../src/network/token-uses';
import { type Engines, openEngines } from '../../src/engines/open';
import { type SettingName } from '../../src/settings/settings';
import { type EventLog } from '../../src/kernel/event-log';
import { copyLog } from '../../src/operations/copy-log';
import { importNetwork } from '../../src/operations/import-network';
import { openApi } from '../../src/app/api';
import { baseOver } from '../../src/app/opened';
import { Exporter } from '../../src/services/products/download/exporter';
import { type RenderedFeeds } from '../../src/services/products/download/rendered-feeds';
import { type BodyBudgets } from '../../src/http/posted-body';
import { type SourceFetcher } from '../../src/services/products/source-fetcher';
import { TestClock } from './clock';
import { isolatedEngines, type TestedEngines } from './engines';

/** A response of `inject`. */
export type Response = Awaited<ReturnType<NestFastifyApplication['inject']>>;

export interface TestAppOptions {
  /** A network file. */
  readonly network: object;
  /** The clock of loads and rate limits. */
  readonly now?: () => Date;
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>;
  /** Values that no setting may have. */
  readonly config?: Partial<Config>;
  /** Do not project until `project` is called. */
  readonly paused?: boolean;
  /** How long small posts wait for the read models (ms); default: `VISIBLE_MS`, or as a server when paused. */
  readonly visibleWithin?: number;
  /** How long requests for tests of receivers wait (ms); by default not at all, since nothing is sent. */
  readonly testWithin?: number;
  /** Default: the engines that the suite runs with. */
  readonly engines?: TestedEngines;
  /** A log whose events the application starts with. */
  readonly copyOf?: EventLog;
}

export interface TestRequest {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** On a busy machine a projector that has to open a new generation may need more than the two seconds of a server. */
const VISIBLE_MS = 20_000;

/** The whole application in one thread, with a temporary data folder. */
export class TestApp {
  private constructor(
    readonly engines: Engines,
    readonly http: NestFastifyApplication,
    readonly follower: FollowedDirectory,
    private readonly opened: (() => Promise<unknown>)[],
    private readonly now: () => Date,
    private readonly runner: Runner,
    /** Creates another instance, like another process, or one with other parts. The test must close it. */
    readonly again: (others?: Partial<AppParts>) => Promise<NestFastifyApplication>,
    readonly exporter: Exporter,
    readonly feeds: RenderedFeeds,
    /** The data folder. */
    readonly folder: string,
    readonly tokenUses: TokenUses,
    /** Fetches sources of feeds when a test says so. */
    readonly fetcher: SourceFetcher,
    readonly bodyBudgets: BodyBudgets,
  ) {}

  static async start(options: TestAppOptions): Promise<TestApp> {
    const { network, now = () => new Date(), settings = {}, paused = false, copyOf } = options;
    const visibleWithin = options.visibleWithin ?? (paused ? undefined : VISIBLE_MS);
    const dataDir = await mkdtemp(join(tmpdir(), 'affilog-api-'));
    const own = await isolatedEngines(dataDir, options.engines);
    const config = {
      ...readConfig({ DATA_DIR: dataDir, BASE_URL: 'https://api.example', ...own.settings, ...settings }),
      ...options.config,
    };
    const engines = await openEngines({ ...config, threads: false });
    const base = baseOver(SYSTEM_CLOCK, engines);
    const { follower } = base;
    const runner = new Runner(engines.log, engines.store, PROJECTIONS, {
      clock: SYSTEM_CLOCK,
      owner: randomUUID(),
      code: 'test',
    });
    if (copyOf !== undefined) await copyLog(copyOf, engines.log);
    await importNetwork(SYSTEM_CLOCK, engines.log, network, { at: now().toISOString() });
    await follower.reached(await engines.log.head());
    const api = await openApi({
      ...base,
      config,
      threads: false,
      report: (failure) => {
        throw failure;
      },
      clock: new TestClock(now),
      testWithin: options.testWithin ?? 0,
      healthEvery: 0,
      ...(visibleWithin === undefined ? {} : { visibleWithin }),
      troubles: { projector: async () => runner.trouble() },
    });
    const { app: http, parts, exporter } = api;
    const again = (others: Partial<AppParts> = {}): Promise<NestFastifyApplication> =>
      createApp({ ...parts, ...others });
    const { downloads: feeds } = parts;
    if (!(exporter instanceof Exporter)) throw new Error('the exporter is in another thread');
    const app = new TestApp(
      engines,
      http,
      follower,
      [
        () => rm(dataDir, { recursive: true }),
        () => own.remove(),
        () => base.close(),
        () => runner.stop(),
        () => api.close(),
      ],
      now,
      runner,
      again,
      exporter,
      feeds,
      dataDir,
      parts.tokenUses,
      api.fetcher,
      parts.bodyBudgets,
    );
    if (!paused) await app.project();
    return app;
  }

  /** Starts projecting; resolves when the read models have caught up. */
  async project(): Promise<void> {
    await this.runner.start();
    await this.settled();
  }

  /** Stops projecting. */
  async stopProjecting(): Promise<void> {
    await this.runner.stop();
  }

  /** Imports a network file. */
  async import(network: object, { prune = false }: { readonly prune?: boolean } = {}): Promise<void> {
    await importNetwork(SYSTEM_CLOCK, this.engines.log, network, { at: this.now().toISOString(), prune });
    await this.follower.reached(await this.engines.log.head());
  }

  /** Sends a request to a target with `token` appended; a body is JSON unless headers specify otherwise. */
  async request(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS',
    target: string,
    { token, headers = {}, body }: TestRequest = {},
  ): Promise<Response> {
    const url = token === undefined ? target : `${target}${target.includes('?') ? '&' : '?'}token=${token}`;
    const type = body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
    return this.http.inject({
      method,
      url,
      headers: { ...type, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
  }

  get(target: string, request?: TestRequest): Promise<Response> {
    return this.request('GET', target, request);
  }

  post(target: string, request?: TestRequest): Promise<Response> {
    return this.request('POST', target, request);
  }

  delete(target: string, request?: TestRequest): Promise<Response> {
    return this.request('DELETE', target, request);
  }

  /** Waits until everything written is visible to reads. */
  async settled(): Promise<void> {
    const { log, store } = this.engines;
    const position = await log.head();
    await this.follower.reached(position);
    if (await waitForPosition(SYSTEM_CLOCK, store, PROJECTIONS, position, 30_000)) return;
    throw new Error(`the read models have not reached ${position} within 30 s`);
  }

  async close(): Promise<void> {
    for (const close of this.opened.splice(0).reverse()) await close();
  }
}
