import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { EVENTS, eventSchemas, problemsOf } from '../../src/operations/events/schemas';

interface Sample {
  readonly stream: string;
  readonly type: string;
  readonly data: object;
  readonly meta?: object;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- a script that needs no compiler
const { eventsDocument, goldenSamples } = require('../../scripts/events.cjs') as {
  readonly eventsDocument: (
    schemas: ReadonlyMap<string, object>,
    samples: ReadonlyMap<string, Sample>,
  ) => string;
  readonly goldenSamples: () => ReadonlyMap<string, Sample>;
};

const ROOT = join(__dirname, '../..');
const samples = [...goldenSamples()];

function recorded({ stream, type, data, meta = {} }: Sample) {
  const text = { data: JSON.stringify(data), meta: JSON.stringify(meta) };
  return { id: '', position: '', revision: 0, stream, type, ...text };
}

/** What a kind contains, each with its name, and with those of the values that have it. */
function* partsOf(
  kind: z.ZodType,
  values: readonly unknown[],
): Generator<[string, z.ZodType, readonly unknown[]]> {
  if (kind instanceof z.ZodOptional) yield* partsOf(kind.unwrap() as z.ZodType, values);
  else if (kind instanceof z.ZodArray) yield ['[]', kind.element as z.ZodType, values.flat()];
  else if (kind instanceof z.ZodUnion)
    for (const option of kind.options as readonly z.ZodType[]) yield* partsOf(option, values);
  else if (kind instanceof z.ZodObject)
    for (const [name, field] of Object.entries(kind.shape)) {
      const found = values.map((value) => (value as Readonly<Record<string, unknown>>)[name]);
      yield [`.${name}`, field, found.filter((value) => value !== undefined)];
    }
}

/** Notes the paths of all fields, and those that a value has: what several events contain need be in one of them. */
function note(
  kind: z.ZodType,
  values: readonly unknown[],
  path: string,
  paths: Map<z.ZodType, string>,
  met: Set<z.ZodType>,
): void {
  for (const [name, part, found] of partsOf(kind, values)) {
    paths.set(part, path + name);
    if (found.length > 0) met.add(part);
    note(part, found, path + name, paths, met);
  }
}

describe('the description of events', () => {
  test.each(samples)('has every field of the sample %s, and its stream (decisions X104)', (_, sample) => {
    expect(problemsOf(recorded(sample))).toEqual([]);
  });

  test('has no field that no sample has (decisions X104)', () => {
    const paths = new Map<z.ZodType, string>();
    const met = new Set<z.ZodType>();
    for (const [type, { data, meta }] of EVENTS) {
      const of = samples.filter(([, sample]) => sample.type === type).map(([, sample]) => sample);
      expect([type, of.length]).not.toEqual([type, 0]);
      note(
        data,
        of.map((sample) => sample.data),
        type,
        paths,
        met,
      );
      note(
        meta,
        of.map((sample) => sample.meta ?? {}),
        `${type}.meta`,
        paths,
        met,
      );
    }
    expect([...paths].filter(([part]) => !met.has(part)).map(([, path]) => path)).toEqual([]);
  });

  test('names what is not described, and where (decisions X104)', () => {
    const sample = samples.find(([name]) => name === 'ProductRepriced')![1];
    expect(problemsOf(recorded({ ...sample, type: 'ProductRenamed' }))).toEqual(['unknown type']);
    expect(problemsOf(recorded({ ...sample, stream: 'feeds-301' }))).toEqual([
      'stream: expected feed-<feedId>',
    ]);
    const odd = recorded({ ...sample, data: { ...sample.data, price: '99.90', colour: 'red' } });
    expect(problemsOf(odd)).toEqual([
      'data.price: Invalid input: expected number, received string',
      'data: Unrecognized key: "colour"',
    ]);
    for (const type of ['constructor', 'toString', '__proto__'])
      expect(problemsOf(recorded({ ...sample, type }))).toEqual(['unknown type']);
    for (const data of ['{oops', '[]', 'null', ''])
      expect(problemsOf({ ...recorded(sample), data })).toEqual(['data: expected a JSON object']);
  });

  test('is of events that the sources know (decisions X104)', () => {
    const sources = ['src', 'projections']
      .flatMap((folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
          join(ROOT, folder, file),
        ),
      )
      .filter((file) => file.endsWith('.ts') && !file.includes('operations/events'))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    expect([...EVENTS.keys()].filter((type) => !sources.includes(`'${type}'`))).toEqual([]);
  });

  test('docs/events.md is current: `npm run events` writes it (decisions X104)', () => {
    const written = readFileSync(join(ROOT, 'docs/events.md'), 'utf8');
    expect(eventsDocument(eventSchemas(), goldenSamples())).toBe(written);
  });
});
