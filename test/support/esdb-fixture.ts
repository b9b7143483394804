import { randomUUID } from 'node:crypto';
import { EventStoreDBClient } from '@eventstore/db-client';
import { type EsdbMode, type EsdbServer, startEsdbServer } from './esdb-server';

/** An endpoint with the official client connected to it. */
export interface EsdbFixture {
  readonly server: EsdbServer;
  readonly client: EventStoreDBClient;
  /** A category for the streams of the current test. */
  readonly category: string;
  /** A stream of the current test. */
  readonly stream: string;
}

/** Call it where tests are declared; its properties are available while they run. */
export function esdbFixture(mode: EsdbMode = 'writable'): EsdbFixture {
  let server: EsdbServer;
  let client: EventStoreDBClient;
  let category: string;
  beforeAll(async () => {
    server = await startEsdbServer(mode);
    client = EventStoreDBClient.connectionString(server.url);
  });
  afterAll(async () => {
    await client.dispose();
    await server.stop();
  });
  beforeEach(() => {
    category = `tried${randomUUID().slice(0, 8)}`;
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    get category() {
      return category;
    },
    get stream() {
      return `${category}-1`;
    },
  };
}
