import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { types } from 'node:util';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { type AllowedAddresses } from './allowed-addresses';
import { ConnectionFailed, ConnectTimeout, Flood, Refused } from './failures';
import { InterimAnswers } from './interim-answers';
import { portOf, refusalOfAddress } from './receiver-url';

export interface ConnectionOptions {
  readonly allowed: AllowedAddresses;
  /** At least one address of a host name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Time (ms) for the name, the connection and TLS. */
  readonly connectMs: number;
  /** No connection is older (ms): then the name is resolved, and its addresses are checked, once more. */
  readonly mostAgeMs: number;
  /** Certificates to trust instead of those that Node.js trusts, in PEM. */
  readonly ca?: string;
}

/** What connections to one host share: the last TLS session. */
export interface Shared {
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
 * A keep-alive connection to one origin, for one request at a time. Addresses are checked here: those in URLs at once, those of
 * names when they are looked up; a connection is made to an address that was checked, or not at all (`docs/decisions.md#n9`).
 */
export class Connection {
  private readonly client: Client;
  private socket: Socket | undefined;
  private interim: InterimAnswers | undefined;
  private oldAt = Infinity;
  private isConnected = false;

  /** `onClosed`: the receiver has closed it, or it was idle for too long. */
  constructor(
    origin: string,
    private readonly options: ConnectionOptions,
    private readonly shared: Shared,
    onClosed: (connection: Connection) => void,
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
    return performance.now() > this.oldAt;
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
    const { allowed, connectMs } = this.options;
    const refusal = isIP(hostname) === 0 ? undefined : refusalOfAddress(hostname, number, allowed);
    if (refusal !== undefined) {
      queueMicrotask(() => callback(new Refused(refusal), null));
      return;
    }
    const socket = this.open(protocol, hostname, number);
    this.socket = socket;
    const timer = setTimeout(() => socket.destroy(new ConnectTimeout(connectMs)), connectMs);
    let isDone = false;
    const finish = (error?: Error): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      if (error instanceof Refused) callback(error, null);
      else if (error !== undefined) callback(new ConnectionFailed(error), null);
      else {
        this.isConnected = true;
        const share = LEAST_SHARE + (1 - LEAST_SHARE) * Math.random();
        this.oldAt = performance.now() + share * this.options.mostAgeMs;
        this.interim = new InterimAnswers(socket);
        callback(null, bounded(socket));
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
      if (refusal !== undefined) throw new Refused(refusal);
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }
}

/**
 * Ends a connection on which too much arrives for one request: interim answers, empty lines and chunk extensions can be endless,
 * and undici reads them as fast as they come.
 */
function bounded(socket: Socket): Socket {
  let [written, read] = [-1, 0];
  return socket.on('readable', () => {
    if (socket.bytesWritten !== written) [written, read] = [socket.bytesWritten, socket.bytesRead];
    else if (socket.bytesRead - read > MOST_RECEIVED) socket.destroy(new Flood());
  });
}
