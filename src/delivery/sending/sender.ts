import { type IncomingHttpHeaders } from 'node:http';
import { type Dispatcher } from 'undici';
import { type Clock, type Timer } from '../../runtime/clock';
import { sentUrl } from '../../domain/subscriptions/template';
import { AllowedAddresses } from './addresses';
import {
  AnswerBody,
  type Attempt,
  type AttemptResult,
  CLOSED,
  ConnectionFailed,
  type Failure,
  failureOf,
  headersOf,
  RefusedTarget,
  retryAfterOf,
  STOPPED,
} from './attempt';
import {
  type ConnectionOptions,
  Connections,
  type ReceiverConnection,
  type ReceiverHost,
} from './connections';
import { ReceiverNames } from './dns';
import { codeOf } from '../../kernel/values';

const LIMITS = { connectMs: 5_000, attemptMs: 15_000, answerMs: 1_000, mostAgeMs: 5 * 60 * 1000 } as const;

export interface SenderOptions extends Partial<ExchangeLimits & ConnectionOptions> {
  readonly clock: Clock;
  /** What operators permit (`NOTIFY_ALLOW`). */
  readonly allowed?: AllowedAddresses;
}

/** Sends messages to receivers (`docs/decisions.md#n4`, N5, N9). Limits on how many at a time are the caller's. */
export class Sender {
  private readonly clock: Clock;
  private readonly limits: ExchangeLimits;
  private readonly connections: Connections;
  private readonly names: ReceiverNames;
  private readonly inProgress = new InProgress();
  private isClosed = false;

  constructor(options: SenderOptions) {
    const { allowed = AllowedAddresses.none, ...others } = options;
    this.clock = options.clock;
    // Names that DNS does not know have addresses that only operators can permit.
    this.names = new ReceiverNames(this.clock, !allowed.isEmpty);
    const resolve = (name: string): Promise<readonly string[]> => this.names.addressesOf(name);
    this.limits = { ...LIMITS, ...others };
    this.connections = new Connections({ ...LIMITS, resolve, ...others, allowed });
  }

  /**
   * Makes one attempt. Never rejects, and ends within 15 seconds, whatever the receiver does. When the signal aborts,
   * it ends at once: with the receiver's answer, if its status has arrived, otherwise `aborted`.
   */
  attempt(attempt: Attempt, signal?: AbortSignal): Promise<AttemptResult> {
    const { request } = attempt;
    if (this.isClosed || signal?.aborted === true) return this.ended(STOPPED);
    const url = sentUrl(request.url);
    if (url === undefined) return this.ended({ end: 'failure', error: 'it is not a URL' });
    const host = this.connections.hostOf(url);
    if (host instanceof RefusedTarget) return this.ended(failureOf(host));
    const { method } = request;
    const path = url.pathname + url.search;
    const body = Buffer.from(request.body ?? '');
    const headers = headersOf(attempt, path, body, this.clock.wall());
    const options = { method, path, headers, body: method === 'POST' ? body : null };
    return new Promise((resolve) => {
      const exchange = new Exchange(this.clock, host, options, this.limits, (result) => {
        this.inProgress.delete(exchange, signal);
        resolve(result);
      });
      this.inProgress.add(exchange, signal);
      exchange.start();
    });
  }

  /** Ends attempts in progress as `aborted`, and all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.inProgress.stopAll();
    this.names.close();
    await this.connections.close();
  }

  /** An attempt that has sent nothing. */
  private ended(failure: Failure): Promise<AttemptResult> {
    return Promise.resolve({ ...failure, at: this.clock.wall(), ms: 0 });
  }
}

/** Bounds (ms) of `docs/decisions.md#n4`. */
interface ExchangeLimits {
  /** From the start to the end of the answer. */
  readonly attemptMs: number;
  /** For the body of the answer. */
  readonly answerMs: number;
}

interface ReceivedAnswer {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly body: AnswerBody;
}

/** A connection that the receiver has closed while it was idle is replaced this often. */
const MOST_REPEATS = 3;

/**
 * One request and its answer: calls `done` once, within its bounds. What is still in progress then is ended with its
 * connection.
 *
 * The limits are timers of its own: those of undici do not bound an answer that arrives byte by byte.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly began: number;
  private timer: Timer | undefined;
  private bodyTimer: Timer | undefined;
  private connection: ReceiverConnection | undefined;
  private isWritten = false;
  private repeats = 0;
  private isOver = false;
  private answer: ReceivedAnswer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly host: ReceiverHost,
    private readonly request: Dispatcher.DispatchOptions,
    private readonly limits: ExchangeLimits,
    private readonly done: (result: AttemptResult) => void,
  ) {
    this.began = clock.monotonic();
  }

  start(): void {
    const { attemptMs } = this.limits;
    const timeout: Failure = { end: 'timeout', error: `no answer within ${attemptMs / 1000} s` };
    this.timer = this.clock.timer(attemptMs, () => this.finish(timeout, false));
    this.host.take(this.begin);
  }

  /** Ends it: with the answer's status, if that has arrived, otherwise as aborted. */
  stop(): void {
    this.finish(STOPPED, false);
  }

  /** The request is about to be written: what fails before has sent nothing. */
  onRequestStart(): void {
    this.isWritten = true;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (this.isOver) return;
    const retryAfter = retryAfterOf(status, headers, this.clock.wall());
    this.answer = { status, retryAfter, body: new AnswerBody(headers) };
    this.bodyTimer = this.clock.timer(this.limits.answerMs, () => this.finish(CLOSED, false));
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.answer?.body.add(chunk) === false) this.finish(CLOSED, false);
  }

  onResponseEnd(): void {
    this.finish(CLOSED, true);
  }

  onResponseError(_: unknown, error: Error): void {
    const { connection } = this;
    if (this.isOver || connection === undefined) return;
    if (!this.isWritten && isIdleSocketClosed(error) && this.repeats < MOST_REPEATS) {
      this.repeats += 1;
      this.connection = undefined;
      this.host.take(this.begin);
      this.host.giveBack(connection, false);
    } else this.finish(failureOf(error), false);
  }

  private readonly begin = (connection: ReceiverConnection): void => {
    this.connection = connection;
    connection.dispatch(this.request, this);
  };

  /** `failure` counts if no answer has begun. `isComplete`: the connection can be used again. */
  private finish(failure: Failure, isComplete: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.timer?.cancel();
    this.bodyTimer?.cancel();
    const ms = Math.round(this.clock.monotonic() - this.began);
    // Of the clock as it is now: what follows from the time of the end is right even if the clock was set meanwhile.
    const times = { at: this.clock.wall() - ms, ms };
    this.done(this.answer === undefined ? { ...failure, ...times } : resultOf(this.answer, times));
    if (this.connection === undefined) this.host.leave(this.begin);
    else this.host.giveBack(this.connection, isComplete);
  }
}

function resultOf(
  { status, retryAfter, body }: ReceivedAnswer,
  { at, ms }: Pick<AttemptResult, 'at' | 'ms'>,
): AttemptResult {
  const isSuccess = status >= 200 && status < 300;
  const redirect = status >= 300 && status < 400 ? ': redirects are not followed' : '';
  return {
    end: isSuccess ? 'success' : status === 410 ? 'gone' : 'failure',
    at,
    ms,
    status,
    error: isSuccess ? undefined : `the status is ${status}${redirect}`,
    answer: body.text,
    retryAfter,
  };
}

/**
 * undici fails a request that it has not begun to write when the idle connection for it turns out to be closed by a
 * reset. (After an orderly end it connects again by itself.)
 */
function isIdleSocketClosed(error: Error): boolean {
  if (error instanceof ConnectionFailed || error instanceof RefusedTarget) return false;
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error) ?? '');
}

interface Stoppable {
  stop(): void;
}

/** What is in progress, to stop it all or by a signal. A signal has one listener, however many share it. */
class InProgress {
  private readonly all = new Set<Stoppable>();
  private readonly bySignal = new WeakMap<AbortSignal, Set<Stoppable>>();

  add(one: Stoppable, signal?: AbortSignal): void {
    this.all.add(one);
    if (signal === undefined) return;
    const known = this.bySignal.get(signal);
    const members = known ?? new Set();
    members.add(one);
    if (known !== undefined) return;
    this.bySignal.set(signal, members);
    signal.addEventListener('abort', () => stopAll(members), { once: true });
  }

  delete(one: Stoppable, signal?: AbortSignal): void {
    this.all.delete(one);
    if (signal !== undefined) this.bySignal.get(signal)?.delete(one);
  }

  stopAll(): void {
    stopAll(this.all);
  }
}

function stopAll(members: Set<Stoppable>): void {
  for (const one of members) one.stop();
}
