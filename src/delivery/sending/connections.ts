import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { types } from 'node:util';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { type Clock } from '../../runtime/clock';
import { type AllowedAddresses, portOf, refusalOfAddress, refusalOfUrl } from './addresses';
import { ConnectionFailed, ConnectTimeout, Flood, RefusedTarget, Switched } from './attempt';

/** Connections to one host (`docs/decisions.md#n7`). */
const MOST = 16;

/** What wants a connection. */
type Use = (connection: ReceiverConnection) => void;

/** Keep-alive connections to receivers. No proxy of the environment is used (`docs/decisions.md#n9`). */
export class Connections {
  private readonly hosts = new Map<string, ReceiverHost>();

  constructor(private readonly options: ConnectionOptions) {}

  /** The host (scheme, host and port) of a URL. */
  hostOf(url: URL): ReceiverHost | RefusedTarget {
    const { origin } = url;
    const known = this.hosts.get(origin);
    if (known !== undefined && url.username === '' && url.password === '') return known;
    const refusal = refusalOfUrl(url, this.options.allowed);
    if (refusal !== undefined) return new RefusedTarget(refusal);
    const host = new ReceiverHost(origin, this.options, () => {
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
export class ReceiverHost {
  private readonly all = new Set<ReceiverConnection>();
  /** The last one was used last. */
  private readonly idle: ReceiverConnection[] = [];
  private waiting: Use[] = [];
  private readonly shared: SharedSession = {};

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
  giveBack(connection: ReceiverConnection, isUsable: boolean): void {
    // Some servers close a connection right after an answer: what they have sent with it is read first.
    if (isUsable) this.options.clock.soon(() => this.keep(connection));
    else {
      this.end(connection);
      this.next();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.all].map((connection) => connection.end()));
  }

  private keep(connection: ReceiverConnection): void {
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

  private free(): ReceiverConnection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (!last.isOld) return last;
      this.end(last);
    }
    if (this.all.size >= MOST) return undefined;
    const connection = new ReceiverConnection(this.origin, this.options, this.shared, (closed) => {
      const at = this.idle.indexOf(closed);
      if (at === -1) return;
      this.idle.splice(at, 1);
      this.end(closed);
    });
    this.all.add(connection);
    return connection;
  }

  private end(connection: ReceiverConnection): void {
    this.all.delete(connection);
    // Nobody waits for its end, and nothing is sent over it any more.
    connection.end().catch(() => undefined);
    if (this.all.size === 0 && this.waiting.length === 0) this.onUnused();
  }
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly allowed: AllowedAddresses;
  /** At least one address of a host name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Time (ms) for the name, the connection and TLS. */
  readonly connectMs: number;
  /** No connection is older (ms): then the name is resolved, and its addresses are checked, once more. */
  readonly mostAgeMs: number;
  /** Certificates to trust instead of those that Node.js trusts, in PEM. */
  readonly ca?: string;
  /** Bytes that may arrive for one request; by default what answers to messages need. */
  readonly mostReceived?: number;
}

/** What connections to one host share: the last TLS session. */
interface SharedSession {
  session?: Buffer;
}

/** How long (ms) an idle connection is kept: less than most servers do, unless the receiver allows more. */
const IDLE_MS = 4_000;
const MOST_IDLE_MS = 60_000;

/** A connection is old after this share of `mostAgeMs` at the earliest, so that not all are replaced at once. */
const LEAST_SHARE = 0.8;

/** Of several addresses, how long (ms) each but the last is tried. */
const ADDRESS_MS = 1_500;

/** Bytes of the headers of an answer. */
const MOST_HEADERS = 16 * 1024;

/** Bytes that a receiver may send for one request: no answer that is read needs as much (`docs/decisions.md#n4`). */
const MOST_RECEIVED = 256 * 1024;

/**
 * A keep-alive connection to one origin, for one request at a time. Addresses are checked here: those in URLs at once,
 * those of names when they are looked up; a connection is made to an address that was checked, or not at all
 * (`docs/decisions.md#n9`).
 */
export class ReceiverConnection {
  private readonly client: Client;
  private socket: Socket | undefined;
  private interim: InterimAnswers | undefined;
  private oldAt = Infinity;
  private isConnected = false;

  /** `onClosed`: the receiver has closed it, or it was idle for too long. */
  constructor(
    origin: string,
    private readonly options: ConnectionOptions,
    private readonly shared: SharedSession,
    onClosed: (connection: ReceiverConnection) => void,
  ) {
    this.client = new Client(origin, {
      connect: (target, callback) => this.connect(target, callback),
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MOST_IDLE_MS,
      maxHeaderSize: MOST_HEADERS,
      // Each attempt has a timer of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.client.on('disconnect', () => {
      this.isConnected = false;
      onClosed(this);
    });
  }

  get isOpen(): boolean {
    return this.isConnected;
  }

  get isOld(): boolean {
    return this.options.clock.monotonic() > this.oldAt;
  }

  /** Connects first, if necessary. Requires that the request before has ended. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.interim?.expect();
    this.client.dispatch(request, handler);
  }

  /** Ends it, with the request in progress. (undici's own abort would connect once more, for nothing.) */
  async end(): Promise<void> {
    const ended = this.client.destroy();
    this.socket?.destroy();
    await ended;
  }

  private connect(target: buildConnector.Options, callback: buildConnector.Callback): void {
    const { protocol, hostname, port } = target;
    const number = portOf(protocol, port);
    // An IP address in the URL is not looked up.
    const { clock, allowed, connectMs } = this.options;
    const refusal = isIP(hostname) === 0 ? undefined : refusalOfAddress(hostname, number, allowed);
    if (refusal !== undefined) {
      queueMicrotask(() => callback(new RefusedTarget(refusal), null));
      return;
    }
    const socket = this.open(protocol, hostname, number);
    this.socket = socket;
    const timer = clock.timer(connectMs, () => socket.destroy(new ConnectTimeout(connectMs)));
    let isDone = false;
    const finish = (error?: Error): void => {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      if (error instanceof RefusedTarget) callback(error, null);
      else if (error !== undefined) callback(new ConnectionFailed(error), null);
      else {
        this.isConnected = true;
        const share = LEAST_SHARE + (1 - LEAST_SHARE) * clock.random();
        this.oldAt = clock.monotonic() + share * this.options.mostAgeMs;
        this.interim = new InterimAnswers(socket);
        callback(null, bounded(socket, this.options.mostReceived));
      }
    };
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => finish());
    socket.on('error', finish);
    socket.once('close', () => finish(new Error('closed')));
  }

  private open(protocol: string, host: string, port: number): Socket {
    const target = {
      host,
      port,
      lookup: this.lookup(port),
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_MS,
    };
    if (protocol !== 'https:') return connect(target);
    const { ca } = this.options;
    const socket = connectTls({
      ...target,
      // In TLS a name has no dot at its end, and an address is no name.
      servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
      ...(this.shared.session && { session: this.shared.session }),
    });
    return socket.on('session', (session) => (this.shared.session = session));
  }

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
      if (refusal !== undefined) throw new RefusedTarget(refusal);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }
}

/**
 * Ends a connection on which too much arrives for one request: interim answers, empty lines and chunk extensions can be
 * endless, and undici reads them as fast as they come.
 */
function bounded(socket: Socket, most = MOST_RECEIVED): Socket {
  let [written, read] = [-1, 0];
  return socket.on('readable', () => {
    if (socket.bytesWritten !== written) [written, read] = [socket.bytesWritten, socket.bytesRead];
    else if (socket.bytesRead - read > most) socket.destroy(new Flood());
  });
}

/** The beginning of an interim answer. */
const INTERIM = 'HTTP/1.1 1';
const STATUS = /^HTTP\/1\.[01] 1(\d\d)[ \r\n]/;
const STATUS_LENGTH = 'HTTP/1.1 100 '.length;

/** Interim answers to one request, and their bytes (`docs/decisions.md#n4`). */
const MOST_ANSWERS = 32;
const MOST_BYTES = 16 * 1024;

const [LF, CR, H, ONE] = [10, 13, 0x48, 0x31];

const NOTHING: Buffer = Buffer.alloc(0);

/** Whether it begins with an answer that is no interim one, as nearly always. */
function isFinal(chunk: Buffer): boolean {
  return chunk[0] === H && (chunk[INTERIM.length - 1] ?? ONE) !== ONE;
}

/**
 * Skips interim answers on a connection (RFC 9110, 15.2). undici ends a connection on which a `100 Continue` arrives
 * that it has not asked for, which many servers and proxies send anyway.
 */
class InterimAnswers {
  /** No byte of the answer itself has arrived. */
  private isAwaiting = true;
  /** What has arrived since the request; there is space for more behind it. */
  private space = NOTHING;
  private length = 0;
  /** What is skipped, and what has no end of a head. */
  private skipped = 0;
  private scanned = 0;
  private answers = 0;

  /** Replaces the `read` of a socket, by which undici takes what has arrived. */
  constructor(private readonly socket: Socket) {
    const read = socket.read.bind(socket) as () => Buffer | null;
    socket.read = () => this.read(read);
  }

  /** The next answer is to begin. */
  expect(): void {
    this.isAwaiting = true;
    this.space = NOTHING;
    this.length = this.skipped = this.scanned = this.answers = 0;
  }

  private read(next: () => Buffer | null): Buffer | null {
    for (let chunk = next(); chunk !== null; chunk = next()) {
      if (!this.isAwaiting) return chunk;
      if (this.length === 0 && isFinal(chunk)) {
        this.isAwaiting = false;
        return chunk;
      }
      this.add(chunk);
      const error = this.skip();
      if (error === 'incomplete') continue;
      if (error !== undefined) {
        this.socket.destroy(error);
        return null;
      }
      this.isAwaiting = false;
      const answer = this.arrived.subarray(this.skipped);
      this.space = NOTHING;
      return answer;
    }
    return null;
  }

  private get arrived(): Buffer {
    return this.space.subarray(0, this.length);
  }

  private add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.space.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.space.length));
      this.space.copy(larger, 0, 0, this.length);
      this.space = larger;
    }
    chunk.copy(this.space, this.length);
    this.length = length;
  }

  /** Skips what precedes the answer. Undefined: what is left is the answer, or what undici will refuse. */
  private skip(): 'incomplete' | Error | undefined {
    const { arrived } = this;
    for (;;) {
      while (arrived[this.skipped] === CR || arrived[this.skipped] === LF) this.skipped += 1;
      const text = arrived.toString('latin1', this.skipped, this.skipped + STATUS_LENGTH);
      if (this.skipped > MOST_BYTES) return new Flood();
      if (!INTERIM.startsWith(text.slice(0, INTERIM.length).replace('/1.0', '/1.1'))) return undefined;
      const end = this.endOfHead(arrived);
      if ((end ?? arrived.length) > MOST_BYTES) return new Flood();
      if (end === undefined) return 'incomplete';
      const status = STATUS.exec(text)?.[1];
      if (status === undefined) return undefined;
      if (status === '01') return new Switched();
      this.answers += 1;
      if (this.answers > MOST_ANSWERS) return new Flood();
      this.skipped = end;
    }
  }

  /** Behind the empty line at the end of the head that begins after what is skipped. Looks at each byte once. */
  private endOfHead(arrived: Buffer): number | undefined {
    this.scanned = Math.max(this.scanned, this.skipped);
    for (;;) {
      const line = arrived.indexOf(LF, this.scanned);
      this.scanned = line === -1 ? arrived.length : line;
      if (line === -1) return undefined;
      const next = arrived[line + 1] === CR ? line + 2 : line + 1;
      if (next >= arrived.length) return undefined;
      this.scanned = next;
      if (arrived[next] === LF) return next + 1;
    }
  }
}
