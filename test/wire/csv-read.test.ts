import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { csvLines, csvRows } from '../../src/wire/csv/rows';

describe('CSV that is read', () => {
  it('gives the rows that were written, and what another parser reads', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', ';', '"', '\n', '\r\n', ' ', 'ä') });
    const row = fc.tuple(fc.constant('id'), cell, cell);
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), (rows) => {
        const write = csvLines([','], '"');
        const text = ['x,y,z\r\n', ...rows.map(write)].join('');
        const read = [...csvRows(text)].map(({ cells }) => cells);
        expect(read).toEqual([['x', 'y', 'z'], ...rows]);
        expect(read).toEqual(parse(text));
      }),
    );
  });

  it.each([
    [
      '"a"b,c\n1,2',
      [
        { line: 1, cells: ['ab', 'c'] },
        { line: 2, cells: ['1', '2'] },
      ],
    ],
    ['a"b,c', [{ line: 1, cells: ['a"b', 'c'] }]],
    ['a,"b\n1,2', [{ line: 1, cells: ['a', 'b\n1,2'] }]],
  ])('takes quotes where no writer puts them for what they are: %j', (text, rows) => {
    expect([...csvRows(text)]).toEqual(rows);
  });

  it('reads a cell of a million quotes', () => {
    const [row] = csvRows(`"${'"'.repeat(1_000_000)}"`);
    expect(row?.cells).toEqual(['"'.repeat(500_000)]);
  });

  it('knows the line that a row begins in, and the separator', () => {
    expect([...csvRows('a;b\n\n"1\n2";"3;4"\n5;')]).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 3, cells: ['1\n2', '3;4'] },
      { line: 5, cells: ['5', ''] },
    ]);
    expect([...csvRows('')]).toEqual([]);
  });
});
