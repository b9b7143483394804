import { NotParsable } from '../../wire/not-parsable';
import { productFaults as fault } from '../faults';

/** Takes a body apart as its bytes come in, and gives its products to a receiver. Raises `PF_210`. */
export interface BodyReader {
  /** When a promise comes back, wait for it before giving more. */
  write(chunk: Buffer): Promise<void> | undefined;
  end(): void;
}

/** Runs a parser: what it cannot parse is `PF_210`; `where` says where its places are counted from. */
export function asFault(parse: () => void, where = ''): void {
  try {
    parse();
  } catch (error) {
    if (error instanceof NotParsable)
      throw fault.noParsableContent(`the body cannot be read: ${error.message}${where}`);
    throw error;
  }
}
