import { type IncomingHttpHeaders } from 'node:http';
import { types } from 'node:util';
import { type Dispatcher } from 'undici';
import { AnswerBody, retryAfterOf } from './answer';
import { type AttemptResult } from './attempt';
import { ConnectionFailed, CLOSED, type Failure, failureOf, Refused } from './failures';

/** All of a result but its times. */
export type ExchangeResult = Omit<AttemptResult, 'at' | 'ms'>;

/** Bounds (ms) of `docs/decisions.md#n4`. */
export interface ExchangeLimits {
  /** From the start to the end of the answer. */
  readonly attemptMs: number;
  /** For the body of the answer. */
  readonly answerMs: number;
}

interface Answer {
  readonly status: number;
  readonly retryAfter?: number;
  readonly body: AnswerBody;
}

/** A connection that the receiver has closed while it was idle is replaced this often. */
const MOST_REPEATS = 3;

/**
 * One request and its answer: calls `done` once, within its bounds. What is still in progress then is ended with its socket.
 *
 * The limits are timers of its own: those of undici do not bound an answer that arrives byte by byte.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  private readonly timer: NodeJS.Timeout;
  private bodyTimer: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private repeats = 0;
  private isOver = false;
  private answer: Answer | undefined;

  constructor(
    private readonly limits: ExchangeLimits,
    private readonly dispatch: (handler: Exchange) => void,
    private readonly done: (result: ExchangeResult) => void,
  ) {
    const { attemptMs } = limits;
    const timeout: Failure = { end: 'timeout', error: `no answer within ${attemptMs / 1000} s` };
    this.timer = setTimeout(() => this.cut(timeout), attemptMs);
  }

  start(): void {
    try {
      this.dispatch(this);
    } catch (error) {
      this.onResponseError(undefined, types.isNativeError(error) ? error : new Error(String(error)));
    }
  }

  /** Ends what is in progress: with the answer's status, if that has arrived, otherwise with this result. */
  cut(failure: Failure): void {
    this.finish(failure);
    this.controller?.abort(new Error(failure.error));
  }

  /** The request is about to be written: what fails before has sent nothing. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isOver) controller.abort(new Error('over'));
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Interim answers do not end the wait for the answer.
    if (status < 200 || this.isOver) return;
    const retryAfter = retryAfterOf(status, headers, Date.now());
    this.answer = {
      status,
      body: new AnswerBody(headers),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    };
    this.bodyTimer = setTimeout(() => this.cutBody(), this.limits.answerMs);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.answer?.body.add(chunk) === false) this.cutBody();
  }

  onResponseEnd(): void {
    this.finish();
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.isOver) return;
    if (this.controller === undefined && isIdleSocketClosed(error) && this.repeats < MOST_REPEATS) {
      this.repeats += 1;
      this.start();
    } else this.finish(failureOf(error));
  }

  private cutBody(): void {
    this.finish();
    this.controller?.abort(new Error('enough'));
  }

  /** `failure` counts if no answer has begun. */
  private finish(failure: Failure = CLOSED): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    clearTimeout(this.bodyTimer);
    this.done(this.answer === undefined ? failure : resultOf(this.answer));
  }
}

function resultOf({ status, retryAfter, body }: Answer): ExchangeResult {
  const { text } = body;
  const details = {
    status,
    ...(text === undefined ? {} : { answer: text }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
  if (status >= 200 && status < 300) return { end: 'success', ...details };
  const redirect = status >= 300 && status < 400 ? ': redirects are not followed' : '';
  return {
    end: status === 410 ? 'gone' : 'failure',
    error: `the status is ${status}${redirect}`,
    ...details,
  };
}

/**
 * undici fails a request that it has not begun to write when the idle connection for it turns out to be closed by a reset. (After an
 * orderly end it connects again by itself.)
 */
function isIdleSocketClosed(error: Error): boolean {
  const code = 'code' in error ? error.code : undefined;
  return (
    !(error instanceof ConnectionFailed) &&
    !(error instanceof Refused) &&
    (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')
  );
}
