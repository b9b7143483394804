import { types } from 'node:util';
import { type IncomingHttpHeaders } from 'node:http';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { NamedError } from '../../kernel/fault';
import { type HttpRequest } from '../../domain/deliveries/delivery-events';
import { UnresolvedName } from './dns';
import { codeOf } from '../../kernel/values';
import { version } from '../../../package.json';

/** A message as it is sent this time. */
export interface Attempt {
  readonly id: string;
  readonly sequence: number;
  readonly request: HttpRequest;
  /** From 1. */
  readonly number: number;
  readonly secrets: readonly Uint8Array[];
  readonly isManual?: boolean | undefined;
  readonly isTest?: boolean | undefined;
}

/**
 * How an attempt has ended:
 * - `success`: the receiver has accepted the message;
 * - `gone`: it answered 410;
 * - `timeout`: it did not accept the connection or did not answer in time;
 * - `failure`: anything else that is the receiver's, a forbidden address included;
 * - `aborted`: we have ended it, or our own fault has prevented it; it does not count.
 */
type AttemptEnd = 'success' | 'gone' | 'timeout' | 'failure' | 'aborted';

export interface AttemptResult {
  readonly end: AttemptEnd;
  /** When it began, epoch ms. */
  readonly at: number;
  readonly ms: number;
  readonly status?: number | undefined;
  /** Why it failed, for the receiver's owner: no address, path or stack of ours. */
  readonly error?: string | undefined;
  /** The first KiB of the answer's body. */
  readonly answer?: string | undefined;
  /** `Retry-After` of a 429 or 503, in ms from now. */
  readonly retryAfter?: number | undefined;
}

/** The target of a request is forbidden (`docs/decisions.md#n9`). */
export class RefusedTarget extends NamedError {}

/** No connection within the time for it. */
export class ConnectTimeout extends NamedError {
  constructor(ms: number) {
    super(`no connection within ${ms / 1000} s`);
  }
}

/** A receiver sends without end. */
export class Flood extends NamedError {
  constructor() {
    super('the answer is too long');
  }
}

/** A receiver changes the protocol, which nobody has asked for. */
export class Switched extends NamedError {
  constructor() {
    super('the status is 101: no change of protocol was asked for');
  }
}

/** There is no connection: nothing has been sent. */
export class ConnectionFailed extends NamedError {
  constructor(readonly reason: Error) {
    super(reason.message, { cause: reason });
  }
}

/** How a failure without an answer counts, and its description for the owner of the receiver. */
export interface Failure {
  readonly end: Exclude<AttemptEnd, 'success' | 'gone'>;
  readonly error: string;
  readonly status?: number;
}

/** An attempt has been ended by us. */
export const STOPPED: Failure = { end: 'aborted', error: 'the sender was stopped' };

const OURS: Failure = { end: 'aborted', error: 'the sender had no resources' };
export const NO_NETWORK: Failure = { end: 'aborted', error: 'the sender had no network' };
export const CLOSED: Failure = {
  end: 'failure',
  error: 'the connection was closed before there was an answer',
};
export const UNREACHABLE: Failure = { end: 'failure', error: 'the address cannot be reached' };
const NOT_HTTP: Failure = { end: 'failure', error: 'the answer is not HTTP/1.1' };

function failure(error: string): Failure {
  return { end: 'failure', error };
}

/** By the error's code, of Node.js, OpenSSL or undici. What is ours does not count as an attempt. */
const FAILURES: ReadonlyMap<string, Failure> = new Map(
  Object.entries({
    // Of this machine: files, memory, ports, firewall, network.
    EMFILE: OURS,
    ENFILE: OURS,
    ENOMEM: OURS,
    ENOBUFS: OURS,
    EAGAIN: OURS,
    EACCES: NO_NETWORK,
    EPERM: NO_NETWORK,
    ENETDOWN: NO_NETWORK,
    UND_ERR_DESTROYED: STOPPED,
    UND_ERR_CLOSED: STOPPED,
    // Of the connection.
    ECONNREFUSED: failure('the connection was refused'),
    EHOSTUNREACH: UNREACHABLE,
    EHOSTDOWN: UNREACHABLE,
    EAFNOSUPPORT: UNREACHABLE,
    ETIMEDOUT: { end: 'timeout', error: 'the connection has timed out' },
    ECONNRESET: CLOSED,
    ECONNABORTED: CLOSED,
    EPIPE: CLOSED,
    UND_ERR_SOCKET: CLOSED,
    // Of TLS.
    CERT_HAS_EXPIRED: failure('the certificate has expired'),
    CERT_NOT_YET_VALID: failure('the certificate is not yet valid'),
    CERT_REVOKED: failure('the certificate has been revoked'),
    DEPTH_ZERO_SELF_SIGNED_CERT: failure('the certificate is self-signed'),
    SELF_SIGNED_CERT_IN_CHAIN: failure('the certificate is of an unknown authority'),
    UNABLE_TO_GET_ISSUER_CERT: failure('the certificate is of an unknown authority'),
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: failure('the certificate is of an unknown authority'),
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: failure('an intermediate certificate is missing'),
    ERR_TLS_CERT_ALTNAME_INVALID: failure('the certificate is for another host name'),
    EPROTO: failure('TLS failed'),
    // Of the answer.
    UND_ERR_HEADERS_OVERFLOW: failure('the headers of the answer are too large'),
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: NOT_HTTP,
    // Of the message.
    UND_ERR_INVALID_ARG: failure('the request cannot be made from the URL and headers'),
  }),
);

/** Of IPv4 they mean that this machine has no network or no ports left; of IPv6 that it has no IPv6. */
const OURS_UNLESS_IPV6: ReadonlySet<string> = new Set(['ENETUNREACH', 'EADDRNOTAVAIL']);

/** What has gone wrong before there was an answer. */
export function failureOf(error: Error): Failure {
  if (error instanceof RefusedTarget || error instanceof Flood) return failure(error.message);
  if (error instanceof Switched) return { ...failure(error.message), status: 101 };
  if (error instanceof ConnectTimeout) return { end: 'timeout', error: error.message };
  if (error instanceof UnresolvedName)
    return { end: error.isOurFault ? 'aborted' : 'failure', error: error.message };
  if (error instanceof ConnectionFailed) return failureOf(error.reason);
  // Each address of a name has an error of its own: one that is the receiver's counts.
  if ('errors' in error && Array.isArray(error.errors)) {
    const all = error.errors.filter(types.isNativeError).map(failureOf);
    return all.find(({ end }) => end !== 'aborted') ?? all[0] ?? CLOSED;
  }
  const code = codeOf(error) ?? '';
  if (OURS_UNLESS_IPV6.has(code))
    return 'address' in error && String(error.address).includes(':') ? UNREACHABLE : NO_NETWORK;
  if (error.name === 'HTTPParserError') return NOT_HTTP;
  const isTls = code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');
  return FAILURES.get(code) ?? failure(isTls ? 'TLS failed' : 'the request failed');
}

/** Bytes of an answer that are kept (`docs/decisions.md#n4`). */
const KEPT = 1024;

/** Bytes that are read before the connection is ended. */
const MOST_READ = 16 * 1024;

/** `Retry-After` extends a delay by a day at most (ms). */
const MOST_RETRY_AFTER = 24 * 60 * 60 * 1000;

/** Statuses whose `Retry-After` counts. */
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 503]);

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/;

/** A time with its zone, which asctime dates do not have: they are in UTC (RFC 9110). */
const ZONED = /:\d{2} ?(?:GMT|UTC?|Z|[ECMP][SD]T|[+-]\d{2}:?\d{2})\b/;

/** Whatever could move the cursor of a terminal, end a string, or change the direction of text. */
const CONTROLS = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const NOTHING = Buffer.alloc(0);

/** The body of an answer: its first KiB as text, however long it is. */
export class AnswerBody {
  private kept = NOTHING;
  private read = 0;

  /** `headers`: of the answer. What is compressed is not kept as text. */
  constructor(private readonly headers: IncomingHttpHeaders) {}

  /** False: nothing more shall be read. */
  add(chunk: Buffer): boolean {
    this.read += chunk.length;
    const room = KEPT - this.kept.length;
    if (room > 0) this.kept = Buffer.concat([this.kept, chunk.subarray(0, room)]);
    return this.read <= MOST_READ;
  }

  /** Invalid UTF-8 is replaced, control characters are removed. Undefined: there is none. */
  get text(): string | undefined {
    const encoding = this.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity' || this.kept.length === 0) return undefined;
    // A character that is cut off at the end is left out.
    const text = printable(new TextDecoder().decode(this.kept, { stream: true }));
    return text === '' ? undefined : text;
  }
}

/** The text without control characters, except for tabs and line ends. */
export function printable(text: string): string {
  return text.replace(CONTROLS, '');
}

/** `Retry-After` in ms from `now`, at most a day; undefined: there is none, or it does not count. */
export function retryAfterOf(status: number, headers: IncomingHttpHeaders, now: number): number | undefined {
  const value = headers['retry-after'];
  if (!RETRY_AFTER_STATUSES.has(status) || typeof value !== 'string') return undefined;
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1000
    : HTTP_DATE.test(value)
      ? Date.parse(ZONED.test(value) ? value : `${value} GMT`) - now
      : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MOST_RETRY_AFTER);
}

export const USER_AGENT = `Affilog/${version}`;

/**
 * The headers of a request (`docs/decisions.md#n5`), names and values in turn. `at`: epoch ms. `target`: path and
 * query.
 */
export function headersOf(attempt: Attempt, target: string, body: Uint8Array, at: number): string[] {
  const { id, secrets, request, number, sequence, isManual, isTest } = attempt;
  const signed = { id, timestamp: Math.floor(at / 1000) };
  const headers = [
    'user-agent',
    USER_AGENT,
    'webhook-id',
    id,
    'webhook-timestamp',
    String(signed.timestamp),
    'webhook-signature',
    signatureOf(secrets, signed, body),
    'webhook-attempt',
    String(number),
    'webhook-sequence',
    String(sequence),
  ];
  if (request.method === 'GET')
    headers.push('webhook-signature-target', signatureOf(secrets, signed, target));
  if (request.contentType !== undefined) headers.push('content-type', request.contentType);
  if (isManual === true) headers.push('webhook-redelivery', 'manual');
  if (isTest === true) headers.push('webhook-test', 'true');
  return headers;
}

/** A message is valid for this long before and after its timestamp (s), as Standard Webhooks recommends. */
const TOLERANCE = 5 * 60;

/** What a signature covers besides the content. */
interface Signed {
  readonly id: string;
  /** `webhook-timestamp`: seconds since 1970. */
  readonly timestamp: number;
}

/**
 * The value of `webhook-signature`, of Standard Webhooks 1.0 (`docs/decisions.md#n5`): one signature per secret,
 * separated by a space. `content` is the body; `webhook-signature-target` has the request target instead.
 */
export function signatureOf(
  secrets: readonly Uint8Array[],
  signed: Signed,
  content: string | Uint8Array,
): string {
  return secrets.map((secret) => `v1,${hmac(secret, signed, content).toString('base64')}`).join(' ');
}

/** Why a signature does not prove that the message is genuine; undefined: it does. `now`: epoch ms. */
export function problemOfSignature(
  secret: Uint8Array,
  { id, timestamp, signature }: Readonly<Record<'id' | 'timestamp' | 'signature', string | undefined>>,
  content: string | Uint8Array,
  now: number,
): string | undefined {
  if (id === undefined || timestamp === undefined || signature === undefined)
    return 'webhook-id, webhook-timestamp or the signature is missing';
  if (!/^\d{1,12}$/.test(timestamp)) return `webhook-timestamp: expected seconds since 1970`;
  const age = Math.round(now / 1000) - Number(timestamp);
  if (Math.abs(age) > TOLERANCE)
    return (
      `webhook-timestamp is ${Math.abs(age)} s in the ${age > 0 ? 'past' : 'future'}, at most ${TOLERANCE} s ` +
      'are accepted'
    );
  const expected = hmac(secret, { id, timestamp: Number(timestamp) }, content);
  const isGenuine = signature.split(' ').some((one) => {
    const given = one.startsWith('v1,') ? Buffer.from(one.slice(3), 'base64') : undefined;
    return given?.length === expected.length && timingSafeEqual(given, expected);
  });
  return isGenuine ? undefined : 'the signature does not match: another secret, or the body has been changed';
}

function hmac(secret: Uint8Array, { id, timestamp }: Signed, content: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(content).digest();
}
