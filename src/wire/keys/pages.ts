import { hash } from 'node:crypto';
import { parsePosition, type Position } from '../../kernel/event';
import { type MakeFault } from '../../kernel/fault';
import { type Cursor } from '../../kernel/query';
import { INTEGER, type KeySpec, type KeyType, TEXT } from './keys';

/** Items on a page: at most, and in most lists by default (`docs/decisions.md#p3`, `#v16`, `#t6`, `#c8`, `#n14`). */
export const PAGE_CAP = 1000;

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
  readonly refuse: MakeFault;
}

/** How a list is answered, for its headers. */
export interface AnsweredPage {
  /** The size that the request asked for, if it did. */
  readonly requested?: number | undefined;
  /** The size of the page; by default the cap. */
  readonly applied?: number;
  readonly total?: number;
  readonly nextCursor?: string | undefined;
}

/** Keys as OpenAPI describes them. */
export const PAGE_KEY = { type: INTEGER, description: 'Page, from 0' } as const satisfies KeySpec<number>;

export const CURSOR_KEY = {
  type: TEXT,
  description: 'Pages in any number: *, then the X-Next-Cursor of the last answer',
} as const satisfies KeySpec<string>;

/** The key of the size of pages: of how many of what, and what applies without it. */
export function sizeKey(counted: string, byDefault = `${PAGE_CAP} by default`) {
  return {
    type: INTEGER,
    description: `${counted}, at most ${PAGE_CAP}; ${byDefault}`,
  } as const satisfies KeySpec<number>;
}

/** The headers of a list that is paged through by cursor, as they are described. */
export const PAGE_HEADERS = {
  'X-Total-Count': 'The number of all that match',
  'X-Next-Cursor': 'Value of cursor for the next page',
  'X-Page-Size': `The size of the page, if the request asked for more than ${PAGE_CAP}`,
} as const;

/** The headers of a page: `X-Page-Size` if the request asked for larger pages than there are. */
export function pageHeaders({
  requested = 0,
  applied = PAGE_CAP,
  total,
  nextCursor,
}: AnsweredPage): Readonly<Record<string, string>> {
  return {
    ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
    ...(requested > applied ? { 'X-Page-Size': String(applied) } : {}),
    ...(nextCursor === undefined ? {} : { 'X-Next-Cursor': nextCursor }),
  };
}

/** The page that the keys ask for: its size, and the number of items before it. Raises the fault of a bad key. */
export function pageOf(
  { pageSize, page = 0 }: { readonly pageSize: number | undefined; readonly page: number | undefined },
  refuse: MakeFault,
): { readonly size: number; readonly offset: number } {
  const size = sizeOf('pageSize', pageSize, refuse);
  return { size, offset: atLeast(0, 'page', page, refuse) * size };
}

/** The size of pages by its key, at most the cap. Raises the fault for less than 1. */
export function sizeOf(
  key: 'pageSize' | 'limit',
  requested: number | undefined,
  refuse: MakeFault,
  byDefault = PAGE_CAP,
): number {
  return Math.min(PAGE_CAP, atLeast(1, key, requested ?? byDefault, refuse));
}

/** The value of a key. Raises the fault if it is smaller. */
export function atLeast<Value extends number | undefined>(
  least: number,
  key: string,
  value: Value,
  refuse: MakeFault,
): Value {
  if (value === undefined || value >= least) return value;
  throw refuse(`${key}=${value}: expected an integer of at least ${least}`);
}

/** Reads and writes the values of a `cursor` key. A cursor belongs to the search that it was made for. */
export class ListCursors<Keys extends WithCursor> {
  private readonly presentation: ReadonlySet<string>;

  constructor(private readonly rules: CursorRules<Keys>) {
    this.presentation = new Set<string>(['cursor', ...rules.presentation]);
  }

  /**
   * The result after which the requested page begins, null for the first page; undefined without a cursor key. Raises
   * the service's fault for a malformed cursor, and for one of another search.
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
        `cursor=${shown}: it was made for a search with other keys or in another order; expected * and the ` +
          'nextCursor of the page before',
      );
    return found.after;
  }

  /** The cursor of the page after one that was found; undefined without a cursor key, and for the last page. */
  next(keys: Keys, { next }: { readonly next?: Cursor }): string | undefined {
    return next && this.write(keys, next);
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

/** Where a copy of a list stands: it has what had happened up to a log position and up to a time (epoch ms). */
export interface Following {
  readonly position: Position;
  readonly time: number;
  /** While what it lacks is read in parts: up to where, and after which position the next part begins. */
  readonly part?: { readonly until: Position; readonly time: number; readonly after: Position };
}

/** A value of `since`: undefined for everything. `facts`: a digest of what else the copy depends on. */
interface ListSince {
  readonly following: Following | undefined;
  readonly facts: string;
}

const NEXT_SINCE = /^p(\d+)t(\d{1,15})(?:u(\d+)t(\d{1,15})a(\d+))?-([\da-f]{12})$/;

/** Of lists whose copies are followed, removals included (`docs/decisions.md#x135`). */
export const SINCE_KEY = {
  type: {
    expected: '*, or the X-Next-Since of an answer to since',
    problem: 'unusable',
    read(text) {
      if (text.trim() === '*') return { following: undefined, facts: '' };
      const [, sent, time, sentUntil, then, sentAfter, facts] = NEXT_SINCE.exec(text.trim()) ?? [];
      const [position, until, after] = [sent, sentUntil, sentAfter].map((one) => parsePosition(one ?? ''));
      if (position === undefined || facts === undefined) return undefined;
      if (sentUntil !== undefined && (until === undefined || after === undefined)) return undefined;
      const part =
        until === undefined || after === undefined ? {} : { part: { until, time: Number(then), after } };
      return { following: { position, time: Number(time), ...part }, facts };
    },
  } satisfies KeyType<ListSince>,
  description: 'Only what has changed since: *, then the X-Next-Since of the last answer',
} as const satisfies KeySpec<ListSince>;

/** The headers of an answer to `since`, as they are described. */
export const SINCE_HEADERS = {
  'X-Next-Since': 'With since: its next value',
  'X-Has-More': 'With since: `true` if there is more to be had at once, by X-Next-Since',
  'X-Removed': 'With since: ids of those that a copy must remove, separated by commas',
  'X-Since-Reset': 'With since: `true` if this begins everything anew, so that a copy must be emptied first',
} as const;

export function sinceHeaders(
  {
    next,
    removed,
    isReset,
  }: { readonly next: Following; readonly removed: readonly string[]; readonly isReset: boolean },
  facts: string,
): Readonly<Record<string, string>> {
  const { position, time, part } = next;
  const parts = part === undefined ? '' : `u${part.until}t${part.time}a${part.after}`;
  return {
    'X-Next-Since': `p${position}t${time}${parts}-${facts}`,
    ...(part === undefined ? {} : { 'X-Has-More': 'true' }),
    ...(removed.length === 0 ? {} : { 'X-Removed': removed.join(',') }),
    ...(isReset ? { 'X-Since-Reset': 'true' } : {}),
  };
}

/** What else a copy depends on: the same for the same. */
export function factsOf(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, 12);
}
