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

/** Where trying again is of no use: the server has understood, and will not. */
export function isFinal(error: unknown): boolean {
  const { type, code } = marksOf(error);
  return FINAL_TYPES.has(type ?? '') || FINAL_CODES.has(code ?? status.OK);
}

/** Where the client finds a new connection by itself. */
export function isReconnecting(error: unknown): boolean {
  const { type, code } = marksOf(error);
  return (
    type === 'unavailable' || type === 'cancelled' || type === 'not-leader' || code === status.UNAVAILABLE
  );
}

/** The error as the port has it. */
export function unavailable(error: unknown): EngineUnavailable {
  const why = error instanceof Error ? error.message : String(error);
  return new EngineUnavailable(`EventStoreDB is not available: ${why}`, { cause: error });
}

const FINAL_TYPES: ReadonlySet<string> = new Set([
  'access-denied',
  'invalid-argument',
  'maximum-append-size-exceeded',
  'stream-deleted',
  'unsupported',
  'wrong-expected-version',
]);

const FINAL_CODES: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
]);
