import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { type IStreamsServer, StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type EventLog } from '../kernel/event-log';
import { answerHttp1, clusterOf, supportedMethods } from './features';
import { openFront } from './front';
import { type Report } from './refusal';
import { Answers, unary, readOnlyStreams } from './stream-calls';

export interface EsdbOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Receives bugs of the program; by default they are dropped. */
  readonly report?: Report;
}

/** A running endpoint. */
export interface EsdbEndpoint {
  readonly port: number;
  /** The URL for clients. */
  readonly url: string;
  /** Ends all calls and closes the port. The log stays open. */
  close(): Promise<void>;
}

const LIMITS = {
  /** Larger than an append may be, so that a too large one gets a specific error. */
  'grpc.max_receive_message_length': 17 * 1024 * 1024,
  /** The limit of EventStoreDB for calls per connection; clients queue the others. */
  'grpc.max_concurrent_streams': 100,
} as const;

/** How long (ms) calls may take to end on close. */
const GRACE_MS = 1_000;

/**
 * Serves a log, read-only, to official clients of EventStoreDB in any language. Without TLS or authentication: meant for
 * loopback. Raises `EngineUnavailable` if it cannot listen.
 */
export async function serveEsdb(log: EventLog, options: EsdbOptions): Promise<EsdbEndpoint> {
  return await serveStreams((answers) => readOnlyStreams(log, answers), options);
}

/** Serves an implementation of the service `Streams`. Raises `EngineUnavailable` if it cannot listen. */
export async function serveStreams(
  streams: (answers: Answers) => IStreamsServer,
  { host, port, report = () => undefined }: EsdbOptions,
): Promise<EsdbEndpoint> {
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
