import { Metadata, status } from '@grpc/grpc-js';
import { EngineUnavailable } from '../../kernel/event-log';

/** No answer came in time: what was asked for may have happened or not. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The server will not do it however often it is asked, or is none that can be used; the message says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What an error of gRPC is: a code, and for most of EventStoreDB's own errors a type in its metadata. */
export interface Marks {
  readonly type: string | undefined;
  readonly code: number | undefined;
}

export function marksOf(error: unknown): Marks {
  if (!(error instanceof Error)) return { type: undefined, code: undefined };
  const code: unknown = Reflect.get(error, 'code');
  const metadata: unknown = Reflect.get(error, 'metadata');
  const type = metadata instanceof Metadata ? metadata.get('exception')[0]?.toString() : undefined;
  return { type, code: typeof code === 'number' ? code : undefined };
}

/** Whether it may go well when it is tried again. What the server refuses, and a fault of our own code, will not. */
export function isTransient(error: unknown): boolean {
  if (error instanceof NoAnswer) return true;
  const { type, code } = marksOf(error);
  if (misfit(error) !== undefined) return false;
  return type === 'not-leader' || TRANSIENT_CODES.has(code ?? status.OK) || TRANSIENT.test(messageOf(error));
}

/**
 * The error as the port has it: its message says what is wrong and what helps, without the address. A fault of our own
 * code stays what it is.
 */
export function unavailable(error: unknown): Error {
  if (error instanceof EngineUnavailable) return error;
  const why = whyNot(error);
  if (why === undefined) return asError(error);
  return new EngineUnavailable(`the event log is not available: ${why}`, { cause: error });
}

function whyNot(error: unknown): string | undefined {
  if (error instanceof NoAnswer || error instanceof Refused) return error.message;
  const { type, code } = marksOf(error);
  const known = misfit(error) ?? KINDS.get(type ?? '') ?? KINDS.get(code ?? status.OK);
  if (known !== undefined) return known;
  if (isTransient(error))
    return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(messageOf(error))?.[0] ?? 'no connection'})`;
  return code === undefined ? undefined : `it refused a request (${type ?? status[code] ?? code})`;
}

/** Why a connection is of no use, where the words of TLS say so. */
function misfit(error: unknown): string | undefined {
  const message = messageOf(error);
  if (/certificate|altname/i.test(message)) return 'its certificate is not trusted';
  if (/wrong version number/i.test(message)) return 'it does not use TLS: add tls=false to the URL';
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

const DENIED =
  'access is denied: the user in its URL must be allowed to read $all (a member of $admins, or of "$r" in the $acl of the stream $$$all) and to write';

/** What types and codes of errors mean to an operator. */
const KINDS: ReadonlyMap<string | number, string> = new Map<string | number, string>([
  ['access-denied', DENIED],
  [status.PERMISSION_DENIED, DENIED],
  [status.UNAUTHENTICATED, 'access is denied: the user name or the password in its URL is wrong'],
  [status.DEADLINE_EXCEEDED, 'it does not answer in time'],
  [status.ABORTED, 'it does not answer in time'],
  [status.RESOURCE_EXHAUSTED, 'it is overloaded'],
]);

/** Broken connections (also as `INTERNAL`), time-outs of the server itself, and a server that is busy. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([
  status.ABORTED,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
]);

/** Of errors without a code that says so: no leader yet, discovery in vain, a connection that was just closed. */
const TRANSIENT = /no leader info|discover|channel (?:has been shut down|closed)|write after end/i;
