import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { type IStreamsServer, StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type EventLog } from '../../kernel/event-log';
import { clusterOf, supportedMethods } from './features';
import { openFront } from './front';
import { answerHttp1 } from './http1';
import { type Report } from './refusal';
import { Answers, asking, readOnlyStreams } from './stream-calls';

export interface EsdbOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Receives bugs of the program; by default they are dropped. */
  readonly report?: Report;
}

/** A log being served to clients of EventStoreDB. */
export interface EsdbEndpoint {
  readonly port: number;
  /** What clients connect to. */
  readonly url: string;
  /** Ends all calls and frees the port; the log stays open. */
  close(): Promise<void>;
}

const LIMITS = {
  /** More than an append may hold, so that a larger one is refused by name. */
  'grpc.max_receive_message_length': 17 * 1024 * 1024,
  /** Calls on one connection, as EventStoreDB has it: clients queue the others. */
  'grpc.max_concurrent_streams': 100,
} as const;

/** How long calls may take to end when the endpoint is closed (ms). */
const GRACE = 1_000;

/**
 * Serves a log, read-only, to official clients of EventStoreDB, in any language, without TLS or users: meant for
 * loopback. Raises `EngineUnavailable` when it cannot listen.
 */
export async function serveEsdb(log: EventLog, options: EsdbOptions): Promise<EsdbEndpoint> {
  return await serveStreams((answers) => readOnlyStreams(log, answers), options);
}

/** Serves an implementation of the service `Streams`. Raises `EngineUnavailable` when it cannot listen. */
export async function serveStreams(
  streams: (answers: Answers) => IStreamsServer,
  { host, port, report = () => undefined }: EsdbOptions,
): Promise<EsdbEndpoint> {
  const server = new Server(LIMITS);
  const closing = new AbortController();
  // Each call listens to it.
  setMaxListeners(0, closing.signal);
  const address = host.includes(':') ? `[${host}]` : host;
  const id = randomUUID();
  let bound = port;
  server.addService(StreamsService, streams(new Answers(closing.signal, report)));
  server.addService(ServerFeaturesService, { getSupportedMethods: asking(supportedMethods) });
  server.addService(GossipService, { read: asking(() => clusterOf(id, host, bound)) });
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const front = await openFront(host, port, (socket) => connections.injectConnection(socket), answerHttp1);
  bound = front.port;
  return {
    port: bound,
    url: `esdb://${address}:${bound}?tls=false`,
    async close() {
      closing.abort();
      const force = setTimeout(() => server.forceShutdown(), GRACE);
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      clearTimeout(force);
      front.close();
    },
  };
}
