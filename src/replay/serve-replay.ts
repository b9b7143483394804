import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { SupportedMethod, SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb';
import { type IStreamsServer, StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import {
  type handleUnaryCall,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { FairQueue } from '../runtime/fair-queue';
import { ClientLog } from './client-log';
import {
  accessDenied,
  type ReportBug,
  ServerRefusal,
  TICKS_PER_MS,
  toServiceError,
  toUuid,
} from './client-values';
import { answerRead } from './read-call';

export interface ReplayOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Receives bugs of the program; by default they are dropped. */
  readonly report?: ReportBug;
}

/** A running endpoint. */
export interface ReplayServer {
  readonly port: number;
  readonly url: string;
  /** Ends all calls and closes the port. The log stays open. */
  close(): Promise<void>;
}

const LIMITS = {
  /** Larger than an append may be, so that a too large one gets a specific error. */
  'grpc.max_receive_message_length': 17 * 1024 * 1024,
  /**
   * More than `MAX_CALLS`: Node.js 24 and later count a stream until its cancellation has been processed, and refuse
   * the call that a client at this limit sends with it as RESOURCE_EXHAUSTED.
   */
  'grpc.max_concurrent_streams': 1_000,
} as const;

/** Streaming calls of a connection that are answered at once, as EventStoreDB has it; others wait. */
const MAX_CALLS = 100;

/** How long (ms) calls may take to end on close. */
const GRACE_MS = 1_000;

/**
 * Serves a log, read-only, to official clients of EventStoreDB in any language. Without TLS or authentication: meant
 * for loopback. Raises `EngineUnavailable` if it cannot listen.
 */
export async function serveReplay(log: EventLog, options: ReplayOptions): Promise<ReplayServer> {
  return await serveStreams((answers) => readOnlyStreams(new ClientLog(log), answers), options);
}

/** Serves an implementation of the service `Streams`. Raises `EngineUnavailable` if it cannot listen. */
export async function serveStreams(
  streams: (answers: Answers) => IStreamsServer,
  { host, port, report = () => undefined }: ReplayOptions,
): Promise<ReplayServer> {
  const server = new Server(LIMITS);
  const closing = new AbortController();
  // Every call adds a listener.
  setMaxListeners(0, closing.signal);
  const address = host.includes(':') ? `[${host}]` : host;
  const id = randomUUID();
  let bound = port;
  server.addService(StreamsService, streams(new Answers(closing.signal, report)));
  server.addService(ServerFeaturesService, { getSupportedMethods: unary(supportedMethods) });
  server.addService(GossipService, { read: unary(() => clusterOf(id, host, bound)) });
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const front = await openFront(host, port, (socket) => connections.injectConnection(socket), answerHttp1);
  bound = front.port;
  return {
    port: bound,
    url: `esdb://${address}:${bound}?tls=false`,
    async close() {
      closing.abort();
      const force = setTimeout(() => server.forceShutdown(), GRACE_MS);
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      clearTimeout(force);
      front.close();
    },
  };
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Idle time-out (ms) of connections other than HTTP/2. */
const IDLE_MS = 10_000;

/**
 * Listens on a port and passes each connection to the server of its protocol, which it detects from the first bytes.
 * Raises `EngineUnavailable` if it cannot listen.
 */
async function openFront(
  host: string,
  port: number,
  http2: (socket: Socket) => void,
  http1: RequestListener,
): Promise<{ readonly port: number; close(): void }> {
  const http = createHttpServer(http1);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    // An error before the protocol is detected closes the socket; the server of the protocol handles later ones.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    detectProtocol(socket, (isHttp2) => {
      if (isHttp2) {
        http2(socket);
        return;
      }
      http.emit('connection', socket);
      socket.resume();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new EngineUnavailable(`cannot listen on ${host}, port ${port}`, { cause: error })),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Detects the protocol from the first bytes, and unshifts them. A socket that ends before is closed. */
function detectProtocol(socket: Socket, decide: (isHttp2: boolean) => void): void {
  let bytes = Buffer.alloc(0);
  const end = (): unknown => socket.destroy();
  const look = (part: Buffer): void => {
    bytes = Buffer.concat([bytes, part]);
    const length = Math.min(bytes.length, PREFACE.length);
    const isHttp2 = bytes.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (isHttp2 && length < PREFACE.length) return;
    // HTTP/2 has its own keep-alive; an idle HTTP/1.1 connection is closed.
    if (isHttp2) socket.setTimeout(0).off('timeout', end);
    socket.off('data', look).off('end', end).pause();
    socket.unshift(bytes);
    decide(isHttp2);
  };
  socket.setTimeout(IDLE_MS, end);
  socket.on('data', look).once('end', end);
}

/** The version of EventStoreDB that the endpoint emulates. */
const VERSION = '24.6.0';

/** The methods that clients may call; a client uses the newest one it finds. */
function supportedMethods(): SupportedMethods {
  const services: readonly ServiceDefinition[] = [StreamsService, GossipService, ServerFeaturesService];
  const methods = services.flatMap((service) => Object.values(service).map(({ path }) => methodOf(path)));
  return new SupportedMethods().setEventStoreServerVersion(VERSION).setMethodsList(methods);
}

/** A cluster of one node, for clients that use cluster discovery. */
function clusterOf(id: string, address: string, port: number): ClusterInfo {
  const member = new MemberInfo()
    .setInstanceId(toUuid(id, 'numbers'))
    .setTimeStamp(String(Date.now() * TICKS_PER_MS))
    .setState(MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new EndPoint().setAddress(address).setPort(port));
  return new ClusterInfo().setMembersList([member]);
}

/** Clients compare the names in lower case. */
function methodOf(path: string): SupportedMethod {
  const [, service = '', method = ''] = path.toLowerCase().split('/');
  return new SupportedMethod().setServiceName(service).setMethodName(method);
}

const INFO = JSON.stringify({
  esVersion: `${VERSION}.0`,
  state: 'leader',
  features: { projections: false, userManagement: false, atomPub: false },
  authentication: { type: 'insecure', properties: {} },
});
const PING = JSON.stringify({ text: 'Ping request successfully handled' });
const EXPLANATION =
  'This is an event log, served to clients of EventStoreDB over gRPC: connect to esdb://host:port?tls=false. ' +
  'Over HTTP/1.1 there are GET /info and GET /ping.\n';

const ANSWERS: Readonly<Record<string, string>> = { '/info': INFO, '/ping': PING };

/** Answers the requests that HTTP/1.1 clients start with; any other path gets an explanation of what this is. */
function answerHttp1({ method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const path = url.split('?', 1)[0] ?? '';
  const body = method === 'GET' && Object.hasOwn(ANSWERS, path) ? ANSWERS[path] : undefined;
  const type = body === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, connection: 'close' });
  response.end(body ?? EXPLANATION);
}

/** The service `Streams` for read-only access to a log: refuses every write. */
function readOnlyStreams(view: ClientLog, answers: Answers): IStreamsServer {
  const refused = (): Promise<never> => Promise.reject(accessDenied());
  return {
    read: (call) => answers.stream(call, () => answerRead(view, call, answers.closing)),
    batchAppend: (call) => answers.stream(call, refused),
    append: (call, send) => answers.single(call, send, refused()),
    delete: (call, send) => answers.single(call, send, refused()),
    tombstone: (call, send) => answers.single(call, send, refused()),
  };
}

/** Ends calls: with their results, with an error, or when `closing` is aborted. */
export class Answers {
  readonly #calls = new FairQueue({ atOnce: Infinity, perClient: MAX_CALLS });

  constructor(
    readonly closing: AbortSignal,
    readonly report: ReportBug,
  ) {}

  /** Ends a streaming call once `work`, which writes its messages, is done. Waits while its connection has many. */
  stream(call: Streaming, work: () => Promise<void>): void {
    const fail = (error: unknown): void => {
      // A client that has disconnected gets no answer; errors caused by that are expected.
      if (!call.cancelled) call.emit('error', this.#errorOf(error));
    };
    const done = this.#calls.run(call.getPeer(), async () => {
      if (!call.cancelled) await work();
    });
    done.then(() => (this.closing.aborted ? fail(CLOSED) : call.end()), fail);
  }

  single<T>(call: ClientCall, send: sendUnaryData<T>, work: Promise<T>): void {
    work.then(
      (response) => send(null, response),
      (error: unknown) => call.cancelled || send(this.#errorOf(error)),
    );
  }

  #errorOf(error: unknown): ServiceError {
    if (!(error instanceof ServerRefusal) && !(error instanceof EngineUnavailable)) this.report(error);
    return toServiceError(error);
  }
}

/** A unary call without parameters. */
function unary<Request, Response>(answer: () => Response): handleUnaryCall<Request, Response> {
  return (_, send) => send(null, answer());
}

interface ClientCall {
  readonly cancelled: boolean;
}

interface Streaming extends ClientCall {
  getPeer(): string;
  end(): unknown;
  emit(event: 'error', error: ServiceError): unknown;
}

const CLOSED = new EngineUnavailable('The server is shutting down');
