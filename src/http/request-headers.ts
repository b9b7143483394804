import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Fault } from '../kernel/fault';
import { httpFaults } from '../wire/api/http-faults';

/** Requests whose client waits for `100 Continue` before it sends the body. */
const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Keeps Node.js from answering `Expect` before a request is checked (`docs/decisions.md#x73`). */
export function takeExpectations(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaiting.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
}

/** Sends `100 Continue` if the client waits for it: the body is about to be read. */
export function askForBody(request: IncomingMessage): void {
  awaiting.get(request)?.writeContinue();
  awaiting.delete(request);
}

/** What is wrong with the headers that determine how a request is read, if anything (`docs/decisions.md#x73`). */
export function headerFault({ headers, rawHeaders, httpVersion }: IncomingMessage): Fault | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return httpFaults.badRequest(`Host is given ${hosts} times: expected once`);
  if (hosts === 0 && httpVersion === '1.1')
    return httpFaults.badRequest('Host is missing: HTTP/1.1 requires one');
  const { expect: expected, 'transfer-encoding': transfer = 'chunked' } = headers;
  // Node.js decodes the last coding only.
  if (transfer.trim().toLowerCase() !== 'chunked')
    return httpFaults.badRequest(`Transfer-Encoding: ${transfer}: expected chunked`);
  if (expected !== undefined && expected.trim().toLowerCase() !== '100-continue')
    return httpFaults.expectationFailed(`Expect: ${expected}: expected 100-continue`);
  return undefined;
}
