import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { finished } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { version } from '../../package.json';
import { type Logger } from 'pino';
import { PROJECTIONS } from '../../projections';
import { createDemo, demoLines, offeredTokens } from '../demo/create-demo';
import { openDemoReceiver } from '../demo/subscriptions';
import { type Engines, enginesOf, openEngines } from '../engines/open';
import { HEADERS_TIMEOUT, MAX_HEADERS, CORS_HEADERS } from '../http/adapter';
import { loggedTarget } from '../http/request-log';
import { EngineUnavailable } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { allowedBy, secretsOf } from '../operations/installation';
import { availabilityOf } from '../projector/generations';
import { refuseOtherLog } from '../projector/origin';
import { type RebuildProgress } from '../projector/rebuild';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { failureReporter, type Report } from '../runtime/failure-report';
import { reasonOf, retryNotices } from '../runtime/unavailable';
import { baseUrlAt, type Config, warningsOf } from '../settings/config';
import { errorsAsJson, starting } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { writeJson } from '../wire/json/write';
import { parseRequestTarget } from '../wire/keys/request-target';
import { openApi } from './api';
import { baseOver, openAll } from './opened';
import { closeToOthers } from './private-folder';
import { MetricsPort, ProcessMetrics } from './metrics';
import { programLog } from './program-log';
import { startAutomations } from './threads/automation';
import { type Notifying, startNotifier } from './threads/notifier';
import { type Projector, startProjector } from './threads/projector';
import { startReplay } from './threads/replay';
import { startTraces } from './tracing';
import { type Running, type ServeOptions } from './serve';
import { namingRequest, REQUEST_ID, requestIdOf } from '../http/request-state';

/** What `affilog receiver` listens on in the README. */
const DEMO_RECEIVER = '127.0.0.1:4000';

/**
 * Starts what a process has to do (docs/architecture.md, Processes): the engines, the threads of its roles, HTTP.
 * Raises `InvalidSetting`, `EngineUnavailable`, `OtherLog`, the error of the system when it cannot listen, and the
 * reason of `signal`, when all threads have ended.
 */
export async function start(
  settings: Config,
  { roles, demo }: ServeOptions,
  signal: AbortSignal,
): Promise<Running> {
  allowedBy(settings);
  const log = programLog(settings, process.stderr);
  const began = performance.now();
  const report = failureReporter(SYSTEM_CLOCK, log);
  return await openAll(
    async (opened) => {
      const startup = new Startup((line) => log.info(line));
      const port = roles.includes('api')
        ? await StartingPort.open(settings.port, settings.host, () => startup.reason, log)
        : undefined;
      if (port !== undefined) opened.push(() => port.close());
      const readers = Math.max(2, availableParallelism());
      const onRetry = retryNotices(SYSTEM_CLOCK, (line) => log.warn(line));
      const open = await closeToOthers(settings.dataDir);
      opened.push(await startTraces(settings, report));
      const engines = await openEngines({ ...settings, threads: true, readers }, onRetry, signal);
      const base = baseOver(SYSTEM_CLOCK, engines, report);
      opened.push(() => base.close());
      await refuseOther(engines);
      // A process that cannot start prints the reason and nothing else.
      log.info({ version, ...enginesOf(settings), dataDir: resolve(settings.dataDir), roles }, 'starting');
      for (const line of [...open, ...(port === undefined ? [] : warningsOf(settings))]) log.warn(line);
      const endLines = startup.repeat();
      opened.push(async () => endLines());
      startup.waitsFor('the reference data is being read');
      await base.follower.ready;
      const show = (reason: string): void => startup.waitsFor(reason);
      const receiver = demo && roles.includes('notifier') ? await openDemoReceiver(engines.log) : undefined;
      if (receiver !== undefined) opened.push(() => receiver.close());
      const demoTokens = demo ? await demoOf(engines, settings, show, receiver?.address) : [];
      const config = demo ? allowing(settings, receiver?.address) : settings;
      // Before any ticket is issued, so that one thread appends to it.
      if (roles.includes('projector')) await engines.deliveries();
      const projector = roles.includes('projector')
        ? startProjector(engines, { keepMs: config.notifyKeep, retainMs: config.rollbackWithin }, report)
        : undefined;
      if (projector !== undefined) opened.push(() => projector.stop());
      const ending = new AbortController();
      opened.push(async () => ending.abort());
      const readable = untilReadable({ store: engines.store, projector, show, signal: ending.signal });
      // Awaited below; until then a failure must not count as unhandled.
      readable.catch(() => undefined);
      const automations = roles.includes('automation')
        ? startAutomations(engines, config, report)
        : undefined;
      if (automations !== undefined) opened.push(() => automations.stop());
      await automations?.start();
      const notifier = roles.includes('notifier') ? await notifierOver(engines, config, report) : undefined;
      if (notifier !== undefined) opened.push(() => notifier.stop());
      await notifier?.start();
      const troubles = {
        projector: projector?.trouble,
        automation: automations?.trouble,
        notifier: notifier?.trouble,
      };
      const receivers = notifier?.receivers;
      const metrics = new ProcessMetrics({ ...base, config, roles, troubles, receivers });
      const metricsPort =
        config.metricsPort === undefined
          ? undefined
          : await MetricsPort.open(config.metricsPort, metrics, report);
      if (metricsPort !== undefined) opened.push(() => metricsPort.close());
      const apiParts = {
        ...base,
        clock: SYSTEM_CLOCK,
        config,
        threads: true,
        report,
        log,
        troubles,
        metrics,
        demoTokens: offeredTokens(demoTokens),
      };
      const api = roles.includes('api') ? await openApi(apiParts) : undefined;
      if (api !== undefined) opened.push(() => api.close());
      api?.fetcher.start();
      const unreadable = await readable;
      if (unreadable !== undefined && api !== undefined)
        log.warn(`searches are answered as unavailable until the read models are there: ${unreadable}`);
      if (api !== undefined) await port?.handOver(api.app.getHttpServer());
      const replay =
        config.esdbPort === undefined ? undefined : startReplay(engines, config.esdbPort, report);
      if (replay !== undefined) opened.push(() => replay.end());
      const metricsLines = metricsPort === undefined ? [] : [`metrics are at ${metricsPort.url}`];
      const replayLines = replay === undefined ? [] : [`the log can be read at ${await replay.calls.open()}`];
      endLines();
      const url = port === undefined ? undefined : addressAt(config.host, port.port);
      log.info({ url, ms: Math.round(performance.now() - began) }, 'ready');
      return {
        ...(url === undefined ? {} : { url }),
        shown: [
          ...(demoTokens.length === 0
            ? []
            : demoLines(demoTokens, baseUrlAt(config, port?.port ?? config.port))),
          ...replayLines,
          ...metricsLines,
        ],
        stop: async () => {
          log.info('stopping');
          await opened.close();
        },
      };
    },
    report,
    signal,
  );
}

/** The demo may notify a receiver of this machine, and its own one at an address. */
function allowing(settings: Config, receiver?: string): Config {
  const { notifyAllow = DEMO_RECEIVER } = settings;
  return { ...settings, notifyAllow: receiver === undefined ? notifyAllow : `${notifyAllow},${receiver}` };
}

/** The tokens of the demo network, which is created if there is none. */
async function demoOf({ log }: Engines, config: Config, show: (step: string) => void, receiver?: string) {
  const key = (await secretsOf(config)).derived('tokens of the demonstration');
  return await createDemo(log, config.dataDir, show, { key, receiver });
}

/** Opens the delivery log first: its thread is shared. */
async function notifierOver(engines: Engines, config: Config, report: Report): Promise<Notifying> {
  await engines.deliveries();
  return startNotifier(engines, config, report);
}

/** When the read store is unavailable, the projector checks again. */
async function refuseOther({ log, store }: Engines): Promise<void> {
  await refuseOtherLog(log, store, PROJECTIONS).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

/** Where clients of this machine find the server. */
function addressAt(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A line is logged at this interval while a process starts, the first one after a moment (ms). */
const LINE_MS = { first: 1_000, interval: 5_000, look: 500 } as const;

/** What a process that is starting waits for: for requests that arrive meanwhile, and for the log. */
export class Startup {
  private current = 'the engines are being opened';
  private nextLine: number;

  constructor(
    private readonly log: (line: string) => void,
    /** A monotonic clock (ms). */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.nextLine = now() + LINE_MS.first;
  }

  get reason(): string {
    return this.current;
  }

  /** Logs the reason at each interval, however long it stays the same, until the function that it returns is called. */
  repeat(): () => void {
    const timer = setInterval(() => this.waitsFor(this.current), LINE_MS.look);
    return () => clearInterval(timer);
  }

  /** Logs the reason, at most once per interval. */
  waitsFor(reason: string): void {
    this.current = reason;
    if (this.now() < this.nextLine) return;
    this.nextLine = this.now() + LINE_MS.interval;
    this.log(`starting: ${reason}`);
  }
}

/** How long nobody may be building missing read models before requests are accepted: writes need none (ms). */
const PATIENCE_MS = 5_000;
const POLL_MS = 250;

interface ReadableOptions {
  readonly store: ReadStore;
  /** The projector of this process, which is started. */
  readonly projector?: Projector | undefined;
  /** Called regularly with what is being waited for. */
  readonly show: (reason: string) => void;
  readonly signal: AbortSignal;
  readonly patience?: number;
}

/**
 * Waits until every read model can be read, however long building them takes (`docs/decisions.md#x98`). Returns why
 * not, if nobody has been building them for a while: an unavailable read store, no projector.
 */
export async function untilReadable(options: ReadableOptions): Promise<string | undefined> {
  const { store, projector, show, signal, patience = PATIENCE_MS } = options;
  const opening = projector?.start().then(() => true);
  // Awaited below; until then a failure must not count as unhandled.
  opening?.catch(() => undefined);
  for (let quietSince = performance.now(); ;) {
    const { state, reason } = await look(store, projector);
    if (state === 'live') return undefined;
    if (state === 'building') quietSince = performance.now();
    else if (performance.now() - quietSince > patience) return reason;
    show(reason);
    const pause = after(POLL_MS, false, { signal }).catch(() => false);
    const isOpen = await Promise.race(opening === undefined ? [pause] : [opening, pause]);
    signal.throwIfAborted();
    if (isOpen) return undefined;
  }
}

interface Look {
  readonly state: 'live' | 'building' | 'missing';
  readonly reason: string;
}

async function look(store: ReadStore, projector: Projector | undefined): Promise<Look> {
  const [trouble, progress] = await Promise.all([projector?.trouble(), projector?.progress()]);
  if (trouble !== undefined) return { state: 'missing', reason: trouble };
  if (progress !== undefined) return { state: 'building', reason: textOf(progress) };
  try {
    const state = await availabilityOf(store, PROJECTIONS);
    return { state, reason: state === 'building' ? BUILDING : OPENING };
  } catch (error) {
    return { state: 'missing', reason: reasonOf(error) };
  }
}

const BUILDING = 'the read models are being built';
const OPENING = 'the read models are being opened';

/** Phases that take a part of the time that cannot be estimated. */
const PHASES = {
  index: 'the log has been read, indexes are being built',
  compare: 'they are being compared with the live generation',
  swap: 'they are being swapped in',
} as const;

function textOf({ phase, events, total, secondsLeft }: RebuildProgress): string {
  if (phase !== 'project') return `${BUILDING}: ${PHASES[phase]}`;
  const percent = total === 0 ? 0 : Math.floor((100 * events) / total);
  const left = secondsLeft === undefined ? '' : `, about ${Math.ceil(secondsLeft)} s left`;
  return `${BUILDING}: ${percent} % of the log${left}`;
}

/** How long the rest of a body is discarded, so that a client that sends all of it first gets the answer (ms). */
const LINGER_MS = 30_000;

/**
 * The port of a process that is starting (`docs/decisions.md#x98`): requests are answered 503, except `/health/live`,
 * until the port is handed over to the server of the application.
 */
export class StartingPort {
  private successor: Server | undefined;
  private readonly server = createServer(
    { maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_TIMEOUT, requireHostHeader: false },
    (request, response) => this.take(request, response),
  );

  /** `reason`: what the process waits for. */
  private constructor(
    private readonly reason: () => string,
    private readonly log?: Logger,
  ) {}

  /** Raises the error of the system when it cannot listen. */
  static async open(port: number, host: string, reason: () => string, log?: Logger): Promise<StartingPort> {
    const opened = new StartingPort(reason, log);
    opened.server.listen(port, host);
    await once(opened.server, 'listening');
    return opened;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on `successor` accepts the connections: it shares the socket, so that none is refused in between. */
  async handOver(successor: Server): Promise<void> {
    successor.listen(this.server);
    await once(successor, 'listening');
    this.successor = successor;
  }

  /** Closes the port unless it was handed over. */
  async close(): Promise<void> {
    if (this.successor !== undefined) return;
    this.server.close();
    this.server.closeAllConnections();
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    // A client that stays connected would never see the successor.
    response.shouldKeepAlive = false;
    if (this.successor === undefined) this.refuse(request, response);
    else this.successor.emit('request', request, response);
  }

  private refuse(request: IncomingMessage, response: ServerResponse): void {
    const id = requestIdOf(request);
    const { status, retryAfter, body } = this.answerTo(request.url ?? '', id);
    const text = writeJson(body);
    const path = loggedTarget(parseRequestTarget(request.url ?? ''));
    this.log?.info({ reqId: id, method: request.method, path, status }, 'request');
    response.writeHead(status, {
      ...CORS_HEADERS,
      [REQUEST_ID]: id,
      ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
      'Content-Type': CONTENT_TYPES.json,
      'Content-Length': Buffer.byteLength(text),
      'X-Content-Type-Options': 'nosniff',
    });
    response.write(text);
    // The connection is closed after the answer: before the client has sent its body, it might not see the answer.
    const late = setTimeout(() => request.destroy(), LINGER_MS).unref();
    finished(request, () => {
      clearTimeout(late);
      response.end();
    });
    request.resume();
  }

  private answerTo(
    url: string,
    id: string,
  ): { readonly status: number; readonly retryAfter?: number | undefined; readonly body: object } {
    const [path] = url.split('?');
    if (path === '/health/live') return { status: 200, body: { status: 'ok' } };
    if (path === '/health/ready')
      return { status: 503, retryAfter: 1, body: { status: 'waiting', waiting: { start: this.reason() } } };
    const fault = namingRequest(starting(this.reason()), id);
    return { status: fault.status, retryAfter: fault.details.retryAfter, body: errorsAsJson([fault]) };
  }
}
