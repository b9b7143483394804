import { type IncomingHttpHeaders } from 'node:http';
import { type Dispatcher } from 'undici';
import { AnswerBody, retryAfterOf } from './answer';
import { type AttemptResult } from './attempt';
import { type Connection } from './connection';
import { type Host } from './connections';
import { CLOSED, ConnectionFailed, type Failure, failureOf, Refused, STOPPED } from './failures';

/** Bounds (ms) of `docs/decisions.md#n4`. */
export interface ExchangeLimits {
  /** From the start to the end of the answer. */
  readonly attemptMs: number;
  /** For the body of the answer. */
  readonly answerMs: number;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly body: AnswerBody;
}

/** A connection that the receiver has closed while it was idle is replaced this often. */
const MOST_REPEATS = 3;

/**
 * One request and its answer: calls `done` once, within its bounds. What is still in progress then is ended with its connection.
 *
 * The limits are timers of its own: those of undici do not bound an answer that arrives byte by byte.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  private readonly began = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private bodyTimer: NodeJS.Timeout | undefined;
  private connection: Connection | undefined;
  private isWritten = false;
  private repeats = 0;
  private isOver = false;
  private answer: Answer | undefined;

  constructor(
    private readonly host: Host,
    private readonly request: Dispatcher.DispatchOptions,
    private readonly limits: ExchangeLimits,
    private readonly done: (result: AttemptResult) => void,
  ) {}

  start(): void {
    const { attemptMs } = this.limits;
    const timeout: Failure = { end: 'timeout', error: `no answer within ${attemptMs / 1000} s` };
    this.timer = setTimeout(() => this.finish(timeout, false), attemptMs);
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
    const retryAfter = retryAfterOf(status, headers, Date.now());
    this.answer = { status, retryAfter, body: new AnswerBody(headers) };
    this.bodyTimer = setTimeout(() => this.finish(CLOSED, false), this.limits.answerMs);
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

  private readonly begin = (connection: Connection): void => {
    this.connection = connection;
    connection.dispatch(this.request, this);
  };

  /** `failure` counts if no answer has begun. `isComplete`: the connection can be used again. */
  private finish(failure: Failure, isComplete: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    clearTimeout(this.bodyTimer);
    const ms = Math.round(performance.now() - this.began);
    // Of the clock as it is now: what follows from the time of the end is right even if the clock was set meanwhile.
    const times = { at: Date.now() - ms, ms };
    this.done(this.answer === undefined ? { ...failure, ...times } : resultOf(this.answer, times));
    if (this.connection === undefined) this.host.leave(this.begin);
    else this.host.giveBack(this.connection, isComplete);
  }
}

function resultOf(
  { status, retryAfter, body }: Answer,
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
 * undici fails a request that it has not begun to write when the idle connection for it turns out to be closed by a reset. (After
 * an orderly end it connects again by itself.)
 */
function isIdleSocketClosed(error: Error): boolean {
  if (error instanceof ConnectionFailed || error instanceof Refused) return false;
  return 'code' in error && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(String(error.code));
}
