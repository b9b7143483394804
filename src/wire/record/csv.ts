import { csvRows, isUnclosed, separatorOf } from '../csv/read';
import { NotParsable } from '../not-parsable';
import { type Posted } from '../api/posted';
import { type Field, type RecordKind } from './record';
import { utf8Text } from '../utf8';

/**
 * Posted rows in the shape of JSON, values as text. The first line names the fields, in any order and case. Columns that the
 * table does not name are members by their names. Raises `NotParsable`.
 */
export function postedFromCsv({ fields }: RecordKind, bytes: Buffer): readonly Posted[] {
  const text = utf8Text(bytes).replace(/^\ufeff/, '');
  const separator = separatorOf(text);
  if (isUnclosed(text, separator)) throw new NotParsable('a cell in double quotes is not closed');
  const [header, ...rows] = csvRows(text, separator);
  const columns = columnsOf(fields, header?.cells ?? []);
  return rows.map(({ line, cells }) => {
    if (cells.length !== columns.length)
      throw new NotParsable(
        `line ${line} has ${cells.length} cells: expected ${columns.length}, as in the first line`,
      );
    const values = columns.map(({ name, isText }, at) => {
      const cell = cells[at] ?? '';
      return [name, isText ? cell : cell.trim()] as const;
    });
    return Object.fromEntries(values);
  });
}

interface Column {
  readonly name: string;
  readonly isText: boolean;
}

function columnsOf(fields: RecordKind['fields'], cells: readonly string[]): readonly Column[] {
  const known = new Map(Object.keys(fields).map((name) => [name.toLowerCase(), name]));
  const names = cells.map((cell) => known.get(cell.trim().toLowerCase()) ?? cell.trim());
  if (!names.some((name) => Object.hasOwn(fields, name)))
    throw new NotParsable(`expected the names of fields in the first line: ${[...known.values()].join(',')}`);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name))
      throw new NotParsable(`the first line has the column ${name.slice(0, 100)} more than once`);
    seen.add(name);
  }
  return names.map((name) => ({ name, isText: Object.hasOwn(fields, name) && isText(fields[name]) }));
}

function isText(field: Field | undefined): boolean {
  return field?.kind.is === 'scalar' && field.kind.posted.isText === true;
}
