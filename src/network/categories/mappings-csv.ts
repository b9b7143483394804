import { type CsvRow, csvRows } from '../../wire/csv/read';
import { type MappingLine } from './change-mappings';

/** Maximum lines of an import. */
export const MAX_LINES = 200_000;

const COLUMNS = ['feedId', 'name', 'categoryId'] as const;

/** The CSV text cannot be used at all; no line has been read. */
export class UnusableCsv extends Error {
  override readonly name = 'UnusableCsv';
}

/**
 * The lines of a CSV text. Its first line must name the columns `feedId`, `name` and `categoryId`, in any order; other
 * columns are ignored. An empty `categoryId` unmaps the name. Raises `UnusableCsv`.
 */
export function mappingLines(text: string): readonly MappingLine[] {
  return mappingLinesOf([...csvRows(text.replace(/^\ufeff/, ''))]);
}

/** The same of the rows of a text. */
export function mappingLinesOf([header, ...rows]: readonly CsvRow[]): readonly MappingLine[] {
  const names = header?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const [feedAt, nameAt, categoryAt] = COLUMNS.map((column) => names.indexOf(column.toLowerCase()));
  if (feedAt === undefined || nameAt === undefined || categoryAt === undefined) return [];
  if (Math.min(feedAt, nameAt, categoryAt) < 0)
    throw new UnusableCsv(`expected the columns ${COLUMNS.join(', ')} in the first line`);
  if (rows.length > MAX_LINES) throw new UnusableCsv(`${rows.length} lines: expected at most ${MAX_LINES}`);
  return rows.map(({ line, cells }) => {
    if (cells.length !== names.length)
      return {
        line,
        change: { problem: `${cells.length} columns: expected ${names.length}, as in the first line` },
      };
    const feed = cells[feedAt]?.trim() ?? '';
    const categoryId = cells[categoryAt]?.trim() ?? '';
    if (!/^\d{1,15}$/.test(feed)) return { line, change: { problem: `feedId=${feed}: expected an integer` } };
    const change = { feedId: Number(feed), name: cells[nameAt] ?? '' };
    return { line, change: categoryId === '' ? change : { ...change, categoryId } };
  });
}
