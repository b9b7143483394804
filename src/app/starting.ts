import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { type Logger } from 'pino';
import { PROJECTIONS } from '../../projections';
import { HEADERS_TIMEOUT, MAX_HEADERS } from '../http/adapter';
import { CORS_HEADERS } from '../http/cors';
import { loggedTarget } from '../http/request-log';
import { namingRequest, REQUEST_ID, requestIdOf } from '../http/request-id';
import { type ReadStore } from '../kernel/read-store';
import { availabilityOf } from '../projector/generations';
import { type RebuildProgress } from '../projector/rebuild';
import { reasonOf } from '../runtime/unavailable';
import { errorsAsJson, starting } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { writeJson } from '../wire/json/write';
import { parseRequestTarget } from '../wire/keys/request-target';
import { type Projector } from './roles/projector';

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

/** How long nobody may be building missing read models before requests are accepted without them (ms): writes need none. */
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
  return `${BUILDING}: ${percent} % of the log, about ${Math.ceil(secondsLeft)} s left`;
}

interface StartingAnswer {
  readonly status: number;
  readonly retryAfter?: number | undefined;
  readonly body: object;
}

/** How long the rest of a body is discarded, so that a client that sends all of it first gets the answer (ms). */
const LINGER_MS = 30_000;

const CORS_FIELDS = Object.fromEntries(CORS_HEADERS.map((line) => line.split(': '))) as Record<
  string,
  string
>;

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

  /** `reason` says what the process waits for. */
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
      ...CORS_FIELDS,
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

  private answerTo(url: string, id: string): StartingAnswer {
    const [path] = url.split('?');
    if (path === '/health/live') return { status: 200, body: { status: 'ok' } };
    if (path === '/health/ready')
      return { status: 503, retryAfter: 1, body: { status: 'waiting', waiting: { start: this.reason() } } };
    const fault = namingRequest(starting(this.reason()), id);
    return { status: fault.status, retryAfter: fault.details.retryAfter, body: errorsAsJson([fault]) };
  }
}
