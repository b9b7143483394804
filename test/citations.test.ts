import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS, missingFrom } from './api/document-tables';

/** What all other tests say. */
const tests = readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && name !== 'citations.test.ts')
  .map((name) => readFileSync(join(__dirname, name), 'utf8'))
  .join('\n');

/** Texts that are cited behind this, up to the end of the citation. */
const behind = (start: string): string[] =>
  [...tests.matchAll(new RegExp(`${start}([^);'\`\\n]*)`, 'g'))].map(([, rest = '']) => rest);

describe.each([1, 2, 3] as const)('the Limits of Document %i', (document) => {
  const cited = behind(`Document ${document}, Limits`).map((rest) => rest.replace(/^: /, ''));
  const rows: readonly string[] = LIMITS[document];

  it('are cited row by row: each has a test', () => {
    expect(missingFrom(rows, cited)).toEqual([]);
  });

  it('are not cited without saying which', () => {
    expect(missingFrom(cited, rows)).toEqual([]);
  });
});

describe('the decisions', () => {
  const written = readFileSync(join(__dirname, '../docs/decisions.md'), 'utf8');
  const rows = [...written.matchAll(/^<a id="([apvtncx]\d+b?)">/gm)].map(([, id = '']) => id);
  const cited = behind('decisions ').flatMap(numbersIn);

  it('have tests that cite them, each', () => {
    expect(rows.length).toBeGreaterThan(100);
    expect(missingFrom(rows, cited)).toEqual([]);
  });

  it('have each a number of its own', () => {
    expect(rows.filter((row, at) => rows.indexOf(row) !== at)).toEqual([]);
  });

  it('are there, of all that tests cite', () => {
    expect(missingFrom(cited, rows)).toEqual([]);
  });
});

it('architecture decision records have each a number of its own, and the heading has it', () => {
  const folder = join(__dirname, '../docs/adr');
  const names = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));
  const numbers = names.map((name) => Number(name.slice(0, 4)));
  expect(numbers.length).toBeGreaterThan(30);
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  expect(
    names.map((name) => Number(/^# (\d+)\. /.exec(readFileSync(join(folder, name), 'utf8'))?.[1])),
  ).toEqual(numbers);
});

/** `V3 to V5, X1` names v3, v4, v5 and x1. */
function numbersIn(citation: string): string[] {
  const ranges = [...citation.matchAll(/\b([APVTNCX])(\d+) to \1(\d+)\b/g)].flatMap(
    ([, kind = '', from, to]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => `${kind}${Number(from) + at}`),
  );
  const single = [...citation.matchAll(/\b[APVTNCX]\d+b?\b/g)].map(([id]) => id);
  return [...ranges, ...single].map((id) => id.toLowerCase());
}
