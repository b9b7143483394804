import fc from 'fast-check';
import { csvRows } from '../../src/wire/csv/rows';
import { JsonCutter } from '../../src/wire/json/cut';
import { AnyMarks, CsvMarks, JsonMarks, type Marks, XmlMarks } from '../../src/wire/marks';
import { NotParsable } from '../../src/wire/bytes';
import { readXml } from '../../src/wire/xml/read';

/** A body is cut at any of its bytes, and has empty chunks. */
function* chunksOf(text: string, cuts: readonly number[]): Generator<Buffer> {
  const bytes = Buffer.from(text);
  const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, bytes.length]) {
    yield bytes.subarray(from, to);
    from = to;
  }
}
const cuttings = fc.array(fc.nat({ max: 10_000 }), { maxLength: 8 });

type MarksOf = new (weights: Uint16Array) => Marks;

/** Counts one byte of a text. */
function countOf(byte: string, Marks: MarksOf, text: string, cuts: readonly number[] = []): number {
  const weights = new Uint16Array(256);
  weights[byte.charCodeAt(0)] = 1;
  const marks = new Marks(weights);
  let sum = 0;
  for (const chunk of chunksOf(text, cuts)) sum = marks.write(chunk);
  return sum;
}

const counts = (bytes: string, Marks: MarksOf, text: string, cuts: readonly number[] = []): number[] =>
  Array.from(bytes, (byte) => countOf(byte, Marks, text, cuts));

/** Texts of these pieces, in any order. */
const textsOf = (...pieces: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((some) => some.join(''));

const TEXT = 'a,b:c;"d"\'e\'[f]{g}<h>\\,\t\n';

describe('marks of JSON (decisions X100)', () => {
  interface Found {
    objects: number;
    lists: number;
    strings: number;
    members: number;
    commas: number;
  }
  function inValue(value: unknown, found: Found): Found {
    if (typeof value === 'string') found.strings += 1;
    if (typeof value !== 'object' || value === null) return found;
    const values = Object.values(value);
    found.commas += Math.max(values.length - 1, 0);
    if (Array.isArray(value)) found.lists += 1;
    else {
      found.objects += 1;
      found.members += values.length;
      found.strings += values.length;
    }
    for (const inner of values) inValue(inner, found);
    return found;
  }

  it('are as many as the values that it is parsed to, whatever is in strings and wherever it is cut', () => {
    const strings = textsOf(...Array.from('\\"\n,:[]{}é😀a'), 'x'.repeat(100), '\\'.repeat(63));
    const { value: values } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, strings, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 5 }),
      object: fc.dictionary(strings, tie('value'), { maxKeys: 5 }),
    }));
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1), cuttings, (value, spaces, cuts) => {
        const text = JSON.stringify(value, null, spaces);
        const { objects, lists, strings: found, members, commas } = inValue(JSON.parse(text), emptyFound());
        expect(counts('{[":,', JsonMarks, text, cuts)).toEqual([objects, lists, found, members, commas]);
      }),
      { numRuns: 500 },
    );
  });
  const emptyFound = (): Found => ({ objects: 0, lists: 0, strings: 0, members: 0, commas: 0 });

  it('are at least those of the elements that a list is cut into, however malformed it is', () => {
    /** Of an element by itself; backslashes count in strings only. */
    const naive = (text: string): number =>
      text.replaceAll(/"(?:\\[^]|[^"\\])*"?/g, '"').match(/["{[:,]/g)?.length ?? 0;
    const texts = textsOf('"', '"', '\\', '\\"', '{', '}', '[', ']', ',', ':', 'a', '1', ' ', '"a"', '{},');
    const weights = new Uint16Array(256);
    for (const mark of '{[":,') weights[mark.charCodeAt(0)] = 1;
    let inAll = 0;
    fc.assert(
      fc.property(texts, cuttings, fc.constantFrom(8, 1000), (text, cuts, maxElement) => {
        const marks = new JsonMarks(weights);
        let [sum, delivered] = [0, 0];
        const onElement = (slice: Buffer): void => {
          const found = naive(slice.toString());
          [delivered, inAll] = [delivered + found, inAll + found];
          expect(delivered).toBeLessThanOrEqual(sum);
        };
        const cutter = new JsonCutter({
          maxElement,
          maxDepth: 31,
          onElement,
          onOversized: (_, head) => onElement(head),
        });
        try {
          for (const chunk of chunksOf(`[${text}`, cuts)) {
            sum = marks.write(chunk);
            cutter.write(chunk);
          }
        } catch (error) {
          if (!(error instanceof NotParsable)) throw error;
        }
      }),
      { numRuns: 10_000 },
    );
    // Enough of them were delivered for this to mean something: about 2,700 usually.
    expect(inAll).toBeGreaterThan(100);
  });

  it('are none in strings, keys included, escaped quotes and backslashes too', () => {
    expect(counts('{[:,;<\'"', JsonMarks, JSON.stringify({ [TEXT]: [TEXT, `${TEXT}\\`] }))).toEqual([
      1, 1, 1, 1, 0, 0, 0, 3,
    ]);
  });
});

describe('marks of XML (decisions X100)', () => {
  it('are its tags, comments, sections and instructions, and the values of attributes', () => {
    const quoted = TEXT.replaceAll('<', '&lt;');
    const attributes = `b="${quoted.replaceAll('"', '&quot;')}" c='${quoted.replaceAll("'", '&apos;')}'`;
    const noTags = `<!--${TEXT}>- ->--><!--><a b="">--><![CDATA[${TEXT}]>]]]><?p ${TEXT} ? >?>`;
    const text = `<?xml version="1.0"?>\n<a ${attributes} >${quoted}${noTags}<d/></a >`;
    // The quotes of its declaration are none.
    expect(counts('<"\',:;[{', XmlMarks, text)).toEqual([8, 1, 1, 0, 0, 0, 0, 0]);
    for (let cut = 0; cut < text.length; cut += 1)
      expect(counts('<"', XmlMarks, text, [cut, cut + 1])).toEqual([8, 1]);
  });

  it('are at least the elements and attributes that are read, however malformed it is', () => {
    const [tags, values] = [
      ['<a>', '<a>', '</a>', '</a>', '<a/>', '<a b="', "<a b='", '<a b="c" d=\'e\'>', '<', '>', '/>', ' f='],
      ['"', "'", '<!--', '-->', '<![CDATA[', ']]>', '<?p ', '?>', '-', ']', '!', '?', 'é', ' ', '&lt;', '>>'],
    ];
    const weights = new Uint16Array(256);
    weights['<'.charCodeAt(0)] = ELEMENT;
    weights['"'.charCodeAt(0)] = weights["'".charCodeAt(0)] = 1;
    let inAll = 0;
    fc.assert(
      fc.property(textsOf(...tags, ...values), cuttings, (text, cuts) => {
        const marks = new XmlMarks(weights);
        let sum = 0;
        let read = 0;
        const reader = readXml({
          open: (_, attributes) => {
            read += ELEMENT + Object.keys(attributes).length;
            inAll += 1;
            expect(Math.floor(sum / ELEMENT)).toBeGreaterThanOrEqual(Math.floor(read / ELEMENT));
            expect(sum % ELEMENT).toBeGreaterThanOrEqual(read % ELEMENT);
          },
          text: () => undefined,
          close: () => undefined,
        });
        try {
          for (const chunk of chunksOf(`<r>${text}`, cuts)) {
            sum = marks.write(chunk);
            reader.write(chunk);
          }
        } catch (error) {
          if (!(error instanceof NotParsable)) throw error;
        }
      }),
      { numRuns: 10_000 },
    );
    // Enough elements were read for this to mean something: about 13,000 usually.
    expect(inAll).toBeGreaterThan(100);
  });
  const ELEMENT = 10_000;
});

describe('marks of CSV (decisions X100)', () => {
  /** Separators and line ends outside of quotes, by a pattern over the whole text. */
  function naive(marked: string): readonly [separators: number, lineEnds: number] {
    const text = marked.replace(/^\ufeff/, '');
    const line = /^[^\r\n]*/.exec(text)?.[0] ?? '';
    const found = [',', ';', '\t'].map((one) => [line.split(one).length, one] as const);
    const [, separator] = found.reduce((most, one) => (one[0] > most[0] ? one : most));
    const cell = new RegExp(
      String.raw`(?:"(?:[^"]|"")*(?:"|$))?[^${separator}\r\n]*(${separator}|\r\n|\r|\n|$)`,
      'gy',
    );
    const ends = Array.from(text.matchAll(cell), ([, end]) => end);
    const separators = ends.filter((end) => end === separator).length;
    return [separators, ends.filter((end) => end !== '').length - separators];
  }
  const texts = fc
    .tuple(
      fc.constantFrom('', '\ufeff', '\ufeff\ufeff'),
      textsOf('a', 'é', '"', '"', '""', ',', ';', '\t', '\n', '\r', '\r\n', '",', ',"', '\n"'),
    )
    // With a line end, at the first of which the separator is known.
    .map(([mark, text]) => `${mark}${text}\n`);

  it('are separators and line ends outside of quotes, wherever it is cut', () => {
    fc.assert(
      fc.property(texts, cuttings, (text, cuts) => {
        const sums = counts(',;\t\r\n', CsvMarks, text, cuts);
        const [comma = 0, semicolon = 0, tab = 0, carriageReturn = 0, lineFeed = 0] = sums;
        expect([comma + semicolon + tab, carriageReturn + lineFeed]).toEqual(naive(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it('are at least the cells that are read, less one', () => {
    fc.assert(
      fc.property(texts, cuttings, (text, cuts) => {
        const cells = [...csvRows(text.replace(/^\ufeff/, ''))].flatMap((row) => row.cells).length;
        const sums = counts(',;\t\r\n', CsvMarks, text, cuts);
        expect(sums.reduce((sum, one) => sum + one, 1)).toBeGreaterThanOrEqual(cells);
      }),
      { numRuns: 5_000 },
    );
  });
});

it('a body of no declared format has all marks of any, in texts too (decisions X100)', () => {
  expect(counts('{,<"', AnyMarks, JSON.stringify({ a: TEXT }), [7])).toEqual([2, 2, 1, 6]);
});

it('reads a section of nothing but `>` as fast as a text (decisions X100)', () => {
  const started = performance.now();
  for (const section of ['<!-- ', '<![CDATA[', '<?a ']) {
    const marks = new XmlMarks(new Uint16Array(256));
    marks.write(Buffer.from(`<a>${section}`));
    const chunk = Buffer.from('>'.repeat(65_536));
    for (let count = 0; count < 128; count += 1) marks.write(chunk);
  }
  // 24 MiB: a tenth of a second, but ten seconds when each `>` made a text.
  expect(performance.now() - started).toBeLessThan(5_000);
});
