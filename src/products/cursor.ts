import { hash } from 'node:crypto';
import { type Cursor } from '../kernel/query';
import { csvKeys } from './csv-keys';
import { productFaults as fault } from './faults';
import { type SearchKeys } from './search-keys';

/** What begins a search that is gone through by cursor. */
const FIRST = '*';

/** In characters: far more than any cursor that is issued. */
const LONGEST = 1_000;

/** Keys that a cursor does not depend on: page size and presentation. */
const SHOWING: ReadonlySet<string> = new Set([
  ...Object.keys(csvKeys),
  'cursor',
  'pageSize',
  'sourceproducturl',
  'priceHistory',
  'dateOutputFormat',
]);

/** With a cursor these mean nothing (`docs/decisions.md#x53`). */
const EXCLUDED = ['page', 'limit', 'csvFlattenFields'] as const satisfies readonly (keyof SearchKeys)[];

/**
 * The result after which the requested page begins, null for the first page; undefined without a cursor key.
 * Raises `PF_430` for a malformed cursor, and for one of another search.
 */
export function cursorOf(keys: SearchKeys): Cursor | null | undefined {
  const { cursor } = keys;
  if (cursor === undefined) return undefined;
  for (const name of EXCLUDED) {
    const value = keys[name];
    if (value !== undefined && value !== false)
      throw fault.illegalValue(`${name}=${value}: cannot be combined with cursor`);
  }
  if (cursor === FIRST) return null;
  const read = cursor.length > LONGEST ? undefined : readCursor(cursor);
  if (read === undefined)
    throw fault.illegalValue(
      `cursor=${cursor.slice(0, 100)}: expected * and the nextCursor of the page before`,
    );
  if (read.search !== searchOf(keys))
    throw fault.illegalValue(
      `cursor=${cursor.slice(0, 100)}: it was made for a search with other keys or in another order; expected * and the nextCursor of the page before`,
    );
  return read.standing;
}

/** The cursor of the page that begins after a result. */
export function toCursor(keys: SearchKeys, { id, keys: values }: Cursor): string {
  return Buffer.from(JSON.stringify([searchOf(keys), id, ...values])).toString('base64url');
}

function readCursor(cursor: string): { readonly search: string; readonly standing: Cursor } | undefined {
  const [search, id, ...keys] = listIn(Buffer.from(cursor, 'base64url').toString());
  if (typeof search !== 'string' || typeof id !== 'string' || !keys.every(isKey)) return undefined;
  return { search, standing: { id, keys } };
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function isKey(value: unknown): value is number | null {
  return value === null || Number.isSafeInteger(value);
}

/** Identifies a search: all keys that determine its results and their order. */
function searchOf(keys: SearchKeys): string {
  const chosen = Object.entries(keys).filter(([name, value]) => !SHOWING.has(name) && value !== undefined);
  return hash('sha256', JSON.stringify(chosen.sort(([a], [b]) => (a < b ? -1 : 1)))).slice(0, 22);
}
