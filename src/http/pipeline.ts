import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Duplex } from 'node:stream';

/** Requests that a client may send ahead over one connection, before earlier ones are answered. */
const MAX_AHEAD = 100;

/** Requests of a connection that wait for the answers to earlier ones. */
const waiting = new WeakMap<Duplex, number>();

/** The latest response of a connection that could be sent at once. */
const responses = new WeakMap<Duplex, ServerResponse>();

/**
 * Calls back when all earlier requests of the connection have been answered (HTTP pipelining), and never if the
 * connection closes before that: Node.js reports nothing about a response that is behind another one. Closes the
 * connection when too many requests wait.
 */
export function whenFirst({ socket }: IncomingMessage, response: ServerResponse, onFirst: () => void): void {
  const begin = (): void => {
    responses.set(socket, response);
    onFirst();
  };
  if (response.socket !== null) {
    begin();
    return;
  }
  const ahead = (waiting.get(socket) ?? 0) + 1;
  if (ahead > MAX_AHEAD) {
    socket.destroy();
    return;
  }
  waiting.set(socket, ahead);
  response.once('socket', () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    begin();
  });
}

/** True while a response is partly sent over this connection. */
export function isAnswering(socket: Duplex): boolean {
  const response = responses.get(socket);
  return response?.socket === socket && response.headersSent;
}

/** The request of this connection whose answer is not complete. */
export function requestOn(socket: Duplex): IncomingMessage | undefined {
  const response = responses.get(socket);
  return response === undefined || response.writableFinished ? undefined : response.req;
}
