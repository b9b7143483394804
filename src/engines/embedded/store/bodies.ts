import { type Found } from '../../../kernel/read-store';
import { type SqlRow, type SqlValue, type StoreFile } from './store-file';

/** A version as it is written outside. */
export const VERSION = `format('%019d', version)`;

/** A document from a row of id, version and body. */
export function documentOf([id, version, body]: SqlRow): Found {
  return { id: String(id), version: String(version), body: String(body) };
}

/** A document from a row that begins with its id and its version. */
export function foundOf(row: SqlRow | undefined, body: string): Found[] {
  return row === undefined ? [] : [documentOf([row[0] ?? null, row[1] ?? null, body])];
}

/** The bodies of these rows, in order, until they have so many characters: one at least. */
export function bodiesOf(
  file: StoreFile,
  rows: readonly (SqlValue | undefined)[],
  limit = Infinity,
): readonly string[] {
  const query = 'SELECT body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value';
  const bodies: string[] = [];
  let characters = 0;
  for (const [body] of file.each(query, JSON.stringify(rows))) {
    const text = String(body);
    bodies.push(text);
    characters += text.length;
    if (characters >= limit) break;
  }
  return bodies;
}
