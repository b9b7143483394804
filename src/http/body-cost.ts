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
/**
 * For bytes that begin a value, or stand between two, in JSON, XML and CSV: an empty object takes three bytes in JSON and 64 in
 * memory, an empty element four and 100, its attribute with two quotation marks five and 50 to 150.
 */
const PER_VALUE: Readonly<Record<string, number>> = {
  '{': 64,
  '[': 64,
  ',': 64,
  ':': 64,
  ';': 64,
  '<': 128,
  '"': 32,
  "'": 32,
};
const VALUES = new Uint8Array(256);
for (const [character, bytes] of Object.entries(PER_VALUE)) VALUES[character.charCodeAt(0)] = bytes;

/** The cost of a body that is parsed in memory. */
export function parsedCost(): CostOf {
  let values = 0;
  return (bytes, chunk) => {
    if (chunk !== undefined) values += valuesIn(chunk);
    return { memory: Math.max(LEAST, bytes * PER_BYTE + values), space: 0 };
  };
}

/** Estimates what the values of a part of a body take, without parsing it. */
function valuesIn(chunk: Buffer): number {
  let values = 0;
  for (let at = 0; at < chunk.length; at += 1) values += VALUES[chunk[at] ?? 0] ?? 0;
  return values;
}
