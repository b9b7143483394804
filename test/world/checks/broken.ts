/** A promise of the system. */
export interface Promised {
  /** A sentence of `docs/promises.md`. */
  readonly promise: string;
}

/** A promise that a world has broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
  /** It is set where the check is known. */
  promise = '';
}

export function brokenBy({ promise }: Promised, what: string, cause?: unknown): Broken {
  return Object.assign(new Broken(what, { cause }), { promise });
}

export function require(isSo: boolean, what: () => string): asserts isSo {
  if (!isSo) throw new Broken(what());
}
