import { Connection, type ConnectionOptions, type Shared } from './connection';
import { Refused } from './failures';
import { refusalOfUrl } from './receiver-url';

/** Connections to one host (`docs/decisions.md#n7`). */
const MOST = 16;

/** What wants a connection. */
export type Use = (connection: Connection) => void;

/** Keep-alive connections to receivers. No proxy of the environment is used (`docs/decisions.md#n9`). */
export class Connections {
  private readonly hosts = new Map<string, Host>();

  constructor(private readonly options: ConnectionOptions) {}

  /** The host (scheme, host and port) of a URL. */
  hostOf(url: URL): Host | Refused {
    const { origin } = url;
    const known = this.hosts.get(origin);
    if (known !== undefined && url.username === '' && url.password === '') return known;
    const refusal = refusalOfUrl(url, this.options.allowed);
    if (refusal !== undefined) return new Refused(refusal);
    const host = new Host(origin, this.options, () => {
      if (this.hosts.get(origin) === host) this.hosts.delete(origin);
    });
    this.hosts.set(origin, host);
    return host;
  }

  /** Ends all connections; requests in progress fail. */
  async close(): Promise<void> {
    await Promise.all([...this.hosts.values()].map((host) => host.close()));
  }
}

/** The connections to a host. (In a pool of undici, ending a request that hangs connects once more, for nothing.) */
export class Host {
  private readonly all = new Set<Connection>();
  /** The last one was used last. */
  private readonly idle: Connection[] = [];
  private waiting: Use[] = [];
  private readonly shared: Shared = {};

  /** `onUnused`: there is no connection any more. */
  constructor(
    private readonly origin: string,
    private readonly options: ConnectionOptions,
    private readonly onUnused: () => void,
  ) {}

  /** Calls `use` with a connection, which must be given back: at once, or when one is free. */
  take(use: Use): void {
    const connection = this.free();
    if (connection === undefined) this.waiting.push(use);
    else use(connection);
  }

  /** Does not call `use` any more. */
  leave(use: Use): void {
    this.waiting = this.waiting.filter((one) => one !== use);
  }

  /** `isUsable`: its request and the answer are complete. Otherwise it is ended. */
  giveBack(connection: Connection, isUsable: boolean): void {
    // Some servers close a connection right after an answer: what they have sent with it is read first.
    if (isUsable) setImmediate(() => this.keep(connection));
    else {
      this.end(connection);
      this.next();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.all].map((connection) => connection.end()));
  }

  private keep(connection: Connection): void {
    if (connection.isOpen) this.idle.push(connection);
    else this.end(connection);
    this.next();
  }

  private next(): void {
    const [use] = this.waiting;
    const connection = use === undefined ? undefined : this.free();
    if (use === undefined || connection === undefined) return;
    this.waiting.shift();
    use(connection);
  }

  private free(): Connection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (!last.isOld) return last;
      this.end(last);
    }
    if (this.all.size >= MOST) return undefined;
    const connection = new Connection(this.origin, this.options, this.shared, (closed) => {
      const at = this.idle.indexOf(closed);
      if (at === -1) return;
      this.idle.splice(at, 1);
      this.end(closed);
    });
    this.all.add(connection);
    return connection;
  }

  private end(connection: Connection): void {
    this.all.delete(connection);
    // Nobody waits for its end, and nothing is sent over it any more.
    connection.end().catch(() => undefined);
    if (this.all.size === 0 && this.waiting.length === 0) this.onUnused();
  }
}
