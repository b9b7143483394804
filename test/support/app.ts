import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PROJECTIONS } from '../../projections';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { type AppParts, createApp } from '../../src/app';
import { readConfig } from '../../src/config';
import { type FollowedDirectory, followDirectory } from '../../src/directory/follower';
import { type Engines, openEngines } from '../../src/engines/open';
import { type SettingName } from '../../src/settings';
import { importNetwork } from '../../src/ops/import-network';
import { makeLoader } from '../../src/host/loader';
import { Exporter } from '../../src/products/download/exporter';
import { RenderedFeeds } from '../../src/products/download/rendered-feeds';
import { readinessOf } from '../../src/host/readiness';
import { ownEngines, type TestedEngines } from './engines';

/** A response as `inject` gives it. */
export type Response = Awaited<ReturnType<NestFastifyApplication['inject']>>;

export interface TestAppOptions {
  /** A network file. */
  readonly network: object;
  /** What loads and rate limits take for the present. */
  readonly now?: () => Date;
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>;
  /** The read models stand still until `project`. */
  readonly paused?: boolean;
  /** By default those that the suite is run over. */
  readonly engines?: TestedEngines;
}

export interface TestRequest {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** The whole application over a temporary folder, in one thread; clients are played by the tests. */
export class TestApp {
  private constructor(
    readonly engines: Engines,
    readonly http: NestFastifyApplication,
    readonly follower: FollowedDirectory,
    private readonly opened: (() => Promise<unknown>)[],
    private readonly now: () => Date,
    private readonly runner: Runner,
    /** The application once more, as another process or a later one has it, or with other parts; to be closed by the test. */
    readonly again: (others?: Partial<AppParts>) => Promise<NestFastifyApplication>,
    readonly exporter: Exporter,
    readonly feeds: RenderedFeeds,
    /** The data folder. */
    readonly folder: string,
  ) {}

  static async start(options: TestAppOptions): Promise<TestApp> {
    const { network, now = () => new Date(), settings = {}, paused = false } = options;
    const dataDir = await mkdtemp(join(tmpdir(), 'affilog-api-'));
    const own = await ownEngines(dataDir, options.engines);
    const config = readConfig({
      DATA_DIR: dataDir,
      BASE_URL: 'https://api.example',
      ...own.settings,
      ...settings,
    });
    const engines = await openEngines({ ...config, threads: false });
    const ending = new AbortController();
    const follower = followDirectory(engines.log, ending.signal);
    const loader = makeLoader(engines.log, follower, dataDir, { now });
    const runner = new Runner(engines.log, engines.store, PROJECTIONS, { owner: randomUUID(), code: 'test' });
    const { store } = engines;
    const { position } = await importNetwork(engines.log, network, { at: now().toISOString() });
    await follower.reached(position);
    const readiness = await readinessOf(engines, follower, {
      projectorTrouble: async () => runner.trouble(),
    });
    const exporter = new Exporter(store, follower);
    const feeds = new RenderedFeeds(exporter, join(dataDir, 'spool'), config.downloadSpace);
    const again = (others: Partial<AppParts> = {}): Promise<NestFastifyApplication> =>
      createApp({
        config,
        eventLog: engines.log,
        store,
        follower,
        loader,
        feeds,
        readiness,
        now,
        ...others,
      });
    const http = await again();
    const app = new TestApp(
      engines,
      http,
      follower,
      [
        () => rm(dataDir, { recursive: true }),
        () => own.remove(),
        () => engines.close(),
        () => (ending.abort(), follower.ended),
        () => runner.stop(),
        () => loader.close(),
        () => exporter.end(),
        () => feeds.close(),
        () => http.close(),
      ],
      now,
      runner,
      again,
      exporter,
      feeds,
      dataDir,
    );
    if (!paused) await app.project();
    return app;
  }

  /** Lets the read models follow the log; resolves when they have caught up with it. */
  async project(): Promise<void> {
    await this.runner.start();
    await this.settled();
  }

  /** Lets the read models stand still. */
  async stopProjecting(): Promise<void> {
    await this.runner.stop();
  }

  /** Imports a network file, as an operator does. */
  async import(network: object, { prune = false }: { readonly prune?: boolean } = {}): Promise<void> {
    await importNetwork(this.engines.log, network, { at: this.now().toISOString(), prune });
    await this.follower.reached(await this.engines.log.head());
  }

  /** Sends a request to a target, `token` behind it; a body is JSON unless headers say otherwise. */
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

  /** Waits until everything that has been written can be read. */
  async settled(): Promise<void> {
    const { log, store } = this.engines;
    const position = await log.head();
    await this.follower.reached(position);
    if (await waitForPosition(store, PROJECTIONS, position, 30_000)) return;
    throw new Error(`the read models have not reached ${position} within half a minute`);
  }

  async close(): Promise<void> {
    for (const close of this.opened.splice(0).reverse()) await close();
  }
}
