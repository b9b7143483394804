import { once } from 'node:events';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Registry } from 'prom-client';
import { version } from '../../package.json';
import { oldestUnrecorded } from '../../projections/feeds';
import { oldestSubscription } from '../../projections/subscriptions';
import { type ReceiverCounts } from '../delivery/scheduling/delivery-runner';
import { type Engines, enginesOf } from '../engines/open';
import { type FollowedDirectory } from '../network/follower';
import { lastDone } from '../operations/actions';
import { countParkedActions, parkedEventCounter } from '../operations/parked';
import { readModelStates } from '../operations/projections';
import { type Metrics } from '../operations/rest/metrics.controller';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type Report } from '../runtime/failure-report';
import { PROJECTOR_LEASE } from '../runtime/lease-holder';
import { countedByThreads, type MetricFamily, type MetricValue } from '../runtime/metrics';
import { withEngineTimeout } from '../runtime/unavailable';
import { type Config } from '../settings/config';
import { CONTENT_TYPES } from '../wire/api/format';
import { type RoleTroubles } from './readiness';
import { type Role } from './serve';

interface MeasuredParts {
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  readonly config: Pick<Config, 'dataDir' | 'eventLog' | 'readStore'>;
  readonly roles: readonly Role[];
  readonly troubles?: RoleTroubles;
  /** Of the notifier of this process. */
  readonly receivers?: (() => Promise<ReceiverCounts>) | undefined;
}

/** How long an engine or a thread may take to answer: less than Prometheus waits (ms). */
const ANSWER_MS = 5_000;

type Find = () => Promise<readonly MetricFamily[]> | readonly MetricFamily[];

/**
 * What a process measures (`docs/decisions.md#x120`): what its threads count, and what is looked up when somebody asks.
 */
export class ProcessMetrics implements Metrics {
  private readonly parts: Readonly<Record<string, Find>>;
  private readonly added: (() => readonly MetricFamily[])[] = [countedByThreads];
  private defaults: Registry | undefined;
  private gathering: Promise<string> | undefined;

  constructor({ engines, follower, config, roles, troubles = {}, receivers }: MeasuredParts) {
    const countParkedEvents = parkedEventCounter(engines.log);
    const lastBackup = lastDone(engines.log, 'backup');
    this.parts = {
      build: () => [
        gauge('affilog_build_info', 'The program, and the kinds of its engines.', [
          [{ version, ...snakeCase(enginesOf(config)) }, 1],
        ]),
      ],
      roles: async () => [
        gauge(
          'affilog_role_up',
          'Whether a role of this process makes progress.',
          await upOf(roles, troubles),
        ),
      ],
      engines: async () => [
        gauge('affilog_engine_up', 'Whether an engine answers.', [
          [{ engine: 'log' }, await isUp(engines.log.head())],
          [{ engine: 'read_store' }, await isUp(engines.store.holder(PROJECTOR_LEASE.name, 0, 0))],
        ]),
      ],
      read_models: async () => await readModelFamilies(engines),
      parked: async () => [
        gauge(
          'affilog_parked',
          'What is parked outside of read models: actions of automations, and events.',
          [
            [{ in: 'automations' }, await countParkedActions(engines.store)],
            [{ in: 'matcher' }, await countParkedEvents()],
            [{ in: 'directory' }, follower.directory.unusableCount],
          ],
        ),
      ],
      feed_changes: async () => [
        gauge(
          'affilog_feed_changes_behind_seconds',
          'Since when a load of products waits to be recorded for its subscribers: what they are notified of follows.',
          [[{}, await secondsBehind(engines.store)]],
        ),
      ],
      backups: async () => [
        gauge(
          'affilog_last_backup_timestamp_seconds',
          'When the last backup ended that was complete and verified; 0 if there was none.',
          [[{}, ((await lastBackup()) ?? 0) / 1000]],
        ),
      ],
      receivers: async () => receiverFamilies(await receivers?.()),
      disk: async () => await diskFamilies(config.dataDir),
    };
  }

  add(families: () => readonly MetricFamily[]): void {
    this.added.push(families);
  }

  /** Who asks meanwhile gets the same answer. */
  async text(): Promise<string> {
    this.gathering ??= this.gather().finally(() => (this.gathering = undefined));
    return await this.gathering;
  }

  private async gather(): Promise<string> {
    const { AggregatorRegistry, collectDefaultMetrics, Registry: Defaults } = await import('prom-client');
    if (this.defaults === undefined) {
      this.defaults = new Defaults();
      collectDefaultMetrics({ register: this.defaults });
    }
    const failed: Sample[] = [];
    const found = await Promise.all(
      Object.entries(this.parts).map(async ([part, find]) => {
        const families = await withEngineTimeout(
          SYSTEM_CLOCK,
          part,
          Promise.resolve().then(find),
          ANSWER_MS,
        ).catch(() => undefined);
        failed.push([{ part }, families === undefined ? 1 : 0]);
        return families ?? [];
      }),
    );
    const failures = gauge(
      'affilog_scrape_failed',
      'Whether a part of the metrics could not be read.',
      failed,
    );
    const families = [...this.added.flatMap((one) => one()), ...found.flat(), failures];
    const written = AggregatorRegistry.aggregate([families.map((one) => ({ ...one, aggregator: 'sum' }))]);
    return (await Promise.all([this.defaults.metrics(), written.metrics()])).join('');
  }
}

/** 0 if no load waits. */
async function secondsBehind(store: Engines['store']): Promise<number> {
  const subscribed = await oldestSubscription(store, 'products');
  const since = subscribed === undefined ? undefined : await oldestUnrecorded(store, subscribed);
  return since === undefined ? 0 : Math.max(0, (SYSTEM_CLOCK.now().getTime() - since) / 1000);
}

type Sample = readonly [labels: MetricValue['labels'], value: number];

function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'gauge', values: samples.map(([labels, value]) => ({ labels, value })) };
}

function snakeCase(labels: Readonly<Record<string, string>>): MetricValue['labels'] {
  const renamed = Object.entries(labels).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(renamed) as MetricValue['labels'];
}

async function isUp(answer: Promise<unknown>): Promise<number> {
  return await withEngineTimeout(SYSTEM_CLOCK, 'the engine', answer, ANSWER_MS / 2).then(
    () => 1,
    () => 0,
  );
}

async function upOf(roles: readonly Role[], troubles: RoleTroubles): Promise<readonly Sample[]> {
  return await Promise.all(
    roles.map(async (role): Promise<Sample> => {
      const trouble = role === 'api' ? undefined : troubles[role];
      const isFine =
        trouble === undefined || (await trouble().catch(() => 'its thread has died')) === undefined;
      return [{ role }, isFine ? 1 : 0];
    }),
  );
}

const READ_MODEL_STATES = ['building', 'catching up', 'live', 'paused', 'degraded', 'failed'] as const;

async function readModelFamilies(engines: Engines): Promise<readonly MetricFamily[]> {
  const all = await readModelStates(engines, SYSTEM_CLOCK);
  const each = (value: (one: (typeof all)[number]) => number | undefined): readonly Sample[] =>
    all.flatMap((one): readonly Sample[] => {
      const known = value(one);
      return known === undefined ? [] : [[{ read_model: one.name }, known]];
    });
  return [
    gauge(
      'affilog_read_model_state',
      'The state of each read model: 1 for the one that it is in.',
      all.flatMap(({ name, state }) =>
        READ_MODEL_STATES.map((one): Sample => [
          { read_model: name, state: one.replace(' ', '_') },
          one === state ? 1 : 0,
        ]),
      ),
    ),
    gauge(
      'affilog_read_model_lag_events',
      'Events that a read model lacks, estimated beyond 10,000.',
      each(({ lagEvents }) => lagEvents),
    ),
    gauge(
      'affilog_read_model_lag_seconds',
      'Age of the first event that a read model lacks.',
      each(({ lagSeconds }) => lagSeconds),
    ),
    gauge(
      'affilog_read_model_parked_documents',
      'Parked documents of a read model.',
      each(({ parked }) => parked),
    ),
    gauge(
      'affilog_read_model_size_bytes',
      'Disk space of a read model with all its generations.',
      each(({ bytes }) => bytes),
    ),
  ];
}

function receiverFamilies(counts: ReceiverCounts | undefined): readonly MetricFamily[] {
  const states = Object.entries(counts?.receivers ?? {}).map(([state, value]): Sample => [{ state }, value]);
  return [
    gauge(
      'affilog_receivers',
      'Receivers of the partitions of this process by state: resting ones have failed too often, failing ones lately.',
      states,
    ),
    gauge(
      'affilog_messages_waiting',
      'Messages to the receivers of this process that are due, or tried again later.',
      counts === undefined ? [] : [[{}, counts.waiting]],
    ),
  ];
}

/** What the files of the data folder belong to, by their paths in it. */
const FILES: readonly (readonly [part: string, path: RegExp])[] = [
  ['log', /^log\.sqlite/],
  ['deliveries', /^deliveries\.sqlite/],
  ['read', /^read\//],
];

async function diskFamilies(dataDir: string): Promise<readonly MetricFamily[]> {
  const sizes = new Map(FILES.map(([part]) => [part, { wal: 0, all: 0 }]));
  for (const entry of await readdir(dataDir, { recursive: true })) {
    const [part] = FILES.find(([, path]) => path.test(entry)) ?? [];
    const size = part === undefined ? undefined : sizes.get(part);
    if (size === undefined) continue;
    // It may be removed meanwhile.
    const found = await lstat(join(dataDir, entry)).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    size.all += found.size;
    if (entry.endsWith('-wal')) size.wal += found.size;
  }
  const { bavail, blocks, bsize } = await statfs(dataDir);
  const parts = [...sizes];
  return [
    gauge(
      'affilog_wal_size_bytes',
      'Size of the write-ahead logs of SQLite.',
      parts.map(([part, { wal }]) => [{ part }, wal]),
    ),
    gauge(
      'affilog_files_size_bytes',
      'Size of the files of the embedded engines.',
      parts.map(([part, { all }]) => [{ part }, all]),
    ),
    gauge('affilog_disk_free_bytes', 'Free space of the file system of the data folder.', [
      [{}, bavail * bsize],
    ]),
    gauge('affilog_disk_size_bytes', 'Size of the file system of the data folder.', [[{}, blocks * bsize]]),
  ];
}

/** Metrics are not for other machines, unless somebody with a token asks for them. */
const LOOPBACK = '127.0.0.1';

/** Serves the metrics of a process at a port of this machine, without a token. Raises the error of the system. */
export class MetricsPort {
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch((error: unknown) => {
      this.report(String(error));
      response.destroy();
    });
  });

  private constructor(
    private readonly metrics: Pick<Metrics, 'text'>,
    private readonly report: Report,
  ) {}

  static async open(port: number, metrics: Pick<Metrics, 'text'>, report: Report): Promise<MetricsPort> {
    const opened = new MetricsPort(metrics, report);
    opened.server.listen(port, LOOPBACK);
    await once(opened.server, 'listening').catch((error: unknown) => {
      throw Object.assign(error as Error, { flag: '--metrics-port' });
    });
    return opened;
  }

  get url(): string {
    const address = this.server.address();
    return `http://${LOOPBACK}:${typeof address === 'object' ? address?.port : ''}/metrics`;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer({ method = '', url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = url.split('?');
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || path !== '/metrics') {
      response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('expected GET /metrics\n');
      return;
    }
    const body = method === 'HEAD' ? undefined : await this.metrics.text();
    response.writeHead(200, { 'Content-Type': CONTENT_TYPES.text, 'Cache-Control': 'no-store' }).end(body);
  }
}
