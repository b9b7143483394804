import { type Socket } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import { Connector, type ConnectorOptions } from './connector';
import { Refused } from './failures';
import { refusalOfTarget } from './receiver-url';

/** Connections to one origin (`docs/decisions.md#n7`). */
const CONNECTIONS = 16;

/** No socket is older (ms): then the name is resolved, and its addresses are checked, once more. */
const MOST_AGE_MS = 5 * 60 * 1000;

/** The connections to an origin are replaced after this share of `MOST_AGE_MS` at the earliest, so that not all are at once. */
const LEAST_SHARE = 0.8;

/** How long (ms) an idle connection is kept: less than most servers do, unless the receiver allows more. */
const IDLE_MS = 4_000;
const MOST_IDLE_MS = 60_000;

interface Origin {
  readonly pool: Pool;
  readonly until: number;
}

/** Keep-alive connections to receivers. No proxy of the environment is used (`docs/decisions.md#n9`). */
export class Connections {
  private readonly origins = new Map<string, Origin>();
  /** Pools that finish their requests. */
  private readonly retired = new Set<Pool>();
  private readonly connecting = new Set<Socket>();
  private sweepAt = 0;

  constructor(private readonly options: ConnectorOptions) {}

  /** Raises `Refused`. */
  to(url: URL): Dispatcher {
    const now = performance.now();
    if (now > this.sweepAt) this.sweep(now);
    const known = this.origins.get(url.origin);
    if (known !== undefined && now < known.until && url.username === '' && url.password === '')
      return known.pool;
    const refusal = refusalOfTarget(url, this.options.allowed);
    if (refusal !== undefined) throw new Refused(refusal);
    if (known !== undefined && now < known.until) return known.pool;
    if (known !== undefined) this.retire(known.pool);
    const pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      pipelining: 1,
      connect: new Connector(this.options, this.connecting).connect,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MOST_IDLE_MS,
      // Each attempt has a timer of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const share = LEAST_SHARE + (1 - LEAST_SHARE) * Math.random();
    this.origins.set(url.origin, { pool, until: now + share * MOST_AGE_MS });
    return pool;
  }

  /** Ends all connections; requests in progress fail. */
  async close(): Promise<void> {
    const pools = [...this.retired, ...[...this.origins.values()].map(({ pool }) => pool)];
    this.origins.clear();
    const closed = pools.map((pool) => pool.destroy());
    for (const socket of this.connecting) socket.destroy();
    await Promise.all(closed);
  }

  /** Forgets origins that nothing is sent to any more. */
  private sweep(now: number): void {
    this.sweepAt = now + MOST_AGE_MS / 10;
    for (const [origin, { pool, until }] of this.origins) {
      if (now < until) continue;
      this.origins.delete(origin);
      this.retire(pool);
    }
  }

  private retire(pool: Pool): void {
    this.retired.add(pool);
    const forget = (): boolean => this.retired.delete(pool);
    pool.close().then(forget, forget);
  }
}
