import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { csvLines } from '../../src/wire/csv/rows';
import { anyCharacters } from '../support/any-characters';

/** Characters of the BMP (decisions X26), those that mean something to patterns and replacements among them. */
const sign = fc.oneof(
  fc.constantFrom(',', ';', '"', '\t', ' ', '$', '&', '\\', '.', '*', '`', 'ä', '€'),
  anyCharacters({ minLength: 1, maxLength: 1 }).filter((text) => /^[^\r\n]$/.test(text)),
);

const text = (signs: readonly string[]) =>
  fc.string({
    unit: fc.oneof(fc.constantFrom(...signs, '\r', '\n', '1', '😀'), fc.string({ maxLength: 3 })),
  });

describe('a line of CSV (decisions P16, X26)', () => {
  it('keeps texts that a spreadsheet would run as formulas as they were posted (decisions X74)', () => {
    const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '=HYPERLINK("https://x.example")'];
    expect(csvLines([';'], "'")(cells)).toBe(`${cells.map((cell) => `'${cell}'`).join(';')}\r\n`);
  });

  it('has the bytes that csv-stringify writes, whatever the cells, the separator and the embrace', () => {
    const styled = fc.uniqueArray(sign, { minLength: 2, maxLength: 2 }).chain((signs) =>
      fc.tuple(
        fc.constant(signs),
        fc.array(
          fc.option(fc.oneof(text(signs), fc.integer(), fc.double({ noNaN: true })), { nil: undefined }),
          {
            minLength: 1,
          },
        ),
      ),
    );
    fc.assert(
      fc.property(styled, ([[delimiter = '', quote = ''], cells]) => {
        const expected = stringify([cells], {
          delimiter,
          quote,
          escape: quote,
          quoted: true,
          quoted_empty: true,
          record_delimiter: '\r\n',
        });
        expect(csvLines([delimiter], quote)(cells)).toBe(expected);
      }),
    );
  });
});
