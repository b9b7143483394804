import { setMaxListeners } from 'node:events';
import { type Client, errors, type estypes, type TransportRequestOptions } from '@elastic/elasticsearch';
import { NamedError } from '../../kernel/fault';
import { EngineUnavailable } from '../../kernel/event-log';
import { type QueryOptions, QueryTooLong } from '../../kernel/query';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { Backoff, noticingDelay, type OnRetry, SILENCE_MS } from '../../runtime/unavailable';
import { certificateProblem } from '../certificate';
import { type IndexLayout } from './layout';
import { isObject } from '../../kernel/values';

/** How long (ms) failing requests are retried. */
export interface RetryTimes {
  /** A caller waits for the answer. */
  readonly read: number;
  /** Writers of live generations retry on their own. */
  readonly write: number;
  /** A rebuild would have to restart from the beginning of the log. */
  readonly fill: number;
}

/** Delays (ms) between retries. */
const BACKOFF_MS = { first: 50, longest: 2_000 } as const;

/** One request. Must be idempotent, since it may be retried. */
export type Request<Answer> = (client: Client, options: TransportRequestOptions) => Promise<Answer>;

/** The index of a target, and how to reach it. */
export interface IndexContext {
  readonly connection: ElasticConnection;
  readonly alias: string;
  readonly layout: IndexLayout;
  readonly retryMs: number;
  /** As `Connection.ask`, for `retryMs`. */
  readonly ask: <Answer>(request: Request<Answer>) => Promise<Answer>;
}

/** How failures that are retried are reported. */
export interface Notices {
  readonly onRetry: OnRetry;
  /** How long (ms) a server that has never answered may be silent before that is reported: `SILENCE_MS`. */
  readonly silenceMs?: number;
}

/** The connection to the server. Every request of the store goes through `ask`, which retries it. */
export class ElasticConnection {
  private readonly closing = new AbortController();
  /** Whether a request has ended: from then on failures are reported, and silence is a time-out. */
  private hasAnswered = false;

  /** `parent`: for the connection of one query, that of the store. */
  constructor(
    private readonly client: Client,
    readonly retryMs: RetryTimes,
    private readonly notices?: Notices,
    readonly parent?: ElasticConnection,
  ) {
    setMaxListeners(0, this.closing.signal);
  }

  /**
   * Runs a query on its own connection, and closes that on time-out, on abort, or when the store closes: the server
   * stops a search whose connection is closed. Raises `QueryTooLong`, or the reason of the signal.
   */
  async query<Result>(
    { signal, timeLimit, spent }: QueryOptions,
    work: (connection: ElasticConnection) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const [before = 0] = spent ?? [];
    if (timeLimit !== undefined && before > timeLimit) throw new QueryTooLong(timeLimit);
    const start = performance.now();
    const own = new ElasticConnection(this.client, this.retryMs, this.notices, this);
    const end = (): void => own.closing.abort();
    const timeout = new AbortController();
    const timer =
      timeLimit === undefined
        ? undefined
        : setTimeout(() => {
            timeout.abort();
            end();
          }, timeLimit - before);
    const signals = [this.closing.signal, ...(signal === undefined ? [] : [signal])];
    for (const one of signals) one.addEventListener('abort', end, { once: true });
    try {
      return await work(own);
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.signal.aborted && timeLimit !== undefined) throw new QueryTooLong(timeLimit);
      throw error;
    } finally {
      clearTimeout(timer);
      if (spent !== undefined) spent[0] += performance.now() - start;
      for (const one of signals) one.removeEventListener('abort', end);
    }
  }

  /**
   * Sends a request, and retries it for `retryMs` while the server is unavailable. Raises `EngineUnavailable`,
   * `NoSuchIndex`, `Refused`.
   */
  async ask<Answer>(request: Request<Answer>, retryMs = this.retryMs.read): Promise<Answer> {
    const deadline = performance.now() + retryMs;
    for (const backoff = new Backoff(SYSTEM_CLOCK, BACKOFF_MS); ;) {
      try {
        return await this.once(request);
      } catch (error) {
        const canRetry = error instanceof EngineUnavailable && performance.now() + backoff.nextMs <= deadline;
        if (!canRetry || this.closing.signal.aborted) throw error;
        this.notices?.onRetry(error.message);
      }
      // Closing ends the wait early; the next attempt then fails at once.
      await backoff.wait(this.closing.signal);
    }
  }

  /** Creates an index that nobody else creates: if it exists, an earlier attempt did, and its answer was lost. */
  async createIndex(request: estypes.IndicesCreateRequest, retryMs?: number): Promise<void> {
    await this.ask((client, options) => client.indices.create(request, options), retryMs).catch(
      (error: unknown) => {
        const exists = error instanceof RefusedRequest && error.type === 'resource_already_exists_exception';
        if (!exists) throw error;
      },
    );
  }

  /** Cancels the requests in progress. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.client.close();
  }

  private async once<Answer>(request: Request<Answer>): Promise<Answer> {
    const { signal } = this.closing;
    if (signal.aborted) throw new EngineUnavailable('the read store is closed');
    try {
      return await this.noticingSilence(request(this.client, { signal }));
    } catch (error) {
      throw toFailure(error);
    }
  }

  private async noticingSilence<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const { notices } = this;
    if (notices === undefined || this.hasAnswered) return await answer;
    const onSilence = (): void => notices.onRetry('the read store is not available: it has not answered yet');
    return await noticingDelay(SYSTEM_CLOCK, answer, notices.silenceMs ?? SILENCE_MS, onSilence).finally(
      () => (this.hasAnswered = true),
    );
  }
}

/** The index or alias of a request does not exist. */
export class NoSuchIndex extends NamedError {}

/** The server rejected a request: a version conflict, or a bug of ours. */
export class RefusedRequest extends NamedError {
  constructor(
    readonly status: number,
    readonly type: string,
    reason: string,
  ) {
    super(`the read store refused a request (${status} ${type}): ${reason}`);
  }
}

/** The server's error for a request, or for one operation of a bulk request. */
interface ServerError {
  readonly status: number;
  readonly type: string;
  readonly reason: string;
}

/**
 * Translates an error of the client library. Failures of the server or the network become `EngineUnavailable`, with a
 * message for operators. The library's errors and messages contain the address and credentials, so they are not passed
 * on.
 */
function toFailure(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return failureOf(serverErrorOf(error));
  if (error instanceof errors.TimeoutError) return unavailable('it does not answer in time');
  if (error instanceof errors.RequestAbortedError) return unavailable('it is being closed');
  if (error instanceof errors.ProductNotSupportedError)
    return unavailable('the server is not an Elasticsearch');
  if (error instanceof errors.DeserializationError) return unavailable('the answer is not valid JSON');
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError)
    return unavailable(connectionReason(error.message));
  return error;
}

export function failureOf({ status, type, reason }: ServerError): Error {
  if (type === 'index_not_found_exception') return new NoSuchIndex('the index does not exist');
  if (type === 'cluster_block_exception')
    return unavailable('its indices are read-only, possibly because the disk is nearly full');
  if (status === 401 || status === 403) return unavailable(`access is denied (${status})`);
  if (status === 429) return unavailable('it is overloaded');
  if (status === 408 || status >= 500) return unavailable(`it has failed (${status} ${type})`);
  return new RefusedRequest(status, type, reason);
}

function unavailable(why: string): EngineUnavailable {
  return new EngineUnavailable(`the read store is not available: ${why}`);
}

function serverErrorOf({ statusCode: status = 500, body }: errors.ResponseError): ServerError {
  const error: unknown = isObject(body) ? body['error'] : undefined;
  if (!isObject(error)) return { status, type: 'unknown', reason: 'no reason given' };
  const { type, reason, root_cause: causes } = error;
  const cause: unknown = Array.isArray(causes) ? causes[0] : undefined;
  // For a failed search, the reason is in its root cause.
  const first = isObject(cause) ? cause : error;
  return {
    status,
    type: String(type === 'search_phase_execution_exception' ? (first['type'] ?? type) : type),
    reason: String(first['reason'] ?? reason),
  };
}

/** What makes an authority trusted. */
const TRUST = 'set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority';

/** Only the system's error code, since the message contains the address. */
function connectionReason(message: string): string {
  const certificate = certificateProblem(message, TRUST);
  if (certificate !== undefined) return certificate;
  return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? 'no connection'})`;
}
