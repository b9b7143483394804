import { status } from '@grpc/grpc-js';
import { EngineUnavailable } from '../../kernel/event-log';

/** No answer came in time: what was asked for may have happened or not. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** What an error of the client is: it has a type for most, but passes some on as they came, with a code only. */
export interface Marks {
  readonly type: string | undefined;
  readonly code: number | undefined;
}

export function marksOf(error: unknown): Marks {
  if (!(error instanceof Error)) return { type: undefined, code: undefined };
  const type: unknown = Reflect.get(error, 'type');
  const code: unknown = Reflect.get(error, 'code');
  return {
    type: typeof type === 'string' ? type : undefined,
    code: typeof code === 'number' ? code : undefined,
  };
}

/** Where trying again is of no use: the server has understood and will not, or is not what the URL says. */
export function isFinal(error: unknown): boolean {
  const { type, code } = marksOf(error);
  return FINAL_TYPES.has(type ?? '') || FINAL_CODES.has(code ?? status.OK) || misfit(error) !== undefined;
}

/** Where the client finds a new connection by itself. */
export function isReconnecting(error: unknown): boolean {
  const { type, code } = marksOf(error);
  return (
    type === 'unavailable' || type === 'cancelled' || type === 'not-leader' || code === status.UNAVAILABLE
  );
}

/** The error as the port has it: its message tells the kind of trouble, without the address. */
export function unavailable(error: unknown): EngineUnavailable {
  return new EngineUnavailable(`the event log is not available: ${whyNot(error)}`, { cause: error });
}

function whyNot(error: unknown): string {
  if (error instanceof NoAnswer) return error.message;
  const { type = '', code = status.UNKNOWN } = marksOf(error);
  const message = messageOf(error);
  const known = KINDS.get(type) ?? KINDS.get(code) ?? misfit(error);
  if (known !== undefined) return known;
  if (isFinal(error)) return `it has refused a request (${type || status[code]})`;
  return `it cannot be reached (${/\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? 'no connection'})`;
}

/** Why no connection can be made that would be of use, where the words of TLS tell it. */
function misfit(error: unknown): string | undefined {
  const message = messageOf(error);
  if (/certificate|altname/i.test(message)) return 'its certificate is not trusted';
  if (/wrong version number/i.test(message)) return 'it does not use TLS: the URL has to say tls=false';
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

const FINAL_TYPES: ReadonlySet<string> = new Set([
  'access-denied',
  'invalid-argument',
  'maximum-append-size-exceeded',
  'stream-deleted',
  'unsupported',
  'wrong-expected-version',
]);

/** What types and codes of errors tell an operator. */
const KINDS: ReadonlyMap<string | number, string> = new Map<string | number, string>([
  ['access-denied', 'access is denied'],
  [status.PERMISSION_DENIED, 'access is denied'],
  [status.UNAUTHENTICATED, 'access is denied'],
  ['deadline-exceeded', 'it does not answer in time'],
  [status.DEADLINE_EXCEEDED, 'it does not answer in time'],
  [status.RESOURCE_EXHAUSTED, 'it is overloaded'],
]);

const FINAL_CODES: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
]);
