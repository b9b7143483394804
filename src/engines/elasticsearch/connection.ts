import { setMaxListeners } from 'node:events';
import { type Client, type TransportRequestOptions } from '@elastic/elasticsearch';
import { Backoff } from '../../kernel/backoff';
import { EngineUnavailable } from '../../kernel/event-log';
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

  constructor(
    private readonly client: Client,
    readonly patience: Patience,
  ) {
    setMaxListeners(0, this.closing.signal);
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
