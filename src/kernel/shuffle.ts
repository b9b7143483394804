import { hash } from 'node:crypto';

/**
 * A prime below 2^26, so that products are exact in every engine's arithmetic. Cubes by it are a permutation, as it
 * leaves 2 when divided by 3.
 */
export const SHUFFLE_PRIME = 67_108_859;

/** The two summands of a seed: the same for the same seed for ever. */
export function shuffleSummands(seed: number): readonly [number, number] {
  const digest = hash('sha256', String(seed), 'buffer');
  return [digest.readUInt32BE(0) % SHUFFLE_PRIME, digest.readUInt32BE(4) % SHUFFLE_PRIME];
}

/**
 * Gives the place of a value in the random order of a seed: `((value + a)³ + b)³` by the prime. No two values stand at one
 * place that are less than the prime apart.
 */
export function shuffler(seed: number): (value: number) => number {
  const [a, b] = shuffleSummands(seed);
  return (value) =>
    cube((cube(((value % SHUFFLE_PRIME) + SHUFFLE_PRIME + a) % SHUFFLE_PRIME) + b) % SHUFFLE_PRIME);
}

function cube(x: number): number {
  return (((x * x) % SHUFFLE_PRIME) * x) % SHUFFLE_PRIME;
}
