/** Between columns, between values of one cell, inside one such value (`docs/decisions.md#p16`). */
export type CsvSeparators = readonly [column: string, value: string, part: string];

export type CsvCell = string | number | undefined;

/**
 * Gives the line of a row, its end included: every cell embraced, the embrace doubled inside (`docs/decisions.md#x26`).
 * The bytes are those of csv-stringify (`docs/adr/0012-csv-by-ourselves.md`).
 */
export function csvLines(
  [delimiter]: CsvSeparators | readonly [column: string],
  embrace: string,
): (cells: readonly CsvCell[]) => string {
  const doubled = embrace + embrace;
  const between = embrace + delimiter + embrace;
  // Given as text, an embrace of `$` would be a pattern.
  const inside = (cell: CsvCell = ''): string => {
    const text = String(cell);
    return text.includes(embrace) ? text.replaceAll(embrace, () => doubled) : text;
  };
  return (cells) => `${embrace}${cells.map(inside).join(between)}${embrace}\r\n`;
}
