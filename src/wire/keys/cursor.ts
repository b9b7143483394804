import { hash } from 'node:crypto';
import { type Fault } from '../../kernel/fault';
import { type Cursor } from '../../kernel/query';

/** What begins a list that is paged through by cursor. */
const FIRST = '*';

/** In characters: far more than any cursor that is issued. */
const LONGEST = 1_000;

type WithCursor = Readonly<Record<string, unknown>> & { readonly cursor: string | undefined };

/** The cursors of one operation's lists, by its keys. */
export interface CursorRules<Keys extends WithCursor> {
  /** Keys that do not change the results or their order: page size and presentation. */
  readonly presentation: readonly (keyof Keys & string)[];
  /** Keys that cannot be combined with a cursor. */
  readonly excluded: readonly (keyof Keys & string)[];
  readonly refuse: (message: string) => Fault;
}

/** Reads and writes the values of a `cursor` key. A cursor belongs to the search that it was made for. */
export class ListCursors<Keys extends WithCursor> {
  private readonly presentation: ReadonlySet<string>;

  constructor(private readonly rules: CursorRules<Keys>) {
    this.presentation = new Set<string>(['cursor', ...rules.presentation]);
  }

  /**
   * The result after which the requested page begins, null for the first page; undefined without a cursor key. Raises the
   * service's fault for a malformed cursor, and for one of another search.
   */
  read(keys: Keys): Cursor | null | undefined {
    const { cursor } = keys;
    const { excluded, refuse } = this.rules;
    if (cursor === undefined) return undefined;
    for (const name of excluded) {
      const value = keys[name];
      if (value !== undefined && value !== false)
        throw refuse(`${name}=${String(value)}: cannot be combined with cursor`);
    }
    if (cursor === FIRST) return null;
    const shown = cursor.slice(0, 100);
    const found = cursor.length > LONGEST ? undefined : parse(cursor);
    if (found === undefined)
      throw refuse(`cursor=${shown}: expected * and the nextCursor of the page before`);
    if (found.search !== this.searchOf(keys))
      throw refuse(
        `cursor=${shown}: it was made for a search with other keys or in another order; expected * and the nextCursor of the page before`,
      );
    return found.after;
  }

  /** The cursor of the page that begins after a result. */
  write(keys: Keys, { id, keys: values }: Cursor): string {
    return Buffer.from(JSON.stringify([this.searchOf(keys), id, ...values])).toString('base64url');
  }

  /** Identifies a search: all keys that determine its results and their order. */
  private searchOf(keys: Keys): string {
    const chosen = Object.entries(keys).filter(
      ([name, value]) => !this.presentation.has(name) && value !== undefined,
    );
    return hash('sha256', JSON.stringify(chosen.sort(([a], [b]) => (a < b ? -1 : 1)))).slice(0, 22);
  }
}

function parse(cursor: string): { readonly search: string; readonly after: Cursor } | undefined {
  const [search, id, ...keys] = listIn(Buffer.from(cursor, 'base64url').toString());
  if (typeof search !== 'string' || typeof id !== 'string' || !keys.every(isKey)) return undefined;
  return { search, after: { id, keys } };
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
