/** What a body takes until its request is answered, in bytes. */
export interface BodyCost {
  readonly memory: number;
  /** On disk. */
  readonly space: number;
}

/**
 * The cost of so many bytes, of which a chunk is the last one to have arrived; those that headers declare count from the start.
 */
export type CostOf = (bytes: number, chunk?: Buffer) => BodyCost;

/** A request with a body, however small it is. */
const LEAST = 64 * 1024;
/** For each byte: as text in memory, where a character may take two, and in part as what is made of it. */
const PER_BYTE = 2;
/** For each value: an empty object takes three bytes in JSON and about as many in memory as this. */
const PER_VALUE = 64;

/** Bytes that begin a value, or stand between two, in JSON, XML and CSV. */
const VALUES = new Uint8Array(256);
for (const character of '{[,:<;') VALUES[character.charCodeAt(0)] = 1;

/** The cost of a body that is parsed in memory. */
export function parsedCost(): CostOf {
  let values = 0;
  return (bytes, chunk) => {
    if (chunk !== undefined) values += valuesIn(chunk);
    return { memory: Math.max(LEAST, bytes * PER_BYTE + values * PER_VALUE), space: 0 };
  };
}

/** Estimates how many values a part of a body has, without parsing it. */
function valuesIn(chunk: Buffer): number {
  let values = 0;
  for (let at = 0; at < chunk.length; at += 1) values += VALUES[chunk[at] ?? 0] ?? 0;
  return values;
}
