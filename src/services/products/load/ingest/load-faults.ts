import { type Fault } from '../../../../kernel/fault';
import { NotParsable } from '../../../../wire/bytes';
import { productFaults as fault } from '../../../../domain/products/faults';

/** A larger product, as JSON, is refused by itself (`docs/decisions.md#p27`). */
export const MAX_PRODUCT = 256 * 1024;

/** Faults that a load lists (`docs/decisions.md#x23`); more are counted. */
const MAX_FAULTS = 10_000;

export interface LoadFault {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly sourceProductId: string | undefined;
}

/** A product that may not be stored: its first faults, and how many more there are. */
export interface Refusal {
  readonly sourceProductId: string | undefined;
  readonly faults: readonly LoadFault[];
  readonly moreFaults: number;
}

/** The faults of a load's products, or of those of a slice. */
export class LoadFaults {
  products = 0;
  readonly listed: LoadFault[] = [];
  more = 0;

  constructor(private readonly max = MAX_FAULTS) {}

  /** How many more faults can be listed. */
  get room(): number {
    return this.max - this.listed.length;
  }

  add({ faults, moreFaults }: Refusal): void {
    this.addAll({ products: 1, listed: faults, more: moreFaults });
  }

  addAll({ products, listed, more }: FaultCounts): void {
    const fitting = listed.slice(0, this.room);
    this.products += products;
    this.listed.push(...fitting);
    this.more += more + listed.length - fitting.length;
  }
}

export interface FaultCounts {
  readonly products: number;
  readonly listed: readonly LoadFault[];
  readonly more: number;
}

/** Refuses a product larger than `MAX_PRODUCT`, at a place of the body, from 1; its id may be unknown. */
export function oversized(sourceProductId: string | undefined, sequence: number): Refusal {
  const message = `expected a product of at most ${MAX_PRODUCT / 1024} KB, as JSON`;
  const details = sourceProductId === undefined ? {} : { sourceProductId };
  const refused = toLoadFault(fault.illegalValue(message, details), sequence);
  return { sourceProductId, faults: [refused], moreFaults: 0 };
}

/** The fault of the product at a place of the body, from 1, which the message names as in a list, from 0. */
export function toLoadFault({ code, status, message, details }: Fault, sequence: number): LoadFault {
  const { sourceProductId } = details;
  return { code, status, message: `products[${sequence - 1}]: ${message}`, sourceProductId };
}

/** Runs a parser; raises `PF_210` for a malformed body, with `problem` if that knows better, and `origin`. */
export function parseOrRefuse(
  parse: () => void,
  origin: () => string,
  problem: () => string | undefined = () => undefined,
): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof NotParsable)) throw error;
    throw fault.noParsableContent(`the body cannot be parsed: ${problem() ?? error.message}${origin()}`);
  }
}
