import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { clusterOf, supportedMethods } from './features';
import { type Report } from './refusal';
import { asking, streamCalls } from './stream-calls';
import { Writer } from './writer';

export interface EsdbOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Refuse every write as one that the client is not allowed to make. */
  readonly readOnly: boolean;
  /** Told of faults of the program; by default nobody is. */
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

/** More than an append may hold, so that one that is too large is told so in its own words. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

/** How long calls may take to end when the endpoint is closed (ms). */
const GRACE = 1_000;

/**
 * Serves a log to official clients of EventStoreDB, in any language, without TLS or users: meant for loopback.
 * Raises `EngineUnavailable` when it cannot listen.
 */
export async function serveEsdb(
  log: EventLog,
  { host, port, readOnly, report = () => undefined }: EsdbOptions,
): Promise<EsdbEndpoint> {
  const server = new Server({ 'grpc.max_receive_message_length': MESSAGE_BYTES });
  const closing = new AbortController();
  // Each call listens to it.
  setMaxListeners(0, closing.signal);
  const writer = readOnly ? undefined : new Writer(log, Date.now);
  const address = host.includes(':') ? `[${host}]` : host;
  const id = randomUUID();
  let bound = port;
  server.addService(StreamsService, streamCalls(log, writer, closing.signal, report));
  server.addService(ServerFeaturesService, { getSupportedMethods: asking(supportedMethods) });
  server.addService(GossipService, { read: asking(() => clusterOf(id, host, bound)) });
  bound = await bind(server, `${address}:${port}`);
  return {
    port: bound,
    url: `esdb://${address}:${bound}?tls=false`,
    async close() {
      closing.abort();
      const force = setTimeout(() => server.forceShutdown(), GRACE);
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      clearTimeout(force);
    },
  };
}

async function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new EngineUnavailable(`cannot listen on ${address}`, { cause: error }));
    });
  });
}
