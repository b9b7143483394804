import { type Cursor, type Order } from '../../../kernel/query';
import { SHUFFLE_PRIME, shuffleSummands } from '../../../kernel/shuffle';
import { type Hits } from './hits';
import { column, type Layout } from './layout';
import { isLong, phrase } from './selection';
import { chain, join, raw, type Sql, sql, stoppable } from './sql';

/** A sort key: an expression over `keys k`, and its direction. Missing values come last in either direction. */
export interface SortKey {
  readonly expression: Sql;
  readonly direction: 'ASC NULLS LAST' | 'DESC NULLS LAST';
  /** A table that the expression needs joined to `keys k`: its name, and rows with a column `row`. */
  readonly joined?: { readonly name: string; readonly rows: Sql };
}

/** Translates an order. The names of joined tables start with `prefix`. Raises `UndeclaredField`. */
export function sortKeys(
  order: readonly Order[],
  layout: Layout,
  hits: Hits,
  prefix: string,
): readonly SortKey[] {
  return order.map((key, at): SortKey => {
    const direction = key.descending === true ? 'DESC NULLS LAST' : 'ASC NULLS LAST';
    if (!('matches' in key)) return { expression: expressionOf(key, layout), direction };
    const name = `${prefix}counts${at}`;
    const rows = matchCounts(key.matches, layout.field(key.within, 'words').code, hits);
    return { expression: raw(`coalesce(${name}.n, 0)`), direction, joined: { name, rows } };
  });
}

/** The joined tables of the keys, as further common table expressions. */
export function tablesOf(keys: readonly SortKey[]): Sql {
  const tables = keys.flatMap(({ joined }) =>
    joined === undefined ? [] : sql`, ${raw(joined.name)} AS MATERIALIZED (${joined.rows})`,
  );
  return join(tables, '');
}

/** The joins of these tables to `keys k`. */
export function joinsOf(keys: readonly SortKey[]): Sql {
  const joins = keys.flatMap(({ joined }) =>
    joined === undefined ? [] : ` LEFT JOIN ${joined.name} ON ${joined.name}.row = k.row`,
  );
  return raw(joins.join(''));
}

function expressionOf(key: Exclude<Order, { readonly matches: readonly string[] }>, layout: Layout): Sql {
  if ('field' in key) return raw(`k.${column(layout.field(key.field, 'number', 'text').name)}`);
  return raw(shuffledAs(`k.${column(layout.field(key.shuffled, 'number').name)}`, key.seed));
}

/** The formula of `shuffler` in SQL. */
function shuffledAs(value: string, seed: number): string {
  const [a, b] = shuffleSummands(seed);
  const cube = (x: string) => `((${x}) * (${x}) % ${SHUFFLE_PRIME} * (${x}) % ${SHUFFLE_PRIME})`;
  const first = cube(`(${value} % ${SHUFFLE_PRIME} + ${SHUFFLE_PRIME + a}) % ${SHUFFLE_PRIME}`);
  return cube(`(${first} + ${b}) % ${SHUFFLE_PRIME}`);
}

/** With more words, restricting each word's list to the hits costs more than it saves. */
const MAX_NARROWED = 8;

/**
 * Counts per row how many of the words it has, from the words' lists of rows. (Probing each list for each document
 * would take documents times words steps.)
 */
function matchCounts(words: readonly string[], code: string, { match }: Hits): Sql {
  const distinct = [...new Set(words)];
  const narrowed =
    distinct.length <= MAX_NARROWED && match !== undefined && !isLong(match) ? `${match} AND ` : '';
  const lists = JSON.stringify(distinct.map((word) => `${narrowed}${phrase(code, word)}`));
  return sql`SELECT m.rowid AS row, count(*) AS n FROM json_each(${lists}) w CROSS JOIN ranges q CROSS JOIN tokens m
    WHERE m.tokens MATCH w.value AND m.rowid BETWEEN q.first AND q.last AND ${stoppable('m.rowid')} GROUP BY 1`;
}

/** Select list of the keys, named `<prefix>0`, `<prefix>1`, …, with a trailing comma. */
export function selected(keys: readonly SortKey[], prefix: string): Sql {
  return join(
    keys.map(({ expression }, at) => sql`${expression} AS ${raw(`${prefix}${at}`)}, `),
    '',
  );
}

/** ORDER BY list of the selected keys, with a trailing comma. */
export function sorted(keys: readonly SortKey[], prefix: string): Sql {
  return raw(keys.map(({ direction }, at) => `${prefix}${at} ${direction}, `).join(''));
}

/** The keys, referred to by their selected names. */
export function asSelected(keys: readonly SortKey[], prefix: string): readonly SortKey[] {
  return keys.map(({ direction }, at) => ({ expression: raw(`${prefix}${at}`), direction }));
}

/** Conditions for rows equal to a cursor in all keys, and for rows beyond it. */
export function comparedTo(
  { keys: values }: Cursor,
  keys: readonly SortKey[],
): { readonly equal: Sql; readonly beyond: Sql } {
  const equal: Sql[] = [];
  const beyond: Sql[] = [];
  for (const [at, { expression, direction }] of keys.entries()) {
    const key = values[at] ?? null;
    const value = typeof key === 'string' ? Buffer.from(key) : key;
    if (value !== null) {
      const comparison = raw(direction.startsWith('ASC') ? '>' : '<');
      const further = sql`(${expression} ${comparison} ${value} OR ${expression} IS NULL)`;
      beyond.push(chain([...equal, further], 'AND'));
    }
    equal.push(sql`${expression} IS ${value}`);
  }
  return {
    equal: equal.length === 0 ? raw('true') : chain(equal, 'AND'),
    beyond: beyond.length === 0 ? raw('false') : chain(beyond, 'OR'),
  };
}

/** The condition for rows after a cursor: beyond its keys, or equal and with a greater id. */
export function isAfter(cursor: Cursor, keys: readonly SortKey[], id: Sql): Sql {
  const { equal, beyond } = comparedTo(cursor, keys);
  return sql`(${beyond} OR (${equal} AND ${id} > ${cursor.id}))`;
}
