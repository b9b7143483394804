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
import { marksOf, NoAnswer, Refused } from './trouble';
import { type EsdbUrl, parseEsdbUrl } from './url';

/** The largest message a server may send (bytes): one with its largest event. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

/** How much a server may send ahead of what has been taken (bytes, HTTP/2 flow control). */
const WINDOW_BYTES = 1024 * 1024;

/** How long a server that is asked whether it speaks TLS may take (ms). */
const TLS_MS = 2_000;

/** What the client library knows to do by itself: make a connection, find the leader, say who is calling. */
type Client = EsdbUrl['client'];

/** Private members of the client that its types leave out. */
interface Internals {
  getGRPCClient(kind: typeof StreamsClient, name: string): Promise<StreamsClient>;
  createChannel(): Promise<Channel>;
}

/**
 * A connection to an EventStoreDB for calls of the streams protocol as they are on the wire.
 *
 * The official client finds the server and says who is calling. Its own reads parse the data of every event, which
 * cannot give a text back to the letter, and its appends share one map per process and never time out; so calls are
 * made here. Its private members are those of version 6.2.1, to which package.json binds us (ADR 9).
 */
export class Connection {
  readonly #client: Client;
  readonly #internals: Internals;
  readonly #isPlain: boolean;
  readonly #channels = new Set<Channel>();
  #target: string | undefined;
  #explained = false;
  #closed = false;

  /** Connects when it is first used. Raises `UnusableUrl`. */
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

  /** Opens a call that any number of appends go over. */
  async batchAppend(): Promise<ClientDuplexStream<BatchAppendReq, BatchAppendResp>> {
    const [streams, metadata, options] = await this.#call();
    const appending = streams.batchAppend(metadata, options);
    return appending.on('error', (error: Error) => this.#failed(streams, error));
  }

  /** The server's version, such as `24.6.0`; `unknown` of one that is too old to say. */
  async version(): Promise<string> {
    return (await this.#client['capabilities']).serverVersion;
  }

  /** The error, or what explains it better: a server that speaks TLS closes a plain connection without a word. */
  async explained(error: unknown): Promise<unknown> {
    const isSilent = marksOf(error).code === status.UNAVAILABLE && !/ECONNREFUSED/.test(String(error));
    if (!this.#isPlain || !isSilent || this.#explained || this.#target === undefined) return error;
    this.#explained = true;
    const [host, port] = hostAndPort(this.#target);
    if (!(await speaksTls(host, port))) return error;
    return new Refused('it uses TLS: remove tls=false from the URL');
  }

  /** Takes no more calls; the connection ends with those under way. */
  close(): void {
    this.#closed = true;
    for (const channel of this.#channels) channel.close();
  }

  async #call(): Promise<[StreamsClient, Metadata, CallOptions]> {
    const streams = await this.#internals.getGRPCClient(StreamsClient, 'streams');
    if (this.#closed) throw new NoAnswer('the connection was closed');
    this.#target = streams.getChannel().getTarget();
    // A follower may not have yet what has been appended: its end of the log would be in the past.
    const [metadata, options] = this.#client['callArguments'](
      { requiresLeader: true },
      { deadline: Infinity },
    );
    return [streams, metadata, options];
  }

  /** Lets the client connect anew, to the leader where the error names it. */
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
  return marksOf(error).code === status.CANCELLED && /cancelled on client/i.test(error.message);
}

/**
 * Makes the client's channels here: connections are not shared with other clients of the process, a certificate may go
 * unverified, and an IP address is verified without being sent as a server name, which Node.js warns about.
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
    const made = await connect();
    const target = made.getTarget();
    made.close();
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

/** Keep-alive times of a URL: 10 s by default, never where negative. */
function milliseconds(value: string | undefined): number {
  const given = Number(value ?? 10_000);
  return given < 0 ? 2 ** 31 - 1 : given;
}

/** Of `dns:host:port`, `ipv4:1.2.3.4:2113` or `host:port`. */
function hostAndPort(target: string): [string, number] {
  const [, host = '', port = '2113'] = /^(?:[a-z0-9]+:)??(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(target) ?? [];
  return [host.replace(/^\[|\]$/g, ''), Number(port)];
}

async function speaksTls(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    // Only whether there is TLS is of interest: nothing is sent, nothing that comes is believed.
    const socket = connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    const end = (speaks: boolean) => (): void => {
      socket.destroy();
      resolve(speaks);
    };
    socket.setTimeout(TLS_MS, end(false)).once('secureConnect', end(true)).once('error', end(false));
  });
}
