import { randomUUID } from 'node:crypto';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { clusterOf, supportedMethods } from './features';

export interface EsdbOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Refuse every write as one that the client is not allowed to make. */
  readonly readOnly: boolean;
}

/** A log being served to clients of EventStoreDB. */
export interface EsdbEndpoint {
  readonly port: number;
  /** What clients connect to. */
  readonly url: string;
  /** Ends all calls and frees the port; the log stays open. */
  close(): Promise<void>;
}

/**
 * Serves a log to official clients of EventStoreDB, in any language, without TLS or users: meant for loopback.
 * Raises `EngineUnavailable` when it cannot listen.
 */
export async function serveEsdb(log: EventLog, { host, port, readOnly }: EsdbOptions): Promise<EsdbEndpoint> {
  const server = new Server({ 'grpc.max_receive_message_length': MESSAGE_BYTES });
  const bound = await bind(server, host, port);
  const id = randomUUID();
  void log;
  void readOnly;
  server.addService(ServerFeaturesService, {
    getSupportedMethods: (_: unknown, answer: (error: null, value: unknown) => void) =>
      answer(null, supportedMethods()),
  });
  server.addService(GossipService, {
    read: (_: unknown, answer: (error: null, value: unknown) => void) =>
      answer(null, clusterOf(id, host, bound)),
  });
  return {
    port: bound,
    url: `esdb://${host.includes(':') ? `[${host}]` : host}:${bound}?tls=false`,
    close: async () => server.forceShutdown(),
  };
}

/** More than an append may hold, so that one that is too large is told so in its own words. */
const MESSAGE_BYTES = 17 * 1024 * 1024;

async function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new EngineUnavailable(`cannot listen on ${address}`, { cause: error }));
    });
  });
}
