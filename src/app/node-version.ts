import { engines } from '../../package.json';

/**
 * Refuses a Node.js that is too old. Imported before everything else, since other modules may not even load on it: this
 * file and `main.ts` use no syntax that is newer than ES2018.
 */
const problem = nodeProblem(process.versions.node, engines.node);
if (problem !== undefined) {
  process.stderr.write(`affilog: ${problem}\n`);
  process.exit(1);
}

/** What is wrong with a version of Node.js; undefined if it satisfies `required`, such as `>=20.19`. */
export function nodeProblem(version: string, required: string): string | undefined {
  const [major, minor] = numbersIn(version);
  const [leastMajor, leastMinor] = numbersIn(required);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return `Node.js ${version} is too old: expected ${leastMajor}.${leastMinor} or later`;
}

function numbersIn(version: string): readonly [number, number] {
  const found = /(\d+)\.(\d+)/.exec(version);
  return found === null ? [0, 0] : [Number(found[1]), Number(found[2])];
}
