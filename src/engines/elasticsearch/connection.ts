import { setMaxListeners } from 'node:events';
import { type Client, type TransportRequestOptions } from '@elastic/elasticsearch';
import { Backoff } from '../../kernel/backoff';
import { EngineUnavailable } from '../../kernel/event-log';
import { type QueryOptions, QueryTooLong } from '../../kernel/query';
import { toFailure } from './failure';

/** How long (ms) trouble is waited out before it is raised. */
export interface Patience {
  /** Somebody waits for the answer. */
  readonly read: number;
  /** Whoever writes begins again by himself, a little later. */
  readonly write: number;
  /** What fills a generation would have to begin from the start of the log. */
  readonly fill: number;
}

/** How soon (ms) a failed request is repeated. */
const REPEAT_MS = { first: 50, longest: 2_000 } as const;

/** One request: may be repeated, so that it must not matter whether it was carried out before. */
export type Request<Answer> = (client: Client, options: TransportRequestOptions) => Promise<Answer>;

/** A server, reached over HTTP. All requests of the store go through it, each until it works or patience ends. */
export class Connection {
  private readonly closing = new AbortController();

  /** `lasting`: the connection that this one is a query of. */
  constructor(
    private readonly client: Client,
    readonly patience: Patience,
    readonly lasting?: Connection,
  ) {
    setMaxListeners(0, this.closing.signal);
  }

  /**
   * Runs a query over a connection of its own, which is closed when the query has taken too long, is cancelled, or the
   * store is closed. The server stops a search whose connection is closed. Raises `QueryTooLong`, the reason of the
   * signal.
   */
  async query<Result>(
    { signal, timeLimit }: QueryOptions,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const own = new Connection(this.client, this.patience, this);
    const end = (): void => own.closing.abort();
    const late = new AbortController();
    const timer =
      timeLimit === undefined
        ? undefined
        : setTimeout(() => {
            late.abort();
            end();
          }, timeLimit);
    const signals = [this.closing.signal, ...(signal === undefined ? [] : [signal])];
    for (const one of signals) one.addEventListener('abort', end, { once: true });
    try {
      return await work(own);
    } catch (error) {
      signal?.throwIfAborted();
      if (late.signal.aborted && timeLimit !== undefined) throw new QueryTooLong(timeLimit);
      throw error;
    } finally {
      clearTimeout(timer);
      for (const one of signals) one.removeEventListener('abort', end);
    }
  }

  /** Raises `EngineUnavailable` when patience ends or the store is closed, `NoSuchIndex`, `Refused`. */
  async ask<Answer>(request: Request<Answer>, patience = this.patience.read): Promise<Answer> {
    const deadline = performance.now() + patience;
    for (const backoff = new Backoff(REPEAT_MS); ;) {
      try {
        return await this.once(request);
      } catch (error) {
        const isWorthwhile =
          error instanceof EngineUnavailable && performance.now() + backoff.nextMs <= deadline;
        if (!isWorthwhile || this.closing.signal.aborted) throw error;
      }
      // Closing cuts it short: the request is then refused.
      await backoff.wait(this.closing.signal);
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.client.close();
  }

  private async once<Answer>(request: Request<Answer>): Promise<Answer> {
    const { signal } = this.closing;
    if (signal.aborted) throw new EngineUnavailable('the read store is closed');
    try {
      return await request(this.client, { signal });
    } catch (error) {
      throw toFailure(error);
    }
  }
}
