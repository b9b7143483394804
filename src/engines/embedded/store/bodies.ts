import { type Found } from '../../../kernel/query';
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

/** Bodies read at once: one by one takes longer. */
const AT_ONCE = 100;

/** The bodies of these rows, in order, until they have about so many characters: one at least. */
export function bodiesOf(
  file: StoreFile,
  rows: readonly (SqlValue | undefined)[],
  limit = Infinity,
): readonly string[] {
  const query = 'SELECT body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value';
  const bodies: string[] = [];
  let characters = 0;
  for (let from = 0; from < rows.length && characters < limit; from += AT_ONCE) {
    for (const [body] of file.all(query, JSON.stringify(rows.slice(from, from + AT_ONCE)))) {
      if (characters >= limit) break;
      const text = String(body);
      bodies.push(text);
      characters += text.length;
    }
  }
  return bodies;
}
