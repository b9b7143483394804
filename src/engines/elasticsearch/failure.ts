import { errors } from '@elastic/elasticsearch';
import { EngineUnavailable } from '../../kernel/event-log';
import { certificateProblem } from '../certificate';

/** The index or alias of a request does not exist. */
export class NoSuchIndex extends Error {
  override readonly name = 'NoSuchIndex';
}

/** The server rejected a request: a version conflict, or a bug of ours. */
export class Refused extends Error {
  override readonly name = 'Refused';
  constructor(
    readonly status: number,
    readonly type: string,
    reason: string,
  ) {
    super(`the read store refused a request (${status} ${type}): ${reason}`);
  }
}

/** The server's error for a request, or for one operation of a bulk request. */
export interface ServerError {
  readonly status: number;
  readonly type: string;
  readonly reason: string;
}

/**
 * Translates an error of the client library. Failures of the server or the network become `EngineUnavailable`, with a message
 * for operators. The library's errors and messages contain the address and credentials, so they are not passed on.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return failureOf(serverErrorOf(error));
  if (error instanceof errors.TimeoutError) return unavailable('it does not answer in time');
  if (error instanceof errors.RequestAbortedError) return unavailable('it is being closed');
  if (error instanceof errors.ProductNotSupportedError)
    return unavailable('the server is not an Elasticsearch');
  if (error instanceof errors.DeserializationError) return unavailable('the answer is not valid JSON');
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError)
    return unavailable(connectionReason(error.message));
  return error;
}

export function failureOf({ status, type, reason }: ServerError): Error {
  if (type === 'index_not_found_exception') return new NoSuchIndex('the index does not exist');
  if (type === 'cluster_block_exception')
    return unavailable('its indices are read-only, possibly because the disk is nearly full');
  if (status === 401 || status === 403) return unavailable(`access is denied (${status})`);
  if (status === 429) return unavailable('it is overloaded');
  if (status === 408 || status >= 500) return unavailable(`it has failed (${status} ${type})`);
  return new Refused(status, type, reason);
}

function unavailable(why: string): EngineUnavailable {
  return new EngineUnavailable(`the read store is not available: ${why}`);
}

function serverErrorOf({ statusCode: status = 500, body }: errors.ResponseError): ServerError {
  const error: unknown = isObject(body) ? body['error'] : undefined;
  if (!isObject(error)) return { status, type: 'unknown', reason: 'no reason given' };
  const { type, reason, root_cause: causes } = error;
  const cause: unknown = Array.isArray(causes) ? causes[0] : undefined;
  // For a failed search, the reason is in its root cause.
  const first = isObject(cause) ? cause : error;
  return {
    status,
    type: String(type === 'search_phase_execution_exception' ? (first['type'] ?? type) : type),
    reason: String(first['reason'] ?? reason),
  };
}

/** What makes an authority trusted. */
const TRUST = 'set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority';

/** Only the system's error code, since the message contains the address. */
function connectionReason(message: string): string {
  const certificate = certificateProblem(message, TRUST);
  if (certificate !== undefined) return certificate;
  return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? 'no connection'})`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
