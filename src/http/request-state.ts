import { type IncomingMessage } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Fault } from '../kernel/fault';
import { type Caller } from '../network/organisations';
import { httpFaults } from '../wire/api/errors';
import { parseRequestTarget, type RequestTarget } from '../wire/keys/request-target';
import { type BodyBudgets, BodyShare, PostedBody } from './posted-body';
import { type RepeatableRequest } from './idempotency';
import { type Representation } from './representation';
import { type Span } from '../runtime/tracing';
import { type Service, serviceOf } from './service';
import { randomUUID } from 'node:crypto';

/** Properties that hooks and guards set, for the handler and the answer. */
declare module 'fastify' {
  interface FastifyRequest {
    target: RequestTarget;
    /** Content-Type as sent. */
    contentType: string | undefined;
    /** The service of the route; without a route, that of the path. */
    service: Service | undefined;
    /** Whose token it is, once `AdmissionGuard` has checked it. */
    caller: Caller | undefined;
    /** The negotiated representation, once `AdmissionGuard` has run. */
    view: Representation | undefined;
    bodyShare: BodyShare;
    /** With an `Idempotency-Key`, once `AdmissionGuard` has run. */
    repeatable: RepeatableRequest | undefined;
    /** Its handler as a part of its trace, while that may change something. */
    command: Span | undefined;
  }
}

interface RequestOptions {
  readonly services: readonly Service[];
  readonly maxBody: number;
  readonly budgets: BodyBudgets;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

/** Fastify's `rewriteUrl`: routes by the path alone, without keys, extension and query. */
export function routedPath({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  const { path } = parseRequestTarget(url);
  // The router ignores the first character: `*docs` would be `/docs`. Two slashes match no route.
  if (!path.startsWith('/')) return `//${encodeURI(path)}`;
  try {
    decodeURI(path);
    return path;
  } catch {
    // Malformed: encoded once more, it can be decoded and matches no route.
    return encodeURI(path);
  }
}

/**
 * Returns what is called with each request before anything else: it parses the target, and hides the Content-Type from
 * Fastify, which would check it before the token (`docs/decisions.md#a8`, order of checks).
 */
export function decorateRequests(
  fastify: FastifyInstance,
  { services, maxBody, budgets, stopping }: RequestOptions,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const names = ['target', 'contentType', 'service', 'caller', 'view', 'bodyShare', 'repeatable', 'command'];
  for (const name of names) fastify.decorateRequest(name);
  // Nothing parses a body: handlers read it as a `PostedBody`.
  fastify.addContentTypeParser('*', ({ body }, _payload, done) => done(null, body));
  const ofRoutes = new Map<string, Service | undefined>();
  const ofRoute = (url: string): Service | undefined => {
    if (!ofRoutes.has(url)) ofRoutes.set(url, serviceOf(services, url));
    return ofRoutes.get(url);
  };
  return (request, reply) => {
    const { headers } = request.raw;
    request.target = parseRequestTarget(request.originalUrl);
    request.contentType = headers['content-type'];
    delete headers['content-type'];
    const { url } = request.routeOptions;
    request.service = url === undefined ? serviceOf(services, request.target.path) : ofRoute(url);
    request.bodyShare = new BodyShare(budgets, () => request.caller?.tokenHash ?? '');
    request.body = new PostedBody(request, reply, request.bodyShare, maxBody, stopping);
  };
}

/** Of a request that `AdmissionGuard` has let through. */
export function admissionOf({ service, caller, view, target }: FastifyRequest) {
  if (service === undefined || caller === undefined || view === undefined)
    throw new Error(`${target.path} belongs to no service`);
  return { service, caller, view };
}

/** What is wrong with the headers that determine how a request is read, if anything (`docs/decisions.md#x73`). */
export function headerFault({ headers, rawHeaders, httpVersion }: IncomingMessage): Fault | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && isHost(name)).length;
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

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

const BEARER = /^bearer(?: +(.*))?$/i;

/** The tokens of a request, of `?token=` and `Authorization: Bearer`, each once (`docs/decisions.md#a13`). */
export function sentTokens({
  target,
  raw: { rawHeaders, headers: parsed },
}: Pick<FastifyRequest, 'target' | 'raw'>): readonly string[] {
  const queried = target.query.filter(({ name }) => name === 'token').map(({ value }) => value ?? '');
  if (parsed.authorization === undefined) return queried;
  // `headers` has only the first of several Authorization headers.
  const headers = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization',
  );
  const bearers = headers.flatMap((value) => BEARER.exec(value.trim())?.[1] ?? []);
  const others = new Set(bearers.map((token) => token.toLowerCase()));
  for (const token of queried) others.delete(token.toLowerCase());
  return [...queried, ...others];
}

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
