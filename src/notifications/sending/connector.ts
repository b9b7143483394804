import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { types } from 'node:util';
import { type buildConnector } from 'undici';
import { type AllowedAddresses } from './allowed-addresses';
import { ConnectionFailed, ConnectTimeout, Flood, Refused } from './failures';
import { defaultPort, refusalOfAddress } from './receiver-url';

export interface ConnectorOptions {
  readonly allowed: AllowedAddresses;
  /** At least one address of a host name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Time (ms) for the name, the connection and TLS. */
  readonly connectMs: number;
  /** Certificates to trust instead of those that Node.js trusts, in PEM. */
  readonly ca?: string;
}

/** Of several addresses, how long (ms) each but the last is tried. */
const ADDRESS_MS = 1_500;

/** Bytes that a receiver may send for one request: no answer that is read needs as much (`docs/decisions.md#n4`). */
const MOST_RECEIVED = 256 * 1024;

/**
 * Connects to one origin. Addresses are checked here: those in URLs at once, those of names when they are looked up, and the connection
 * is made to an address that was checked, or not at all (`docs/decisions.md#n9`).
 */
export class Connector {
  private session: Buffer | undefined;

  /** `connecting`: has the sockets without a connection yet. */
  constructor(
    private readonly options: ConnectorOptions,
    private readonly connecting: Set<Socket>,
  ) {}

  /** As undici calls it. */
  readonly connect: buildConnector.connector = ({ protocol, hostname, port }, callback) => {
    const number = port === '' ? defaultPort(protocol) : Number(port);
    // An IP address in the URL is not looked up.
    const refusal =
      isIP(hostname) === 0 ? undefined : refusalOfAddress(hostname, number, this.options.allowed);
    if (refusal === undefined) this.await(this.open(protocol, hostname, number), protocol, callback);
    else queueMicrotask(() => callback(new Refused(refusal), null));
  };

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
      ...(this.session && { session: this.session }),
    });
    return socket.on('session', (session) => (this.session = session));
  }

  private await(socket: Socket, protocol: string, callback: buildConnector.Callback): void {
    const { connectMs } = this.options;
    this.connecting.add(socket);
    const timer = setTimeout(() => socket.destroy(new ConnectTimeout(connectMs)), connectMs);
    let isDone = false;
    const finish = (error?: Error): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      this.connecting.delete(socket);
      if (error === undefined) callback(null, bounded(socket));
      else callback(error instanceof Refused ? error : new ConnectionFailed(error), null);
    };
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => finish());
    socket.on('error', finish);
    socket.once('close', () => finish(new Error('closed')));
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
 * Ends a connection on which too much arrives for one request: interim answers, empty lines and chunk extensions can be endless, and
 * undici reads them as fast as they come.
 */
function bounded(socket: Socket): Socket {
  let [written, read] = [-1, 0];
  return socket.on('readable', () => {
    if (socket.bytesWritten !== written) [written, read] = [socket.bytesWritten, socket.bytesRead];
    else if (socket.bytesRead - read > MOST_RECEIVED) socket.destroy(new Flood());
  });
}
