import { type IncomingHttpHeaders } from 'node:http';
import { type Dispatcher } from 'undici';
import { NamedError } from '../../kernel/fault';
import { type Clock, type Timer } from '../../runtime/clock';
import { AllowedAddresses } from './addresses';
import { failureOf, Flood, RefusedTarget, retryAfterOf, USER_AGENT } from './attempt';
import {
  type ConnectionOptions,
  Connections,
  type ReceiverConnection,
  type ReceiverHost,
} from './connections';
import { ReceiverNames } from './dns';

const LIMITS = { connectMs: 5_000, answerMs: 30_000, totalMs: 30 * 60_000, mostAgeMs: 60_000 } as const;

interface DownloadLimits {
  /** Until an answer begins, and between two parts of it (ms). */
  readonly answerMs: number;
  /** From the start to the end, redirects included (ms). */
  readonly totalMs: number;
}

export interface DownloadOptions extends Partial<
  DownloadLimits & Pick<ConnectionOptions, 'ca' | 'connectMs' | 'resolve'>
> {
  readonly clock: Clock;
  /** What operators permit (`NOTIFY_ALLOW`). */
  readonly allowed?: AllowedAddresses;
  /** Bytes of a file as it is sent. */
  readonly most: number;
}

/** What a file that is known already is recognised by (RFC 9110, 13). */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
}

/** `unchanged`: it is still the file of the validators. The bytes are decompressed by whoever reads them. */
export type Downloaded =
  | { readonly is: 'unchanged' }
  | ({
      readonly is: 'file';
      readonly bytes: AsyncIterable<Buffer>;
      readonly type?: string;
      readonly disposition?: string;
    } & Validators);

/** A file cannot be had. The message is for whoever has named the URL: it has no address, path or secret. */
export class DownloadFailed extends NamedError {
  constructor(
    message: string,
    /** It was ended by us, or has failed for a reason of ours: it says nothing about the server. */
    readonly isOurs = false,
    /** How long the server asks not to be asked again (ms). */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Characters of a validator that is remembered. */
const MOST_VALIDATOR = 1024;

/**
 * Downloads files from URLs that somebody has named, by the rules for receivers (`docs/decisions.md#n9`): addresses
 * that are not public are refused, of each redirect too, and a connection is made to an address that was checked.
 * Bounded in time and size.
 */
export class Downloads {
  private readonly names: ReceiverNames;
  private readonly connections: Connections;
  private readonly limits: DownloadLimits;

  constructor(private readonly options: DownloadOptions) {
    const { allowed = AllowedAddresses.none, most, ...others } = options;
    this.names = new ReceiverNames(options.clock, !allowed.isEmpty);
    const resolve = (name: string): Promise<readonly string[]> => this.names.addressesOf(name);
    this.limits = { ...LIMITS, ...others };
    // Chunks and TLS records have frames of their own.
    const mostReceived = 2 * most + 1024 * 1024;
    this.connections = new Connections({ ...LIMITS, resolve, ...others, allowed, mostReceived });
  }

  /**
   * Gets a file. Raises `DownloadFailed`, as its bytes do if the rest of them does not come. They must be read to the
   * end, or be given up.
   */
  async get(address: string, known: Validators, signal: AbortSignal): Promise<Downloaded> {
    const { clock, most } = this.options;
    const until = clock.monotonic() + this.limits.totalMs;
    let url = new URL(address);
    for (let redirects = 0; ; redirects += 1) {
      const exchange = new Transfer(
        clock,
        this.hostOf(url),
        { url, known },
        { ...this.limits, until, most },
        signal,
      );
      const { status, headers } = await exchange.answer;
      if (status === 200) return fileOf(headers, exchange);
      exchange.end();
      if (status === 304) return { is: 'unchanged' };
      if (!REDIRECTS.has(status))
        throw new DownloadFailed(
          `the status is ${status}`,
          false,
          retryAfterOf(status, headers, clock.wall()),
        );
      if (redirects === MOST_REDIRECTS)
        throw new DownloadFailed(`more than ${MOST_REDIRECTS} redirects, one after the other`);
      url = targetOf(url, headers.location);
    }
  }

  async close(): Promise<void> {
    this.names.close();
    await this.connections.close();
  }

  private hostOf(url: URL): ReceiverHost {
    const host = this.connections.hostOf(url);
    if (host instanceof RefusedTarget) throw new DownloadFailed(host.message);
    return host;
  }
}

function targetOf(url: URL, location: string | undefined): URL {
  if (location === undefined || !URL.canParse(location, url.href))
    throw new DownloadFailed('a redirect names no usable address');
  const target = new URL(location, url);
  if (url.protocol === 'https:' && target.protocol !== 'https:')
    throw new DownloadFailed('a redirect leads from https to http');
  return target;
}

function fileOf(headers: IncomingHttpHeaders, exchange: Transfer): Downloaded {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (!['identity', 'gzip', 'x-gzip', ''].includes(encoding)) {
    exchange.end();
    throw new DownloadFailed('the content encoding is not gzip, which was asked for');
  }
  const {
    etag,
    'last-modified': lastModified,
    'content-type': type,
    'content-disposition': disposition,
  } = headers;
  return {
    is: 'file',
    bytes: exchange.bytes(),
    ...(isKept(etag) ? { etag } : {}),
    ...(isKept(lastModified) ? { lastModified } : {}),
    ...(type === undefined ? {} : { type }),
    ...(disposition === undefined ? {} : { disposition }),
  };
}

function isKept(value: string | undefined): value is string {
  return value !== undefined && value.length <= MOST_VALIDATOR;
}

interface FileRequest {
  readonly url: URL;
  readonly known: Validators;
}

interface TransferLimits extends DownloadLimits {
  /** Monotonic (ms). */
  readonly until: number;
  readonly most: number;
}

type AnswerHead = { readonly status: number; readonly headers: IncomingHttpHeaders };

/** Chunks that wait for whoever reads, before the connection waits too. */
const MOST_WAITING = 16;

/** One request and its answer, on a connection of its own, at the pace of whoever reads it. */
class Transfer implements Dispatcher.DispatchHandler {
  /** Rejects with `DownloadFailed`. */
  readonly answer: Promise<AnswerHead>;
  private answered: (answer: AnswerHead) => void = () => undefined;
  private refused: (error: DownloadFailed) => void = () => undefined;
  private connection: ReceiverConnection | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private readonly waiting: Buffer[] = [];
  private received = 0;
  private state: 'open' | 'complete' | DownloadFailed = 'open';
  private hasBegun = false;
  private isOver = false;
  private timer: Timer | undefined;
  private readonly totalTimer: Timer;
  private wake: () => void = () => undefined;

  constructor(
    private readonly clock: Clock,
    private readonly host: ReceiverHost,
    private readonly asked: FileRequest,
    private readonly limits: TransferLimits,
    private readonly signal: AbortSignal,
  ) {
    this.answer = new Promise((resolve, reject) => {
      [this.answered, this.refused] = [resolve, reject];
    });
    const late = (): void => this.fail(new DownloadFailed('the file did not arrive in time'));
    this.totalTimer = clock.timer(Math.max(1, limits.until - clock.monotonic()), late);
    this.expect();
    if (signal.aborted) this.stop();
    else {
      signal.addEventListener('abort', this.stop, { once: true });
      host.take(this.begin);
    }
  }

  /** Raises `DownloadFailed` unless all of it arrives. */
  async *bytes(): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const chunk = this.waiting.shift();
        if (chunk !== undefined) {
          if (this.state === 'open' && this.waiting.length === 0 && this.controller?.paused === true) {
            this.expect();
            this.controller.resume();
          }
          yield chunk;
        } else if (this.state === 'complete') return;
        else if (this.state !== 'open') throw this.state;
        else await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      this.end();
    }
  }

  /** Ends it with its connection. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.timer?.cancel();
    this.totalTimer.cancel();
    this.signal.removeEventListener('abort', this.stop);
    if (this.connection === undefined) this.host.leave(this.begin);
    else this.host.giveBack(this.connection, false);
  }

  /** By which undici knows which kind of handler it is. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    this.hasBegun = true;
    const declared = Number(headers['content-length'] ?? 0);
    if (status === 200 && declared > this.limits.most) this.fail(tooLarge(this.limits.most));
    else {
      this.expect();
      this.answered({ status, headers });
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver || this.state !== 'open') return;
    this.received += chunk.length;
    if (this.received > this.limits.most) return this.fail(tooLarge(this.limits.most));
    // undici may use the memory of a chunk again.
    this.waiting.push(Buffer.from(chunk));
    if (this.waiting.length < MOST_WAITING) this.expect();
    else {
      this.timer?.cancel();
      controller.pause();
    }
    this.wake();
  }

  onResponseEnd(): void {
    if (this.state === 'open') this.state = 'complete';
    this.end();
    this.wake();
  }

  onResponseError(_: unknown, error: Error): void {
    const { end, error: reason } = failureOf(error);
    const isCutOff = this.hasBegun && !(error instanceof Flood);
    const message = isCutOff ? 'the connection was closed before the file was complete' : reason;
    this.fail(new DownloadFailed(message, end === 'aborted'));
  }

  private readonly begin = (connection: ReceiverConnection): void => {
    this.connection = connection;
    const { url, known } = this.asked;
    const headers = ['user-agent', USER_AGENT, 'accept', '*/*', 'accept-encoding', 'gzip'];
    if (known.etag !== undefined) headers.push('if-none-match', known.etag);
    if (known.lastModified !== undefined) headers.push('if-modified-since', known.lastModified);
    connection.dispatch({ method: 'GET', path: url.pathname + url.search, headers }, this);
  };

  private readonly stop = (): void => this.fail(new DownloadFailed('the fetch was stopped', true));

  /** The next part of the answer must arrive in time. */
  private expect(): void {
    const { answerMs } = this.limits;
    this.timer?.cancel();
    this.timer = this.clock.timer(answerMs, () =>
      this.fail(new DownloadFailed(`the server sent nothing for ${answerMs / 1000} s`)),
    );
  }

  private fail(failure: DownloadFailed): void {
    if (this.isOver || this.state !== 'open') return;
    this.state = failure;
    this.waiting.length = 0;
    this.refused(failure);
    // Whoever reads the bytes gets it from them.
    this.answer.catch(() => undefined);
    this.end();
    this.wake();
  }
}

function tooLarge(most: number): DownloadFailed {
  return new DownloadFailed(`the file has more than ${most} bytes, which are the most that are read`);
}
