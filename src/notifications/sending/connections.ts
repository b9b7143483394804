import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { types } from 'node:util';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { type AllowedAddresses } from './allowed-addresses';
import { ConnectionFailed, ConnectTimeout, Refused } from './failures';
import { defaultPort, refusalOfAddress, refusalOfTarget } from './receiver-url';

export interface ConnectionOptions {
  readonly allowed: AllowedAddresses;
  /** At least one address of a host name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Time (ms) for the name, the connection and TLS. */
  readonly connectMs: number;
  /** Certificates to trust instead of those that Node.js trusts, in PEM. */
  readonly ca?: string;
}

/** Connections to one origin (`docs/decisions.md#n7`). */
const CONNECTIONS = 16;

/** No socket is older (ms): then the name is resolved, and its addresses are checked, once more. */
const MOST_AGE_MS = 5 * 60 * 1000;

/** The connections to an origin are replaced after this share of `MOST_AGE_MS` at the earliest, so that not all are at once. */
const LEAST_SHARE = 0.8;

/** How long (ms) an idle connection is kept: less than most servers do, unless the receiver allows more. */
const IDLE_MS = 4_000;
const MOST_IDLE_MS = 60_000;

/** Of several addresses, how long (ms) each but the last is tried. */
const ADDRESS_MS = 1_500;

interface Origin {
  readonly pool: Pool;
  readonly until: number;
}

/**
 * Keep-alive connections to receivers. Each is made to an address that has just been checked (`docs/decisions.md#n9`); no proxy of the
 * environment is used.
 */
export class Connections {
  private readonly origins = new Map<string, Origin>();
  /** Pools that finish their requests. */
  private readonly retired = new Set<Pool>();
  private readonly connecting = new Set<Socket>();
  private sweepAt = 0;

  constructor(private readonly options: ConnectionOptions) {}

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
      connect: this.connector(),
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

  /** Connects to one origin. */
  private connector(): buildConnector.connector {
    let session: Buffer | undefined;
    const { allowed, connectMs, ca } = this.options;
    return ({ protocol, hostname, port }, callback) => {
      const number = port === '' ? defaultPort(protocol) : Number(port);
      // For an IP address in the URL no name is looked up.
      const refusal = isIP(hostname) === 0 ? undefined : refusalOfAddress(hostname, number, allowed);
      if (refusal !== undefined) {
        queueMicrotask(() => callback(new Refused(refusal), null));
        return;
      }
      const target = { host: hostname, port: number, lookup: this.lookup(number), noDelay: true };
      const families = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS };
      if (protocol === 'https:') {
        // In TLS a name has no dot at its end, and an address is no name.
        const servername = isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '';
        const trust = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
        const tls = { servername, ALPNProtocols: ['http/1.1'], ...trust, ...(session && { session }) };
        const socket = connectTls({ ...target, ...families, ...tls });
        socket.on('session', (next) => (session = next));
        this.await(socket, 'secureConnect', connectMs, callback);
      } else this.await(connect({ ...target, ...families }), 'connect', connectMs, callback);
    };
  }

  private await(
    socket: Socket,
    ready: 'connect' | 'secureConnect',
    ms: number,
    callback: buildConnector.Callback,
  ): void {
    this.connecting.add(socket);
    const timer = setTimeout(() => socket.destroy(new ConnectTimeout(ms)), ms);
    let isDone = false;
    const finish = (error?: Error): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      this.connecting.delete(socket);
      if (error === undefined) callback(null, socket);
      else callback(error instanceof Refused ? error : new ConnectionFailed(error), null);
    };
    socket.once(ready, () => finish());
    socket.on('error', finish);
    socket.once('close', () => finish(new Error('closed')));
  }

  /** Resolves and checks: the connection is made to one of the addresses that this has returned, or not at all. */
  private lookup(port: number): LookupFunction {
    return (hostname, _options, callback) => {
      this.checked(hostname, port).then(
        (addresses) => callback(null, addresses),
        (error: unknown) => callback(types.isNativeError(error) ? error : new Error(String(error)), []),
      );
    };
  }

  /** One address that is refused refuses all. */
  private async checked(
    hostname: string,
    port: number,
  ): Promise<{ readonly address: string; readonly family: number }[]> {
    const addresses = await this.options.resolve(hostname);
    for (const address of addresses) {
      const refusal = refusalOfAddress(address, port, this.options.allowed);
      if (refusal !== undefined) throw new Refused(refusal);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }
}
