import { type Found } from '../../../kernel/query';
import { DamagedIndex } from '../search/storage';
import { type GenerationFile } from './generation-file';
import { type SqlRow, type SqlValue, type StoreFile } from './store-file';

/** An expression for a version in the format of the port. */
export const VERSION = `format('%019d', version)`;

/** Makes a document of a row of id, version and body. */
export function documentOf([id, version, body]: SqlRow): Found {
  return { id: String(id), version: String(version), body: String(body) };
}

/** Makes a document of a row that starts with id and version. */
export function foundOf(row: SqlRow | undefined, body: string): Found[] {
  return row === undefined ? [] : [documentOf([row[0] ?? null, row[1] ?? null, body])];
}

/** Bodies per query. */
const BATCH_SIZE = 100;

/** The existing documents with these ids; with a limit of characters, the first ones. */
export function get({ file }: GenerationFile, ids: readonly string[], bodyLimit?: number): readonly Found[] {
  const query = `SELECT k.id, ${VERSION}, k.row FROM json_each(?) j CROSS JOIN keys k ON k.id = j.value`;
  return file.reading(() => {
    const rows = file.all(query, JSON.stringify([...new Set(ids)]));
    const bodies = bodiesOf(
      file,
      rows.map(([, , row]) => row),
      bodyLimit,
    );
    return bodies.flatMap((body, at) => foundOf(rows[at], body));
  });
}

/** The versions of the removals of these ids that are remembered. */
export function removalsOf(file: StoreFile, ids: readonly string[]): ReadonlyMap<string, string> {
  // Most generations have none.
  if (file.first('SELECT 1 FROM removed LIMIT 1') === undefined) return new Map();
  const query = `SELECT r.id, ${VERSION} FROM json_each(?) CROSS JOIN removed r ON r.id = value`;
  return new Map(file.all(query, JSON.stringify(ids)) as readonly [string, string][]);
}

/** Id and version of each of these rows, in order. Raises `DamagedIndex` if one does not exist: the index named it. */
export function keysOf(file: StoreFile, rows: readonly number[]): readonly SqlRow[] {
  if (rows.length === 0) return [];
  const query = `SELECT k.id, ${VERSION} FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value`;
  const keys = file.all(query, JSON.stringify(rows));
  if (keys.length !== rows.length)
    throw new DamagedIndex(`${rows.length - keys.length} documents of the search index do not exist`);
  return keys;
}

/** The bodies of these rows, in order, up to about `limit` characters, but at least one. */
export function bodiesOf(
  file: StoreFile,
  rows: readonly (SqlValue | undefined)[],
  limit = Infinity,
): readonly string[] {
  const query = 'SELECT body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value';
  const bodies: string[] = [];
  let characters = 0;
  for (let from = 0; from < rows.length && characters < limit; from += BATCH_SIZE) {
    for (const [body] of file.all(query, JSON.stringify(rows.slice(from, from + BATCH_SIZE)))) {
      if (characters >= limit) break;
      const text = String(body);
      bodies.push(text);
      characters += text.length;
    }
  }
  return bodies;
}
