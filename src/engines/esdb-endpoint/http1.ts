import { type IncomingMessage, type ServerResponse } from 'node:http';
import { VERSION } from './features';

const INFO = JSON.stringify({
  esVersion: `${VERSION}.0`,
  state: 'leader',
  features: { projections: false, userManagement: false, atomPub: false },
  authentication: { type: 'insecure', properties: {} },
});
const PING = JSON.stringify({ text: 'Ping request successfully handled' });
const ELSE =
  'This is an event log, served to clients of EventStoreDB over gRPC: connect to esdb://host:port?tls=false. ' +
  'Over HTTP/1.1 there are GET /info and GET /ping.\n';

const JSONS: Readonly<Record<string, string>> = { '/info': INFO, '/ping': PING };

/** Answers what HTTP/1.1 clients ask an EventStoreDB first; anything else is told what this is. */
export function answerHttp1({ method, url = '' }: IncomingMessage, response: ServerResponse): void {
  const path = url.split('?', 1)[0] ?? '';
  const body = method === 'GET' && Object.hasOwn(JSONS, path) ? JSONS[path] : undefined;
  const type = body === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, connection: 'close' });
  response.end(body ?? ELSE);
}
