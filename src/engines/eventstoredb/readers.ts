import { type ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { withTimeout } from '../../runtime/unavailable';
import { Connection } from './connection';
import { Messages } from './messages';
import { NoAnswer } from './failure';

/** Maximum concurrent calls per connection: the server accepts 100 and queues the others. */
const MAX_CALLS = 90;

interface PooledConnection {
  readonly connection: Connection;
  calls: number;
}

/**
 * A pool of connections for reads, growing with the number of calls. Appends use a separate one, since an interrupted read makes
 * the client reconnect, which must not affect appends.
 */
export class Readers {
  #connections: PooledConnection[] = [];
  #renewed = -Infinity;

  /** `timeoutMs`: how long to wait for a message before the connection is considered broken. Raises `UnusableUrl`. */
  constructor(
    private readonly url: string,
    readonly timeoutMs: number,
  ) {
    this.#open();
  }

  /** Starts a call; `signal` ends it. */
  read(request: ReadReq, signal: AbortSignal): Messages {
    const pooled = this.#connections.find(({ calls }) => calls < MAX_CALLS) ?? this.#open();
    pooled.calls += 1;
    return new Messages(pooled.connection.read(request), signal, this.timeoutMs, () => {
      pooled.calls -= 1;
    });
  }

  /** The server's version, such as `24.6.0`; `unknown` if it is too old to report it. */
  async version(): Promise<string> {
    return await withTimeout(
      this.#first.connection.version(),
      this.timeoutMs,
      () => new NoAnswer('it did not report its version'),
    );
  }

  /** Returns the error, or a more helpful one. */
  async explain(error: unknown): Promise<unknown> {
    return await this.#first.connection.explain(error);
  }

  /**
   * Replaces the connections, unless that already happened after `since`, when the failed call began (`performance.now`). Calls
   * over the old connections fail on their own, and the connections close with their last call.
   */
  renew(since: number): void {
    if (this.#renewed >= since) return;
    this.#renewed = performance.now();
    this.close();
    this.#connections = [];
    this.#open();
  }

  close(): void {
    for (const { connection } of this.#connections) connection.close();
  }

  get #first(): PooledConnection {
    return this.#connections[0] ?? this.#open();
  }

  #open(): PooledConnection {
    const pooled = { connection: new Connection(this.url), calls: 0 };
    this.#connections.push(pooled);
    return pooled;
  }
}
