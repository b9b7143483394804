import { stringify } from 'csv-stringify/sync';

/** Between columns, between values of one cell, inside one such value (`docs/decisions.md#p16`). */
export type CsvSeparators = readonly [column: string, value: string, part: string];

export type CsvCell = string | number | undefined;

/** Gives the line of a row, its end included: every cell embraced, the embrace doubled inside (`docs/decisions.md#x26`). */
export function csvLines(
  [delimiter]: CsvSeparators | readonly [column: string],
  embrace: string,
): (cells: readonly CsvCell[]) => string {
  const options = {
    delimiter,
    quote: embrace,
    escape: embrace,
    quoted: true,
    quoted_empty: true,
    record_delimiter: '\r\n',
  };
  return (cells) => stringify([cells], options);
}
