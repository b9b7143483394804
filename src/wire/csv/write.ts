/** Between columns, between values of one cell, inside one such value (`docs/decisions.md#p16`). */
export type CsvSeparators = readonly [column: string, value: string, part: string];

export type CsvCell = string | number | undefined;

/**
 * Returns a function that writes a row as a line with its line end: every cell is embraced, embraces inside are doubled
 * (`docs/decisions.md#x26`). The bytes are those of csv-stringify (`docs/adr/0012-csv-by-ourselves.md`).
 */
export function csvLines(
  [delimiter]: CsvSeparators | readonly [column: string],
  embrace: string,
): (cells: readonly CsvCell[]) => string {
  const doubled = embrace + embrace;
  const between = embrace + delimiter + embrace;
  // As a replacement text, `$` would be special.
  const inside = (cell: CsvCell = ''): string => {
    const text = String(cell);
    return text.includes(embrace) ? text.replaceAll(embrace, () => doubled) : text;
  };
  return (cells) => `${embrace}${cells.map(inside).join(between)}${embrace}\r\n`;
}
