import { createHash } from 'node:crypto';

const PRIME = 67_108_859n;

/**
 * Values in the random order of a seed (decisions V6): by `((value + a)³ + b)³` modulo the prime, where `a` and `b` are
 * the first words of the seed's SHA-256. Uses BigInt, so overflow cannot occur.
 */
export function inRandomOrder(seed: number, values: readonly number[]): readonly number[] {
  const digest = createHash('sha256').update(String(seed)).digest();
  const [a, b] = [BigInt(digest.readUInt32BE(0)), BigInt(digest.readUInt32BE(4))];
  const cube = (number: bigint): bigint => ((number ** 3n % PRIME) + PRIME) % PRIME;
  const places = new Map(values.map((value) => [value, Number(cube(cube(BigInt(value) + a) + b))]));
  return values.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
}
