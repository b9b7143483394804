import { OVER_SERVERS } from './engines';

/**
 * Tests of random or repeated cases take their number from here: `npm test` runs a quarter of them, or as few as a test
 * names, and `npm run test:full` runs all tests that import this file at full size (CONTRIBUTING, Checks).
 */
export const FULL_SIZE = process.env.TEST_SIZE === 'full';

/**
 * How many cases to run, of a test whose full size is `full`. Over servers half as many: several pairs of engines run
 * it.
 */
export function cases(full: number, small = Math.ceil(full / 4)): number {
  if (FULL_SIZE) return full;
  return OVER_SERVERS ? Math.ceil(small / 2) : small;
}
