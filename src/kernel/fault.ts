/** An error whose name is that of its class. */
export abstract class NamedError extends Error {
  override readonly name = this.constructor.name;
}

/** Why something is not done that an operator asked for. The message may be answered over HTTP: it names no path. */
export abstract class Refusal extends NamedError {}

/**
 * An expected error, from a service's fault table. It is reported to the caller in the service's own format. Any other
 * error is a bug or an unavailable engine.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  constructor(
    /** The code in the documents: `PF_240`, `2`. */
    readonly code: string,
    /** The HTTP status of the answer. */
    readonly status: number,
    message: string,
    readonly details: FaultDetails = {},
  ) {
    super(message);
  }
}

export interface FaultDetails {
  /** The product that it concerns. */
  readonly sourceProductId?: string;
  /** Seconds until a retry makes sense. */
  readonly retryAfter?: number;
  /** The methods that the path supports (405). */
  readonly allow?: readonly string[];
}

/** Several faults in one answer. */
export class Faults extends Error {
  override readonly name = 'Faults';
  constructor(
    readonly faults: readonly Fault[],
    /** The HTTP status of the answer: by default the one that they have in common, or 400. */
    readonly status: number = commonStatus(faults),
  ) {
    super(faults.map((fault) => fault.message).join('; '));
  }
}

function commonStatus(faults: readonly Fault[]): number {
  const [first, ...others] = faults.map((fault) => fault.status);
  return first !== undefined && others.every((status) => status === first) ? first : 400;
}

/** The faults that were raised; raises anything else again. */
export function faultsIn(error: unknown): readonly Fault[] {
  if (error instanceof Faults) return error.faults;
  if (error instanceof Fault) return [error];
  throw error;
}

/** Makes a service's fault; its message defaults to the text in the documents. */
export type MakeFault = (message?: string, details?: FaultDetails) => Fault;

/** A service's error table: name -> code, HTTP status, text in the documents. */
export type FaultTable = Readonly<Record<string, readonly [code: string, status: number, text: string]>>;

/** Makes a fault factory of each row. */
export function faultsOf<Table extends FaultTable>(
  table: Table,
): { readonly [Name in keyof Table]: MakeFault } {
  const make = Object.entries(table).map(([name, [code, status, text]]) => [
    name,
    (message: string = text, details?: FaultDetails) =>
      withoutStack(() => new Fault(code, status, message, details)),
  ]);
  return Object.fromEntries(make) as never;
}

/**
 * Capturing the stack, which nobody reads, costs ten times as much as the rest, and a post may have millions of faults.
 */
function withoutStack(make: () => Fault): Fault {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
