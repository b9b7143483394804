import fc from 'fast-check';
import { JsonCutter } from '../../src/wire/json/cut';
import { NotParsable } from '../../src/wire/bytes';

interface Cut {
  readonly elements: readonly unknown[];
  readonly oversized: readonly (readonly [index: number, head: string])[];
}

/** Cuts a body given in pieces, and parses the slices as a caller does. */
function cut(
  pieces: readonly Buffer[],
  options: { readonly maxElement?: number; readonly maxDepth?: number } = {},
): Cut {
  const elements: unknown[] = [];
  const oversized: [number, string][] = [];
  const cutter = new JsonCutter({
    key: 'products',
    maxElement: options.maxElement ?? 1_000_000,
    maxDepth: options.maxDepth ?? 100,
    onElement: (slice, index) => {
      expect(index).toBe(elements.length + oversized.length);
      elements.push(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(slice)));
    },
    onOversized: (index, head) => oversized.push([index, head.toString()]),
  });
  for (const piece of pieces) cutter.write(piece);
  cutter.end();
  return { elements, oversized };
}

const whole = (text: string) => [Buffer.from(text)];

/** Cuts bytes at places drawn from anywhere. */
function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((at) => at % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to));
}

const elements = fc.array(
  fc.object({ withNullPrototype: false, maxDepth: 4 }).map((o) => JSON.parse(JSON.stringify(o)) as unknown),
);
const cuts = fc.array(fc.nat());
const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);

describe('elements of a posted JSON list (Document 1, Product posted by an advertiser)', () => {
  it('are those that JSON.parse finds, wherever the chunks are cut', () => {
    fc.assert(
      fc.property(elements, cuts, fc.array(space, { minLength: 9, maxLength: 9 }), (list, at, s) => {
        const body = `${s[0]}{${s[1]}"products"${s[2]}:${s[3]}[${s[4]}${list
          .map((element) => JSON.stringify(element, null, s[5]!.length))
          .join(`${s[5]},${s[6]}`)}${s[7]}]${s[8]}}\n`;
        expect(cut(piecesOf(Buffer.from(body), at)).elements).toEqual(list);
      }),
    );
  });

  it('are refused exactly when JSON.parse refuses the body, or it has another shape', () => {
    const samples = [
      '{"products":[{"a":"b\\\\","c":[1,{"d":"}]"}]} , {}]}',
      '{"products":[{"name":"ü\\u00e9\\"","n":-1.5e3,"t":true,"z":null}]}',
      '{"products":[]}',
      ' { "products" : [ { } ] } ',
    ];
    const mutation = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), kind: fc.nat(2) });
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        cuts,
        (text, mutations, at) => {
          const bytes = mutations.reduce((body, { at: place, byte, kind }) => {
            const where = place % (body.length + 1);
            const inserted = kind === 2 ? Buffer.alloc(0) : Buffer.from([byte]);
            return Buffer.concat([
              body.subarray(0, where),
              inserted,
              body.subarray(kind === 0 ? where : where + 1),
            ]);
          }, Buffer.from(text));
          expect(outcome(() => cut(piecesOf(bytes, at)).elements)).toEqual(outcome(() => parsed(bytes)));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('are found when every byte is a chunk of its own', () => {
    const body = Buffer.from('{"pro\\u0064ucts":[{"a":"\\\\\\""},{"b":"ü"}]}');
    expect(cut([...body].map((byte) => Buffer.from([byte]))).elements).toEqual([{ a: '\\"' }, { b: 'ü' }]);
  });

  it('are found after a byte order mark (decisions X1)', () => {
    expect(cut(whole('\ufeff{"products":[{"a":1}]}')).elements).toEqual([{ a: 1 }]);
  });

  it('are not found after half a byte order mark', () => {
    for (const mark of [
      [0xef],
      [0xef, 0xbb],
      [0xef, 0x20, 0xbb, 0xbf],
      [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
    ]) {
      expect(() => cut([Buffer.from(mark), ...whole('{"products":[]}')])).toThrow(NotParsable);
    }
  });

  it('are handed out without being copied when they lie in one chunk', () => {
    const chunk = Buffer.from('{"products":[{"a":1}]}');
    const slices: Buffer[] = [];
    const options = { key: 'products', maxElement: 100, maxDepth: 9, onOversized: () => undefined };
    const cutter = new JsonCutter({ ...options, onElement: (slice) => slices.push(slice) });
    cutter.write(chunk);
    expect(slices[0]?.buffer).toBe(chunk.buffer);
  });

  it.each([
    ['{}', 'expected the key "products", found }, at byte 1'],
    ['[]', 'expected {, found [, at byte 0'],
    ['{"product":[]}', 'expected the key "products", found "product", at byte 9'],
    ['{"products":{}}', 'expected [, found {, at byte 12'],
    ['{"products":[1]}', 'expected { or ], found 1, at byte 13'],
    ['{"products":[{},]}', 'expected {, found ], at byte 16'],
    ['{"products":[{}{}]}', 'expected , or ], found {, at byte 15'],
    ['{"products":[],"more":1}', 'expected }, found ,, at byte 14'],
    ['{"products":[]} x', 'expected nothing more, found x, at byte 16'],
    ['{"products":[{"a":1}', 'expected , or ], found the end of the body, at byte 20'],
    ['{"products":[{"a":', 'expected the end of the object, found the end of the body, at byte 18'],
    ['', 'expected {, found the end of the body, at byte 0'],
    ['\0', 'expected {, found byte 0x00, at byte 0'],
    [' \ufeff{}', 'expected {, found byte 0xef, at byte 1'],
  ])('%j: %s', (body, message) => {
    expect(() => cut(whole(body))).toThrow(new NotParsable(message));
  });

  it('may be nested as deep as is allowed, and no deeper', () => {
    const nested = (depth: number) => `{"products":[${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}]}`;
    expect(cut(whole(nested(5)), { maxDepth: 5 }).elements).toHaveLength(1);
    expect(() => cut(whole(nested(6)), { maxDepth: 5 })).toThrow('nested deeper than 5');
  });

  it('are passed over when they are too large, and the others are not (decisions P27)', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40)), cuts, (sizes, at) => {
        const list = sizes.map((size) => ({ a: 'x'.repeat(size) }));
        const texts = list.map((element) => JSON.stringify(element));
        const result = cut(piecesOf(Buffer.from(`{"products":[${texts.join()}]}`), at), { maxElement: 28 });
        expect(result.elements).toEqual(list.filter((_, index) => texts[index]!.length <= 28));
        const large = [...texts.entries()].filter(([, text]) => text.length > 28);
        expect(result.oversized).toEqual(large.map(([index, text]) => [index, text.slice(0, 28)]));
      }),
    );
  });

  it('take no memory when they are far too large', () => {
    const cutter = new JsonCutter({
      key: 'products',
      maxElement: 1000,
      maxDepth: 9,
      onElement: () => expect(false).toBe(true),
      onOversized: (_, head) => expect(head.length).toBe(1000),
    });
    const before = process.memoryUsage().arrayBuffers;
    cutter.write(Buffer.from('{"products":[{"a":"'));
    const chunk = Buffer.alloc(65_536, 'x');
    for (let count = 0; count < 1000; count += 1) cutter.write(chunk);
    cutter.write(Buffer.from('"}]}'));
    cutter.end();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4_000_000);
  });
});

function outcome(run: () => unknown): unknown {
  try {
    return { elements: run() };
  } catch {
    return 'refused';
  }
}

/** What `JSON.parse` makes of a body of this shape; raises for another. */
function parsed(bytes: Buffer): unknown {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const body = JSON.parse(text) as Record<string, unknown>;
  // A key given twice is lost in parsing.
  if (Object.keys(body).join() !== 'products' || (text.match(/"products"/g) ?? []).length > 1)
    throw new Error();
  const list = body.products;
  if (!Array.isArray(list) || list.some((e) => typeof e !== 'object' || e === null || Array.isArray(e)))
    throw new Error();
  return list;
}

describe('elements of a list that is the whole body (decisions A21)', () => {
  const cutList = (pieces: readonly Buffer[]): readonly unknown[] => {
    const found: unknown[] = [];
    const cutter = new JsonCutter({
      maxElement: 1_000_000,
      maxDepth: 100,
      onElement: (slice) => found.push(JSON.parse(slice.toString())),
      onOversized: () => undefined,
    });
    for (const piece of pieces) cutter.write(piece);
    cutter.end();
    return found;
  };

  it('are those that JSON.parse finds, of any kind, wherever the chunks are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 3 })),
        cuts,
        fc.nat(2),
        fc.boolean(),
        (list, at, spaces, marked) => {
          const text = `${marked ? '\ufeff' : ''}${JSON.stringify(list, null, spaces)}`;
          expect(cutList(piecesOf(Buffer.from(text), at))).toEqual(JSON.parse(JSON.stringify(list)));
        },
      ),
    );
  });

  it('are refused exactly when JSON.parse refuses the body, or it is no list', () => {
    const piece = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      '"',
      '"a"',
      ':',
      '1',
      '-1.5e3',
      'true',
      'null',
      'nul',
      ' ',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), cuts, (pieces, at) => {
        const text = `[${pieces.join('')}]`;
        let list: unknown;
        let found: unknown;
        try {
          list = JSON.parse(text);
        } catch {
          list = 'refused';
        }
        try {
          found = cutList(piecesOf(Buffer.from(text), at));
        } catch (error) {
          expect(error instanceof NotParsable || error instanceof SyntaxError).toBe(true);
          found = 'refused';
        }
        expect([text, found]).toEqual([text, list]);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{"a":1}', 'expected [, found {, at byte 0'],
    ['[1 2]', 'expected , or ], found 2, at byte 3'],
    ['[,1]', 'expected a value or ], found ,, at byte 1'],
    ['[1', 'expected the end of the element, found the end of the body, at byte 2'],
    ['[{', 'expected the end of the element, found the end of the body, at byte 2'],
    ['[] []', 'expected nothing more, found [, at byte 3'],
  ])('%s: %s', (text, message) => {
    expect(() => cutList([Buffer.from(text)])).toThrow(message);
  });
});
