import { randomUUID } from 'node:crypto';
import { type IncomingMessage } from 'node:http';
import { Fault } from '../kernel/fault';

/** Header of requests and answers (`docs/decisions.md#a16`). */
export const REQUEST_ID = 'X-Request-Id';

const ACCEPTED = /^[\w.-]{1,128}$/;
const HEADER_LINE = /\r\nx-request-id:[ \t]*([\w.-]{1,128})[ \t]*\r\n/i;

const ids = new WeakMap<IncomingMessage, string>();

/** The id of a request, the same at each call: the one that its client has sent, if it is acceptable, or a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && ACCEPTED.test(sent) ? sent : randomUUID();
  ids.set(request, id);
  return id;
}

/** The same for bytes that could not be parsed as a request. */
export function requestIdIn(bytes: Buffer | undefined): string {
  return HEADER_LINE.exec(bytes?.toString('latin1') ?? '')?.[1] ?? randomUUID();
}

/** A failure of ours, with the id by which its log lines are found (`docs/decisions.md#a16`). */
export function namingRequest({ code, status, message, details }: Fault, id: string): Fault {
  return new Fault(code, status, `${message} (request ${id})`, details);
}
