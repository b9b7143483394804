import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench, type Figure } from './harness';
import { loadJson } from './load-json';
import { loadXml } from './load-xml';
import { memory } from './memory';
import { project } from './project';
import { rebuild } from './rebuild';
import { reloadUnchanged } from './reload-unchanged';
import { HEADING, lineOf } from './report';
import { search } from './search';

const FIGURES = {
  'load-json': loadJson,
  'load-xml': loadXml,
  'reload-unchanged': reloadUnchanged,
  project,
  rebuild,
  search,
  memory,
} as const satisfies Readonly<Record<string, (bench: Bench) => Promise<readonly Figure[]>>>;

const USAGE = `npm run bench -- <name>… [--count N] [--json]
names: all, ${Object.keys(FIGURES).join(', ')}
--count N  products to measure with (100,000; memory posts ten times as many)
--json     one JSON object a line instead of a table
Measured in a temporary folder of ${tmpdir()} (TMPDIR), which is removed afterwards.
`;

type Name = keyof typeof FIGURES;

/** Measures what is named and prints it; how fast it was is reported, not judged: 1 only if something broke. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { count: { type: 'string', default: '100000' }, json: { type: 'boolean', default: false } },
  });
  const names = positionals.flatMap((name) => (name === 'all' ? Object.keys(FIGURES) : [name]));
  const count = Number(values.count);
  if (names.length === 0 || !names.every(isName) || !Number.isSafeInteger(count) || count < 1) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'affilog-bench-'));
  try {
    const bench = new Bench(count, folder);
    if (!values.json) process.stdout.write(`${HEADING}\n`);
    for (const name of names) {
      for (const figure of await FIGURES[name](bench)) {
        process.stdout.write(`${values.json ? JSON.stringify(figure) : lineOf(figure)}\n`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isName(name: string): name is Name {
  return Object.hasOwn(FIGURES, name);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
