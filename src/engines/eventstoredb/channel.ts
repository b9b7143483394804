import { type EventStoreDBClient } from '@eventstore/db-client';
import { Channel } from '@grpc/grpc-js';

/** The connection that each client made last: those before it the client has closed itself. */
const made = new WeakMap<EventStoreDBClient, Channel>();

/** Lets the client's connections be closed by `closeConnection`; the client itself only ends its calls. */
export function watchConnections(client: EventStoreDBClient): EventStoreDBClient {
  const connect: unknown = Reflect.get(client, 'createChannel');
  if (!isConnect(connect)) throw new TypeError('the client connects otherwise than version 6.2.1');
  Reflect.set(client, 'createChannel', async () => {
    const channel: unknown = await connect();
    if (channel instanceof Channel) made.set(client, channel);
    return channel;
  });
  return client;
}

/**
 * Takes no more calls: the connection is closed when those over it have come to their end. Left alone it would stay
 * open for half an hour.
 */
export function closeConnection(client: EventStoreDBClient): void {
  made.get(client)?.close();
}

function isConnect(value: unknown): value is () => Promise<unknown> {
  return typeof value === 'function';
}
