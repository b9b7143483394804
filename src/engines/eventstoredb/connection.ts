import { ServerFeaturesClient } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { Empty } from '@eventstore/db-client/generated/shared_pb';
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
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import { channelTo } from './channel';
import { discover } from './discovery';
import { explainCertificate, isSilent, usesTls } from './explain-tls';
import { detailsOf, NoAnswer, NoNode, Refused } from './failure';
import { type Endpoint, type EsdbUrl, parseEsdbUrl } from './url';

/** Time-out (ms) of the call for the server's version. */
const VERSION_MS = 10_000;

/** An open connection to a server. */
interface Link {
  readonly channel: Channel;
  readonly endpoint: Endpoint;
  readonly streams: StreamsClient;
}

/**
 * A connection to an EventStoreDB for calls of its streams protocol: to the leader of a cluster, which is found by gossip.
 *
 * When a call fails since the server is gone or is no leader, the next call connects again. Nothing else is remembered of a
 * failure, and every promise belongs to a call: connecting may fail for any time without other consequences (ADR 9).
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
  async read(request: ReadReq): Promise<ClientReadableStream<ReadResp>> {
    const link = await this.#connected();
    const reading = link.streams.read(request, this.#metadata(), UNLIMITED);
    return reading.on('error', (error: Error) => this.#failed(link, error));
  }

  /** Opens a call for any number of appends. */
  async batchAppend(): Promise<ClientDuplexStream<BatchAppendReq, BatchAppendResp>> {
    const link = await this.#connected();
    const appending = link.streams.batchAppend(this.#metadata(), UNLIMITED);
    return appending.on('error', (error: Error) => this.#failed(link, error));
  }

  /** The server's version, such as `24.6.0`; `unknown` if it is too old to report it. */
  async version(): Promise<string> {
    const link = await this.#connected();
    const features = new ServerFeaturesClient('', credentials.createInsecure(), {
      channelOverride: link.channel,
    });
    const options = { deadline: Date.now() + VERSION_MS };
    return await new Promise((resolve, reject) => {
      features.getSupportedMethods(new Empty(), new Metadata(), options, (error, supported) => {
        if (error === null) resolve(supported.getEventStoreServerVersion());
        else if (error.code === status.UNIMPLEMENTED) resolve('unknown');
        else {
          this.#failed(link, error);
          reject(error);
        }
      });
    });
  }

  /** Returns the error, or one that names the problem with TLS. */
  async explain(error: unknown): Promise<unknown> {
    if (this.#tried === undefined) return error;
    if (!this.#url.isPlain) return await explainCertificate(error, this.#tried, this.#url);
    if (this.#isProbed || !isSilent(error instanceof NoNode ? error.cause : error)) return error;
    this.#isProbed = true;
    if (!(await usesTls(this.#tried))) return error;
    return new Refused('it uses TLS: remove tls=false from the URL');
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
    const streams = new StreamsClient('', credentials.createInsecure(), { channelOverride: channel });
    this.#link = { channel, endpoint, streams };
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
