import { hash } from 'node:crypto';

/**
 * A prime below 2^26, so that products are exact in every engine's arithmetic. It is 2 modulo 3, so cubing modulo this
 * prime is a permutation.
 */
export const SHUFFLE_PRIME = 67_108_859;

/** The two summands of a seed. Permanent: a seed must always give the same order. */
function shuffleSummands(seed: number): readonly [number, number] {
  const digest = hash('sha256', String(seed), 'buffer');
  return [digest.readUInt32BE(0) % SHUFFLE_PRIME, digest.readUInt32BE(4) % SHUFFLE_PRIME];
}

/**
 * Ranks values in the random order of a seed: `((value + a)³ + b)³` modulo the prime. Values less than the prime apart
 * never share a rank.
 */
export function shuffler(seed: number): (value: number) => number {
  const [a, b] = shuffleSummands(seed);
  return (value) =>
    cube((cube(((value % SHUFFLE_PRIME) + SHUFFLE_PRIME + a) % SHUFFLE_PRIME) + b) % SHUFFLE_PRIME);
}

function cube(x: number): number {
  return (((x * x) % SHUFFLE_PRIME) * x) % SHUFFLE_PRIME;
}
