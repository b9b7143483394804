import { isIP, isIPv6 } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';
import {
  type CallOptions,
  Channel,
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import { certificateProblem } from '../certificate';
import { asError, detailsOf, NoAnswer, NoNode, RefusedByServer, tlsProblem, TRUST } from './failure';
import {
  type AppendAnswer,
  appendAnswer,
  CALLS,
  type ClusterMember,
  clusterMembers,
  type ReadAnswer,
  readAnswer,
  serverVersion,
} from './protocol';
import { type ReadRequest } from './requests';
import { type Discovery, type Endpoint, type EsdbUrl, parseEsdbUrl } from './url';

/** Time-out (ms) of the call for the server's version. */
const VERSION_MS = 10_000;

/** An open connection to a server. */
interface Link {
  readonly channel: Channel;
  readonly endpoint: Endpoint;
  readonly client: Client;
}

/**
 * A connection to an EventStoreDB for calls of its streams protocol: to the leader of a cluster, which is found by
 * gossip.
 *
 * When a call fails since the server is gone or is no leader, the next call connects again. Nothing else is remembered
 * of a failure, and every promise belongs to a call: connecting may fail for any time without other consequences (ADR
 * 9).
 */
export class Connection {
  readonly #url: EsdbUrl;
  readonly #closing = new AbortController();
  /** Settled or not; absent after a failure. */
  #connecting: Promise<Link> | undefined;
  /** The link that `#connecting` has resolved to. */
  #link: Link | undefined;
  /** The leader as the last server called has named it. */
  #leader: Endpoint | undefined;
  #failedNode: Endpoint | undefined;
  /** What was connected to last. */
  #tried: Endpoint | undefined;
  /** Whether it is known that a server without TLS in its URL uses none. */
  #isProbed = false;

  /** Connects on first use. Raises `UnusableUrl`. */
  constructor(url: string) {
    this.#url = parseEsdbUrl(url);
  }

  /** Starts a read or a subscription. */
  async read(request: ReadRequest): Promise<ClientReadableStream<ReadAnswer>> {
    const link = await this.#connected();
    const reading = link.client.makeServerStreamRequest(
      CALLS.read,
      encoded,
      readAnswer,
      request,
      this.#metadata(),
      UNLIMITED,
    );
    return reading.on('error', (error: Error) => this.#failed(link, error));
  }

  /** Opens a call for any number of appends. */
  async batchAppend(): Promise<ClientDuplexStream<Buffer, AppendAnswer>> {
    const link = await this.#connected();
    const appending = link.client.makeBidiStreamRequest(
      CALLS.batchAppend,
      encoded,
      appendAnswer,
      this.#metadata(),
      UNLIMITED,
    );
    return appending.on('error', (error: Error) => this.#failed(link, error));
  }

  /** The server's version, such as `24.6.0`; `unknown` if it is too old to report it. */
  async version(): Promise<string> {
    const link = await this.#connected();
    try {
      return await ask(link.client, CALLS.supportedMethods, serverVersion, VERSION_MS);
    } catch (error) {
      if (detailsOf(error).code === status.UNIMPLEMENTED) return 'unknown';
      this.#failed(link, asError(error));
      throw error;
    }
  }

  /** Returns the error, or one that names the problem with TLS. */
  async explain(error: unknown): Promise<unknown> {
    if (this.#tried === undefined) return error;
    if (!this.#url.isPlain) return await explainCertificate(error, this.#tried, this.#url);
    if (this.#isProbed || !isSilent(error instanceof NoNode ? error.cause : error)) return error;
    this.#isProbed = true;
    if (!(await usesTls(this.#tried))) return error;
    return new RefusedByServer('it uses TLS: remove tls=false from the URL');
  }

  /** Refuses new calls. The connection closes when the calls in progress have ended. */
  close(): void {
    this.#closing.abort(new NoAnswer('the connection was closed'));
    this.#link?.channel.close();
  }

  async #connected(): Promise<Link> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    const link = await this.#connecting;
    signal.throwIfAborted();
    return link;
  }

  async #connect(): Promise<Link> {
    const endpoint = this.#leader ?? (await this.#find());
    this.#leader = undefined;
    this.#tried = endpoint;
    const channel = new Channel(...channelTo(endpoint, this.#url));
    const client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    this.#link = { channel, endpoint, client };
    return this.#link;
  }

  async #find(): Promise<Endpoint> {
    const { endpoints, discovery } = this.#url;
    const [first] = endpoints;
    if (first === undefined) throw new TypeError('a URL has a host');
    this.#tried ??= first;
    const { signal } = this.#closing;
    return discovery === undefined ? first : await discover(this.#url, discovery, this.#failedNode, signal);
  }

  /** Lets the next call connect again, to the leader if the error names it. */
  #failed(link: Link, error: Error): void {
    if (link !== this.#link || isOwnCancellation(error)) return;
    const { type, code } = detailsOf(error);
    if (type !== 'not-leader' && code !== status.UNAVAILABLE && code !== status.CANCELLED) return;
    this.#link = undefined;
    this.#connecting = undefined;
    this.#leader = type === 'not-leader' ? leaderOf(error) : undefined;
    this.#failedNode = link.endpoint;
    link.channel.close();
  }

  /** A follower may lag behind the leader and report an old end of the log. */
  #metadata(): Metadata {
    const { user, isPlain, connectionName } = this.#url;
    const metadata = new Metadata();
    metadata.set('connection-name', connectionName);
    metadata.set('requires-leader', 'true');
    if (user !== undefined && !isPlain) {
      const basic = Buffer.from(`${user.name}:${user.password}`).toString('base64');
      metadata.set('authorization', `Basic ${basic}`);
    }
    return metadata;
  }
}

const UNLIMITED: CallOptions = { deadline: Infinity };

/** Requests are encoded by those who make them. */
const encoded = (request: Buffer): Buffer => request;

/** The only message without fields that is sent. */
const EMPTY = Buffer.alloc(0);

/** Makes a call that has no parameters and one answer. `signal` cancels it. */
async function ask<Answer>(
  client: Client,
  path: string,
  decode: (bytes: Buffer) => Answer,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Answer> {
  let cancel = (): void => undefined;
  try {
    return await new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      const answered = (error: Error | null, answer?: Answer): void =>
        answer === undefined ? reject(asError(error)) : resolve(answer);
      const call = client.makeUnaryRequest(path, encoded, decode, EMPTY, new Metadata(), options, answered);
      cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel);
    });
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** The leader that a `not-leader` error names, if it does. */
function leaderOf(error: Error): Endpoint | undefined {
  const metadata: unknown = Reflect.get(error, 'metadata');
  if (!(metadata instanceof Metadata)) return undefined;
  const [address, port] = ['host', 'port'].map((part) =>
    metadata.get(`leader-endpoint-${part}`)[0]?.toString(),
  );
  return address === undefined || port === undefined ? undefined : { address, port: Number(port) };
}

function isOwnCancellation(error: Error): boolean {
  return detailsOf(error).code === status.CANCELLED && /cancelled on client/i.test(error.message);
}

/**
 * Asks the servers of a cluster, in random order, for its leader, or another node that is alive. The server that failed
 * is asked last. Raises `NoNode` after the attempts of the URL, a problem with TLS at once if all servers have one, and
 * the reason of `signal`.
 */
async function discover(
  url: EsdbUrl,
  discovery: Discovery,
  failed: Endpoint | undefined,
  signal: AbortSignal,
): Promise<Endpoint> {
  const isFailed = ({ address, port }: Endpoint): boolean =>
    address === failed?.address && port === failed.port;
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const ranked = url.endpoints.map((seed) => ({ seed, rank: Math.random() + (isFailed(seed) ? 1 : 0) }));
    const distrusted: { readonly seed: Endpoint; readonly error: unknown }[] = [];
    for (const { seed } of ranked.sort((a, b) => a.rank - b.rank)) {
      try {
        const node = nodeAmong(await membersAt(seed, url, discovery, signal));
        if (node !== undefined) return node;
      } catch (error) {
        signal.throwIfAborted();
        if (tlsProblem(error) === undefined) failure = error;
        else distrusted.push({ seed, error });
      }
    }
    const isHopeless = distrusted.length === ranked.length;
    const isLast = attempt >= discovery.attempts;
    if (isHopeless || isLast) {
      const [one] = distrusted;
      const problem = one && (await explainCertificate(one.error, one.seed, url));
      throw isHopeless ? problem : new NoNode(failure, problem);
    }
    await pause(discovery.intervalMs, undefined, { signal });
  }
}

async function membersAt(
  seed: Endpoint,
  url: EsdbUrl,
  { timeoutMs }: Discovery,
  signal: AbortSignal,
): Promise<readonly ClusterMember[]> {
  const client = new Client(...channelTo(seed, url));
  try {
    return await ask(client, CALLS.gossip, clusterMembers, timeoutMs, signal);
  } finally {
    client.close();
  }
}

/** The state of a leader, and those of other nodes that can name it, by the protocol. */
const LEADER = 8;
const FOLLOWING: readonly number[] = [6, 12, 13, 14];

/** The leader of a cluster, or any node that can name it, whatever `nodePreference` is. */
function nodeAmong(members: readonly ClusterMember[]): Endpoint | undefined {
  const alive = members.filter(({ isAlive, endpoint }) => isAlive && endpoint !== undefined);
  const others = alive.filter(({ state }) => FOLLOWING.includes(state));
  const other = others[Math.floor(Math.random() * others.length)];
  return (alive.find(({ state }) => state === LEADER) ?? other)?.endpoint;
}

/** Maximum message size (bytes): enough for the largest event of a server. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

/** HTTP/2 flow control window (bytes): how far the server may send ahead of the consumer. */
const WINDOW_BYTES = 1024 * 1024;

/** What a gRPC channel or client is constructed with. */
type ChannelArguments = readonly [target: string, credentials: ChannelCredentials, options: ChannelOptions];

/**
 * A channel to a server. It is not shared with other clients of the process, and verifies an IP address without sending
 * it as a server name, which Node.js warns about.
 */
function channelTo({ address, port }: Endpoint, url: EsdbUrl): ChannelArguments {
  const isAddress = isIP(address) !== 0;
  const { interval, timeout } = url.keepAlive;
  const options: ChannelOptions = {
    'grpc.keepalive_time_ms': interval < 0 ? NEVER_MS : interval,
    'grpc.keepalive_timeout_ms': timeout < 0 ? NEVER_MS : timeout,
    'grpc.max_receive_message_length': MESSAGE_BYTES,
    'grpc.use_local_subchannel_pool': 1,
    'grpc-node.flow_control_window': WINDOW_BYTES,
    ...(isAddress && !url.isPlain && { 'grpc.ssl_target_name_override': 'localhost' }),
  };
  const target = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  return [target, url.isPlain ? credentials.createInsecure() : secure(address, isAddress, url), options];
}

const NEVER_MS = 2 ** 31 - 1;

function secure(address: string, isAddress: boolean, url: EsdbUrl): ChannelCredentials {
  const { authority, key, certificate } = url.pem;
  return credentials.createSsl(authority, key, certificate, {
    rejectUnauthorized: url.verifiesCertificates,
    ...(isAddress && { checkServerIdentity: (_, cert) => checkServerIdentity(address, cert) }),
  });
}

/** Time-out (ms) for probing a server. */
const PROBE_MS = 2_000;

/** Whether a failure looks like that of a server that uses TLS: it closes a plain connection without an error. */
function isSilent(error: unknown): boolean {
  return detailsOf(error).code === status.UNAVAILABLE && !/ECONNREFUSED/.test(String(error));
}

/** For a URL without TLS: whether the server uses it. */
async function usesTls({ address, port }: Endpoint): Promise<boolean> {
  return (await probe({ host: address, port }, () => true)) ?? false;
}

/** Returns the error of a connection over TLS, or one that explains more of the server's certificate. */
async function explainCertificate(error: unknown, endpoint: Endpoint, url: EsdbUrl): Promise<unknown> {
  if (tlsProblem(error) === undefined) return error;
  const { authority, key, certificate } = url.pem;
  const options = {
    ...{ host: endpoint.address, port: endpoint.port },
    ...(authority && { ca: authority }),
    ...(key && certificate && { key, cert: certificate }),
  };
  const problem = await probe(options, (socket) =>
    // Typed as an error, but it is the code of one.
    certificateProblem(String(socket.authorizationError), TRUST, socket.getPeerCertificate()),
  );
  return problem === undefined ? error : new RefusedByServer(problem);
}

/** Connects over TLS, only to look at the connection: no data is sent. Undefined if it cannot be made. */
async function probe<Seen>(
  options: { readonly host: string; readonly port: number },
  look: (socket: TLSSocket) => Seen,
): Promise<Seen | undefined> {
  return await new Promise((resolve) => {
    const socket = connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const end = (seen?: Seen): void => {
      socket.destroy();
      resolve(seen);
    };
    socket
      .setTimeout(PROBE_MS, () => end())
      .once('secureConnect', () => end(look(socket)))
      .once('error', () => end());
  });
}
