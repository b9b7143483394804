import { type IncomingMessage } from 'node:http';
import { type RequestTarget, parseRequestTarget } from '../wire/request-target';

/** What was taken off a request before it was routed. */
export interface RequestFacts {
  readonly target: RequestTarget;
  readonly contentType: string | undefined;
}

const facts = new WeakMap<object, RequestFacts>();

/**
 * Fastify's `rewriteUrl`: routes by the path alone and keeps the rest. The Content-Type is kept from Fastify
 * too, which would judge it before the token has been looked at (`docs/decisions.md#a8`, order of checks).
 */
export function takeFacts(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const target = parseRequestTarget(request.url ?? '/');
  facts.set(request, { target, contentType: request.headers['content-type'] });
  delete request.headers['content-type'];
  return routable(target.path);
}

/** A path that cannot be decoded is made one that can be, and is not found. */
function routable(path: string): string {
  try {
    decodeURI(path);
    return path;
  } catch {
    return encodeURI(path);
  }
}

/** The facts of a raw request that has come through `takeFacts`. */
export function factsOf(raw: IncomingMessage): RequestFacts {
  const known = facts.get(raw);
  if (known === undefined) throw new Error('the request has not been taken apart');
  return known;
}
