import { errors } from '@elastic/elasticsearch';
import { EngineUnavailable } from '../../kernel/event-log';

/** An index or alias that a request names is not there. */
export class NoSuchIndex extends Error {
  override readonly name = 'NoSuchIndex';
}

/** The server has understood a request and refused it: a conflict of versions, or a bug of ours. */
export class Refused extends Error {
  override readonly name = 'Refused';
  constructor(
    readonly status: number,
    readonly type: string,
    reason: string,
  ) {
    super(`the read store has refused a request (${status} ${type}): ${reason}`);
  }
}

/** What the server says of a request, or of one operation of a bulk, that failed. */
export interface Complaint {
  readonly status: number;
  readonly type: string;
  readonly reason: string;
}

/**
 * A failed request as the port raises it. What is the server's or the network's trouble is `EngineUnavailable`,
 * with a message for an operator. The client's own errors bear the address and the credentials: neither they nor
 * their messages are handed on.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof errors.ResponseError) return failureOf(complaintOf(error));
  if (error instanceof errors.TimeoutError) return unavailable('it does not answer in time');
  if (error instanceof errors.RequestAbortedError) return unavailable('it is being closed');
  if (error instanceof errors.ProductNotSupportedError)
    return unavailable('what answers is no Elasticsearch');
  if (error instanceof errors.DeserializationError)
    return unavailable('what answers does not speak its language');
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError)
    return unavailable(whyNotReached(error.message));
  return error;
}

export function failureOf({ status, type, reason }: Complaint): Error {
  if (type === 'index_not_found_exception') return new NoSuchIndex('there is no such index');
  if (type === 'cluster_block_exception')
    return unavailable('its indices may not be written: the disk is nearly full, or they are read-only');
  if (status === 401 || status === 403) return unavailable(`access is denied (${status})`);
  if (status === 429) return unavailable('it is overloaded');
  if (status === 408 || status >= 500) return unavailable(`it has failed (${status} ${type})`);
  return new Refused(status, type, reason);
}

function unavailable(why: string): EngineUnavailable {
  return new EngineUnavailable(`the read store is not available: ${why}`);
}

function complaintOf({ statusCode: status = 500, body }: errors.ResponseError): Complaint {
  const error: unknown = isObject(body) ? body['error'] : undefined;
  if (!isObject(error)) return { status, type: 'unknown', reason: 'no reason is given' };
  const { type, reason, root_cause: causes } = error;
  const cause: unknown = Array.isArray(causes) ? causes[0] : undefined;
  // A search that failed tells why in what it was caused by.
  const first = isObject(cause) ? cause : error;
  return {
    status,
    type: String(type === 'search_phase_execution_exception' ? (first['type'] ?? type) : type),
    reason: String(first['reason'] ?? reason),
  };
}

/** Only the system's code of the error, since the message bears the address. */
function whyNotReached(message: string): string {
  if (/certificate|altname/i.test(message)) return 'its certificate is not trusted';
  return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? 'no connection'})`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
