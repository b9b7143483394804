import { Metadata, status } from '@grpc/grpc-js';
import { NamedError } from '../../kernel/fault';
import { EngineUnavailable } from '../../kernel/event-log';
import { certificateProblem } from '../certificate';

/** The server did not answer in time. The outcome of the request is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The server refuses the request permanently, or cannot be used. The message explains why. */
export class RefusedByServer extends NamedError {}

/** No server of the cluster can be used at the moment: none answers, or those that do have no leader. */
export class NoNode extends NamedError {
  /** `cause`: why a server did not answer, if one did not; `problem`: why another one cannot be used. */
  constructor(cause: unknown, problem?: unknown) {
    const also = problem === undefined ? undefined : reasonOf(problem);
    const more = also === undefined ? '' : `; of one that cannot be used: ${also}`;
    super(`no server of its cluster could be discovered that is a leader or has one${more}`, { cause });
  }
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The details of a gRPC error: its code, and the type that EventStoreDB adds in the metadata of most of its errors. */
export interface ErrorDetails {
  readonly type: string | undefined;
  readonly code: number | undefined;
}

export function detailsOf(error: unknown): ErrorDetails {
  if (!(error instanceof Error)) return { type: undefined, code: undefined };
  const code: unknown = Reflect.get(error, 'code');
  const metadata: unknown = Reflect.get(error, 'metadata');
  const type = metadata instanceof Metadata ? metadata.get('exception')[0]?.toString() : undefined;
  return { type, code: typeof code === 'number' ? code : undefined };
}

/** Whether a retry may succeed. Refusals of the server and bugs of our own code are permanent. */
export function isTransient(error: unknown): boolean {
  if (error instanceof NoAnswer || error instanceof NoNode) return true;
  const { type, code } = detailsOf(error);
  if (tlsProblem(error) !== undefined) return false;
  return type === 'not-leader' || TRANSIENT_CODES.has(code ?? status.OK) || TRANSIENT.test(messageOf(error));
}

/**
 * Translates an error for the port. The message names the problem and the remedy, without the address. Bugs of our own
 * code are returned as they are.
 */
export function unavailable(error: unknown): Error {
  if (error instanceof EngineUnavailable) return error;
  const reason = reasonOf(error);
  if (reason === undefined) return asError(error);
  return new EngineUnavailable(`the event log is not available: ${reason}`, { cause: error });
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof NoAnswer || error instanceof NoNode || error instanceof RefusedByServer)
    return error.message;
  const { type, code } = detailsOf(error);
  const reason = tlsProblem(error) ?? REASONS.get(type ?? '') ?? REASONS.get(code ?? status.OK);
  if (reason !== undefined) return reason;
  if (isTransient(error))
    return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(messageOf(error))?.[0] ?? 'no connection'})`;
  return code === undefined ? undefined : `it refused a request (${type ?? status[code] ?? code})`;
}

/** What makes an authority trusted. */
export const TRUST = 'name the certificate of its authority by tlsCAFile in the URL';

/** Recognizes problems with TLS by the message of an error that is not one of these, which are explained already. */
export function tlsProblem(error: unknown): string | undefined {
  if (error instanceof NoNode || error instanceof RefusedByServer) return undefined;
  const message = messageOf(error);
  const certificate = certificateProblem(message, TRUST);
  if (certificate !== undefined) return certificate;
  if (/wrong version number/i.test(message)) return 'it does not use TLS: add tls=false to the URL';
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

const DENIED =
  'access is denied: the user in its URL must be allowed to read $all (a member of $admins, or of "$r" in the $acl ' +
  'of the stream $$$all) and to write';

/** Messages for types and codes of errors. */
const REASONS: ReadonlyMap<string | number, string> = new Map<string | number, string>([
  ['access-denied', DENIED],
  [status.PERMISSION_DENIED, DENIED],
  [status.UNAUTHENTICATED, 'access is denied: the user name or the password in its URL is wrong'],
  [status.DEADLINE_EXCEEDED, 'it does not answer in time'],
  [status.ABORTED, 'it does not answer in time'],
  [status.RESOURCE_EXHAUSTED, 'it is overloaded'],
]);

/** Broken connections (also reported as `INTERNAL`), time-outs of the server, and a busy server. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([
  status.ABORTED,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
]);

/** Transient errors without such a code: no leader yet, a connection that was just closed. */
const TRANSIENT = /no leader info|channel (?:has been shut down|closed)|write after end/i;
