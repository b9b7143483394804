import { type ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { withTimeout } from '../../kernel/unavailable';
import { Connection } from './connection';
import { Messages } from './messages';
import { NoAnswer } from './trouble';

/** Calls at a time over one connection: a server lets 100 in and leaves the others waiting. */
const CALLS = 90;

interface Counted {
  readonly connection: Connection;
  calls: number;
}

/**
 * The connections for reads, as many as their calls need. They are apart from that of appends: what breaks a read off
 * makes the client connect anew, which must not touch appends.
 */
export class Readers {
  #connections: Counted[] = [];
  #renewed = -Infinity;

  /** `silence`: how long a connection is given until it is thought broken (ms). Raises `UnusableUrl`. */
  constructor(
    private readonly url: string,
    readonly silence: number,
  ) {
    this.#open();
  }

  /** Starts a call; `signal` ends it. */
  read(request: ReadReq, signal: AbortSignal): Messages {
    const counted = this.#connections.find(({ calls }) => calls < CALLS) ?? this.#open();
    counted.calls += 1;
    return new Messages(counted.connection.read(request), signal, this.silence, () => {
      counted.calls -= 1;
    });
  }

  /** The server's version, such as `24.6.0`; `unknown` of one that is too old to say. */
  async version(): Promise<string> {
    return await withTimeout(
      this.#first.connection.version(),
      this.silence,
      () => new NoAnswer('it did not say its version'),
    );
  }

  /** The error, or what explains it better. */
  async explained(error: unknown): Promise<unknown> {
    return await this.#first.connection.explained(error);
  }

  /**
   * Opens new connections, unless that already happened after `since`, when the failed call began (`performance.now`). Calls
   * over the others find out by themselves; when they have ended, so do their connections.
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

  get #first(): Counted {
    return this.#connections[0] ?? this.#open();
  }

  #open(): Counted {
    const counted = { connection: new Connection(this.url), calls: 0 };
    this.#connections.push(counted);
    return counted;
  }
}
