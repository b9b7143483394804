import { createHash } from 'node:crypto';

const PRIME = 67_108_859n;

/**
 * Values in the random order of a seed, as decisions V6 is kept: by `((value + a)³ + b)³` by the prime, `a` and `b` being the
 * first words of the seed's SHA-256. In whole numbers of any size: right without a thought of overflow.
 */
export function inRandomOrder(seed: number, values: readonly number[]): readonly number[] {
  const digest = createHash('sha256').update(String(seed)).digest();
  const [a, b] = [BigInt(digest.readUInt32BE(0)), BigInt(digest.readUInt32BE(4))];
  const cube = (number: bigint): bigint => ((number ** 3n % PRIME) + PRIME) % PRIME;
  const places = new Map(values.map((value) => [value, Number(cube(cube(BigInt(value) + a) + b))]));
  return values.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
}
