import fc from 'fast-check';
import { csvCells, CsvCutter, separatorIn } from '../../src/wire/csv/cut';
import { csvLines } from '../../src/wire/csv/rows';
import { anyCharacters } from '../support/any-characters';

interface Cut {
  readonly rows: readonly (readonly [line: number, ...cells: string[]])[];
  readonly oversized: readonly number[];
  readonly malformed: readonly number[];
}

/** Cuts a text that arrives in pieces of this size. */
function cut(text: string | Buffer, size = 3, separator = ',', embrace = '"', maxRow = 1000): Cut {
  const rows: (readonly [number, ...string[]])[] = [];
  const oversized: number[] = [];
  const malformed: number[] = [];
  const cutter = new CsvCutter({
    ...{ separator, embrace, maxRow },
    onRow: (bytes, line) => {
      const found = csvCells(bytes.toString(), { separator, embrace });
      rows.push([line, ...found.cells]);
      if (found.malformed !== undefined) malformed.push(found.malformed);
    },
    onOversized: (line) => oversized.push(line),
  });
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += size) cutter.write(Buffer.from(bytes.subarray(at, at + size)));
  cutter.end();
  return { rows, oversized, malformed };
}

describe('CSV that is cut into rows (decisions P35)', () => {
  it.each([
    [
      'plain cells',
      'a,b\nc,d\n',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'no line end at the end',
      'a,b\nc,d',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'CR LF',
      'a,b\r\nc,d\r\n',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'CR',
      'a,b\rc,d\r',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'empty cells',
      ',\n,b\na,\n',
      [
        [2, '', 'b'],
        [3, 'a', ''],
      ],
    ],
    [
      'empty lines, and rows of empty cells',
      '\n\na,b\n\r\n,,\n"","" \nc',
      [
        [3, 'a', 'b'],
        [7, 'c'],
      ],
    ],
    [
      'embraced cells',
      '"a","b"\n"c","d"',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'separators and line ends in cells',
      '"a,1","b\n2\r\n3\r4"\nc,d',
      [
        [1, 'a,1', 'b\n2\r\n3\r4'],
        [5, 'c', 'd'],
      ],
    ],
    ['doubled quotes', '"a""b","""",""""""\n', [[1, 'a"b', '"', '""']]],
    ['quotes within plain cells', '5" lamp,a"b"c\n', [[1, '5" lamp', 'a"b"c']]],
    ['spaces around', ' a , "b" \n', [[1, ' a ', ' "b" ']]],
    ['NUL', 'a\0,b\n', [[1, 'a\0', 'b']]],
    [
      'other scripts',
      'ä,日本\nשלום,😀\n',
      [
        [1, 'ä', '日本'],
        [2, 'שלום', '😀'],
      ],
    ],
    ['nothing', '', []],
  ])('has %s', (_, text, rows) => {
    for (const size of [1, 2, 3, 5, 1000])
      expect(cut(text, size)).toEqual({ rows, oversized: [], malformed: [] });
  });

  it.each([
    ['a,b\n1,"2\n3,4\n', 'line 2, cell 2: the " before it is not closed'],
    ['"', 'line 1, cell 1: the " before it is not closed'],
    ['a,b\n1,"x\n2,"y",z\n', 'line 2, cell 2: text behind the closing " of a cell that began lines before'],
  ])('is refused as a whole where rows may be hidden in a cell: %j', (text, message) => {
    for (const size of [1, 4, 100]) expect(() => cut(text, size)).toThrow(message);
  });

  it('names the cell of a row of one line that has text behind a closing quote', () => {
    expect(cut('a,b,c\n1,"5" lamp",x\n2,y,z\n')).toEqual({
      rows: [
        [1, 'a', 'b', 'c'],
        [2, '1', '5 lamp"', 'x'],
        [3, '2', 'y', 'z'],
      ].map((row) => (row[0] === 2 ? [2, '1', '5', 'x'] : row)),
      oversized: [],
      malformed: [2],
    });
  });

  it('leaves out rows that are too large, and continues behind them', () => {
    const large = `"${'x\n""'.repeat(1000)}"`;
    expect(cut(`a\n${large}\n${'y'.repeat(1001)}\nb`, 100)).toMatchObject({
      rows: [
        [1, 'a'],
        [1004, 'b'],
      ],
      oversized: [2, 1003],
    });
  });

  it('reads what was written, however it is cut, with any separator and quote', () => {
    const character = fc.constantFrom(',', ';', '\t', '"', "'", '\n', '\r', '\r\n', ' ', 'a', 'ä', '=1');
    const cell = fc.oneof(fc.string({ unit: character, maxLength: 6 }), anyCharacters({ maxLength: 4 }));
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
        fc.constantFrom(',', ';', '\t', '|'),
        fc.constantFrom('"', "'"),
        fc.nat({ max: 9 }),
        (table, separator, embrace, size) => {
          const write = csvLines([separator], embrace);
          const rows = table.filter((cells) =>
            cells.some((one) => /[^ ]/.test(one.replaceAll(embrace, '').replaceAll(separator, ''))),
          );
          const found = cut(rows.map(write).join(''), size + 1, separator, embrace, 100_000);
          expect(found.rows.map(([, ...cells]) => cells)).toEqual(rows);
          expect(found.malformed).toEqual([]);
        },
      ),
    );
  });

  it.each([
    ['a;b,c;d', ';'],
    ['"a,b,c";d;e', ';'],
    ['a\tb', '\t'],
    ['only', ','],
  ])('has the separator of its header: %j', (header, separator) => {
    expect(separatorIn(header, '"')).toBe(separator);
  });
});
