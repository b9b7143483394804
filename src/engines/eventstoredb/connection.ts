import { isIP } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import {
  type BatchAppendReq,
  type BatchAppendResp,
  type ReadReq,
  type ReadResp,
} from '@eventstore/db-client/generated/streams_pb';
import {
  type CallOptions,
  Channel,
  type ChannelCredentials,
  type ChannelOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  type Metadata,
  status,
} from '@grpc/grpc-js';
import { detailsOf, NoAnswer, Refused } from './failure';
import { type EsdbUrl, parseEsdbUrl } from './url';

/** Maximum message size (bytes): enough for the largest event of a server. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

/** HTTP/2 flow control window (bytes): how far the server may send ahead of the consumer. */
const WINDOW_BYTES = 1024 * 1024;

/** Time-out (ms) for probing whether a server uses TLS. */
const TLS_PROBE_MS = 2_000;

/** The client library, used to connect, find the leader, and authenticate. */
type Client = EsdbUrl['client'];

/** Private members of the client that its types omit. */
interface Internals {
  getGRPCClient(kind: typeof StreamsClient, name: string): Promise<StreamsClient>;
  createChannel(): Promise<Channel>;
}

/**
 * A connection to an EventStoreDB for raw calls of its streams protocol.
 *
 * The official client finds the server and authenticates. Its own reads parse the data of every event, so they cannot return
 * the original text, and its appends share one map per process and never time out: hence the raw calls. The private members
 * are those of version 6.2.1, which package.json pins (ADR 9).
 */
export class Connection {
  readonly #client: Client;
  readonly #internals: Internals;
  readonly #isPlain: boolean;
  readonly #channels = new Set<Channel>();
  #target: string | undefined;
  #explain = false;
  #closed = false;

  /** Connects on first use. Raises `UnusableUrl`. */
  constructor(url: string) {
    const parsed = parseEsdbUrl(url);
    this.#client = parsed.client;
    this.#internals = internalsOf(this.#client);
    this.#isPlain = parsed.option('tls')?.toLowerCase() === 'false';
    replaceChannel(this.#internals, parsed, this.#isPlain, (channel) => {
      this.#channels.add(channel);
      if (this.#closed) channel.close();
    });
  }

  /** Starts a read or a subscription. */
  async read(request: ReadReq): Promise<ClientReadableStream<ReadResp>> {
    const [streams, metadata, options] = await this.#call();
    const reading = streams.read(request, metadata, options);
    return reading.on('error', (error: Error) => this.#failed(streams, error));
  }

  /** Opens a call for any number of appends. */
  async batchAppend(): Promise<ClientDuplexStream<BatchAppendReq, BatchAppendResp>> {
    const [streams, metadata, options] = await this.#call();
    const appending = streams.batchAppend(metadata, options);
    return appending.on('error', (error: Error) => this.#failed(streams, error));
  }

  /** The server's version, such as `24.6.0`; `unknown` if it is too old to report it. */
  async version(): Promise<string> {
    return (await this.#client['capabilities']).serverVersion;
  }

  /** Returns the error, or a more helpful one: a server that uses TLS closes a plain connection without an error. */
  async explain(error: unknown): Promise<unknown> {
    const isSilent = detailsOf(error).code === status.UNAVAILABLE && !/ECONNREFUSED/.test(String(error));
    if (!this.#isPlain || !isSilent || this.#explain || this.#target === undefined) return error;
    this.#explain = true;
    const [host, port] = hostAndPort(this.#target);
    if (!(await probeTls(host, port))) return error;
    return new Refused('it uses TLS: remove tls=false from the URL');
  }

  /** Refuses new calls. The connection closes when the calls in progress have ended. */
  close(): void {
    this.#closed = true;
    for (const channel of this.#channels) channel.close();
  }

  async #call(): Promise<[StreamsClient, Metadata, CallOptions]> {
    const streams = await this.#internals.getGRPCClient(StreamsClient, 'streams');
    if (this.#closed) throw new NoAnswer('the connection was closed');
    this.#target = streams.getChannel().getTarget();
    // A follower may lag behind the leader and report an old end of the log.
    const [metadata, options] = this.#client['callArguments'](
      { requiresLeader: true },
      { deadline: Infinity },
    );
    return [streams, metadata, options];
  }

  /** Lets the client reconnect, to the leader if the error names it. */
  #failed(streams: StreamsClient, error: Error): void {
    if (!isOwnCancellation(error)) void this.#client['handleError'](streams, error);
  }
}

function internalsOf(client: object): Internals {
  if (isInternals(client)) return client;
  throw new TypeError('expected @eventstore/db-client 6.2.1');
}

function isInternals(client: object): client is Internals {
  return ['getGRPCClient', 'createChannel'].every((name) => typeof Reflect.get(client, name) === 'function');
}

function isOwnCancellation(error: Error): boolean {
  return detailsOf(error).code === status.CANCELLED && /cancelled on client/i.test(error.message);
}

/**
 * Replaces the client's channels. Ours are not shared with other clients of the process, can skip the verification of
 * certificates, and verify an IP address without sending it as a server name, which Node.js warns about.
 */
function replaceChannel(
  client: Internals,
  url: EsdbUrl,
  isPlain: boolean,
  onChannel: (channel: Channel) => void,
): void {
  const connect = client.createChannel.bind(client);
  const file = (name: string): Buffer | null => (isPlain ? null : url.file(name));
  const [root, key, certificate] = [file('tlsCAFile'), file('userKeyFile'), file('userCertFile')];
  client.createChannel = async () => {
    const original = await connect();
    const target = original.getTarget();
    original.close();
    const [host] = hostAndPort(target);
    const secure = (): ChannelCredentials =>
      credentials.createSsl(root, key, certificate, {
        rejectUnauthorized: url.option('tlsVerifyCert')?.toLowerCase() !== 'false',
        ...(isIP(host) !== 0 && { checkServerIdentity: (_, cert) => checkServerIdentity(host, cert) }),
      });
    const options: ChannelOptions = {
      'grpc.keepalive_time_ms': milliseconds(url.option('keepAliveInterval')),
      'grpc.keepalive_timeout_ms': milliseconds(url.option('keepAliveTimeout')),
      'grpc.max_receive_message_length': MESSAGE_BYTES,
      'grpc.use_local_subchannel_pool': 1,
      'grpc-node.flow_control_window': WINDOW_BYTES,
      ...(isIP(host) !== 0 && !isPlain && { 'grpc.ssl_target_name_override': 'localhost' }),
    };
    const channel = new Channel(target, isPlain ? credentials.createInsecure() : secure(), options);
    onChannel(channel);
    return channel;
  };
}

/** A keep-alive time of the URL: 10 s by default; a negative value means never. */
function milliseconds(value: string | undefined): number {
  const given = Number(value ?? 10_000);
  return given < 0 ? 2 ** 31 - 1 : given;
}

/** Parses `dns:host:port`, `ipv4:1.2.3.4:2113` or `host:port`. */
function hostAndPort(target: string): [string, number] {
  const [, host = '', port = '2113'] = /^(?:[a-z0-9]+:)??(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(target) ?? [];
  return [host.replace(/^\[|\]$/g, ''), Number(port)];
}

async function probeTls(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    // Only a probe for TLS: no data is sent, and the certificate is not trusted.
    const socket = connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const end = (usesTls: boolean) => (): void => {
      socket.destroy();
      resolve(usesTls);
    };
    socket.setTimeout(TLS_PROBE_MS, end(false)).once('secureConnect', end(true)).once('error', end(false));
  });
}
