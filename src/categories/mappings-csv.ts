import { csvRows } from '../wire/csv-read';
import { type MappingLine } from './change-mappings';

/** Lines of an import. */
const MOST_LINES = 200_000;

const COLUMNS = ['feedId', 'name', 'categoryId'] as const;

/** A CSV text that cannot be taken at all. */
export class UnusableCsv extends Error {
  override readonly name = 'UnusableCsv';
}

/**
 * The lines of a CSV text with the columns `feedId`, `name` and `categoryId` in its first line, in any order, among others.
 * Without a category a name is unmapped. Raises `UnusableCsv`.
 */
export function mappingLines(text: string): readonly MappingLine[] {
  const [header, ...rows] = [...csvRows(text.replace(/^\ufeff/, ''))];
  const names = header?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const [feedAt, nameAt, categoryAt] = COLUMNS.map((column) => names.indexOf(column.toLowerCase()));
  if (feedAt === undefined || nameAt === undefined || categoryAt === undefined) return [];
  if (Math.min(feedAt, nameAt, categoryAt) < 0)
    throw new UnusableCsv(`the first line must name the columns ${COLUMNS.join(', ')}`);
  if (rows.length > MOST_LINES) throw new UnusableCsv(`${rows.length} lines: expected at most ${MOST_LINES}`);
  return rows.map(({ line, cells }) => {
    if (cells.length !== names.length)
      return { line, change: { problem: `${cells.length} columns, the first line has ${names.length}` } };
    const feed = cells[feedAt]?.trim() ?? '';
    const categoryId = cells[categoryAt]?.trim() ?? '';
    if (!/^\d{1,15}$/.test(feed)) return { line, change: { problem: `feedId=${feed}: expected an integer` } };
    const change = { feedId: Number(feed), name: cells[nameAt] ?? '' };
    return { line, change: categoryId === '' ? change : { ...change, categoryId } };
  });
}
