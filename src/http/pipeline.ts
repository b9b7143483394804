import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type Duplex } from 'node:stream';

/** Requests that a client may send ahead over one connection, before earlier ones are answered, and characters of their heads. */
const MAX_AHEAD = { requests: 100, characters: 128 * 1024 } as const;

/** Requests of a connection that wait for the answers to earlier ones, and the characters of their heads. */
const waiting = new WeakMap<Duplex, { requests: number; characters: number }>();

/** The latest response of a connection that could be sent at once. */
const responses = new WeakMap<Duplex, ServerResponse>();

/** The bytes received over a connection when its latest request had arrived and was answered. */
const readBy = new WeakMap<Duplex, number>();

/**
 * Calls back when all earlier requests of the connection have been answered (HTTP pipelining), and never if the
 * connection closes before that: Node.js reports nothing about a response that is behind another one. Closes the
 * connection when too many requests wait.
 */
export function whenFirst(request: IncomingMessage, response: ServerResponse, onFirst: () => void): void {
  const { socket } = request;
  const begin = (): void => {
    responses.set(socket, response);
    const over = (): unknown => readBy.set(socket, socket.bytesRead);
    request.once('close', over);
    response.once('close', over);
    onFirst();
  };
  if (response.socket !== null) {
    begin();
    return;
  }
  const ahead = waiting.get(socket) ?? { requests: 0, characters: 0 };
  const characters = charactersIn(request);
  ahead.requests += 1;
  ahead.characters += characters;
  if (ahead.requests > MAX_AHEAD.requests || ahead.characters > MAX_AHEAD.characters) {
    socket.destroy();
    return;
  }
  waiting.set(socket, ahead);
  response.once('socket', () => {
    ahead.requests -= 1;
    ahead.characters -= characters;
    begin();
  });
}

function charactersIn({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
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

/**
 * True if all requests of this connection are answered, to the last byte, and nothing of another one has arrived. Node.js
 * calls a connection idle while bytes of the answer wait for a slow client.
 */
export function isIdle(socket: Socket): boolean {
  return (
    readBy.get(socket) === socket.bytesRead && requestOn(socket) === undefined && socket.writableLength === 0
  );
}
