import { readAndHash } from './bare/read-json';
import { type Bench, type Figure } from './harness';
import { compareLoads } from './loads';

/** Posts JSON; the bare side cuts the body into elements, with `JSON.parse` and SHA-256 of each. */
export async function loadJson(bench: Bench): Promise<readonly Figure[]> {
  return compareLoads(bench, { figure: 'load-json', format: 'json', goal: 0.7 }, readAndHash);
}
