/**
 * An expected error, named by its place in a service's fault table: what the caller is told, in the service's
 * own shape, and nothing else. Anything thrown that is no fault is a bug or an engine that does not answer.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  constructor(
    /** The documents' code: `PF_240`, `2`. */
    readonly code: string,
    /** The HTTP status it is answered with. */
    readonly status: number,
    message: string,
    readonly details: FaultDetails = {},
  ) {
    super(message);
  }
}

export interface FaultDetails {
  /** The product it belongs to. */
  readonly sourceProductId?: string;
  /** Seconds after which a repeat is worth while. */
  readonly retryAfter?: number;
  /** The methods that the path has (405). */
  readonly allow?: readonly string[];
}

/** Several faults in one answer; their common status, else 400. */
export class Faults extends Error {
  override readonly name = 'Faults';
  constructor(readonly faults: readonly Fault[]) {
    super(faults.map((fault) => fault.message).join('; '));
  }

  get status(): number {
    const [first, ...others] = this.faults.map((fault) => fault.status);
    return first !== undefined && others.every((status) => status === first) ? first : 400;
  }
}

/** A service's error table: name -> code, HTTP status, the document's text. */
export type FaultTable = Readonly<Record<string, readonly [code: string, status: number, text: string]>>;

/** Makes a fault of each row: called with what exactly is wrong, or without for the document's text. */
export function faultsOf<Table extends FaultTable>(
  table: Table,
): { readonly [Name in keyof Table]: (message?: string, details?: FaultDetails) => Fault } {
  const make = Object.entries(table).map(([name, [code, status, text]]) => [
    name,
    (message: string = text, details?: FaultDetails) =>
      withoutStack(() => new Fault(code, status, message, details)),
  ]);
  return Object.fromEntries(make) as never;
}

/** Nobody asks where a fault was made, and to record it costs ten times what all else does: posts may have millions. */
function withoutStack(make: () => Fault): Fault {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
