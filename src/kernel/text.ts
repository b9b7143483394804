/**
 * A text of at most `most` characters of UTF-16, cut between characters: half of a surrogate pair cannot be encoded.
 */
export function beginningOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** The same, with an ellipsis for what was cut. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${beginningOf(text, most)}…`;
}

/** Bytes for people: 1,000 are a KB. */
export function sizeText(bytes: number): string {
  const exponent = Math.min(4, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** exponent).toFixed(exponent < 2 ? 0 : 1)} ${['B', 'KB', 'MB', 'GB', 'TB'][exponent] ?? ''}`;
}

/** Lines of a table for people: names of columns, dashes, and rows, with all cells of a column below each other. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = columns.map((name, at) =>
    rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), name.length),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [columns, widths.map((width) => '-'.repeat(width)), ...rows].map(line);
}
