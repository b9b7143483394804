import { type Order, type Cursor } from '../../../kernel/query';
import { SHUFFLE_PRIME, shuffleSummands } from '../../../kernel/shuffle';
import { type Hits } from './hits';
import { column, type Layout } from './layout';
import { stoppable } from './stoppable';
import { isLong, phrase } from './selection';
import { chain, join, raw, type Sql, sql } from './sql';

/** A sort key: an expression over `keys k`, and its direction; no value comes last either way. */
export interface SortKey {
  readonly expression: Sql;
  readonly direction: 'ASC NULLS LAST' | 'DESC NULLS LAST';
  /** What the expression needs to be joined to `keys k`: a table of this name, with a column `row`. */
  readonly joined?: { readonly name: string; readonly rows: Sql };
}

/** Reads an order. Tables that it joins have names with this prefix. Raises `UndeclaredField`. */
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

/** The tables that keys need, as common table expressions after another one. */
export function tablesOf(keys: readonly SortKey[]): Sql {
  const tables = keys.flatMap(({ joined }) =>
    joined === undefined ? [] : sql`, ${raw(joined.name)} AS MATERIALIZED (${joined.rows})`,
  );
  return join(tables, '');
}

/** Joins them to `keys k`. */
export function joinsOf(keys: readonly SortKey[]): Sql {
  const joins = keys.flatMap(({ joined }) =>
    joined === undefined ? [] : ` LEFT JOIN ${joined.name} ON ${joined.name}.row = k.row`,
  );
  return raw(joins.join(''));
}

function expressionOf(key: Exclude<Order, { readonly matches: readonly string[] }>, layout: Layout): Sql {
  const value = `k.${column(layout.field('field' in key ? key.field : key.shuffled, 'number').name)}`;
  return raw('field' in key ? value : shuffledAs(value, key.seed));
}

/** As `shuffler` in `kernel/shuffle.ts`. */
function shuffledAs(value: string, seed: number): string {
  const [a, b] = shuffleSummands(seed);
  const cube = (x: string) => `((${x}) * (${x}) % ${SHUFFLE_PRIME} * (${x}) % ${SHUFFLE_PRIME})`;
  const first = cube(`(${value} % ${SHUFFLE_PRIME} + ${SHUFFLE_PRIME + a}) % ${SHUFFLE_PRIME}`);
  return cube(`(${first} + ${b}) % ${SHUFFLE_PRIME}`);
}

/** With more words than this, looking for each among the hits only costs more than it saves. */
const FEW = 8;

/**
 * Rows and how many of the words each has: the lists of all words, counted by row. (To look each document up in each
 * list takes as many steps as there are documents times words.)
 */
function matchCounts(words: readonly string[], code: string, { match }: Hits): Sql {
  const distinct = [...new Set(words)];
  const narrowed = distinct.length <= FEW && match !== undefined && !isLong(match) ? `${match} AND ` : '';
  const lists = JSON.stringify(distinct.map((word) => `${narrowed}${phrase(code, word)}`));
  return sql`SELECT m.rowid AS row, count(*) AS n FROM json_each(${lists}) w CROSS JOIN ranges q CROSS JOIN tokens m
    WHERE m.tokens MATCH w.value AND m.rowid BETWEEN q.first AND q.last AND ${stoppable('m.rowid')} GROUP BY 1`;
}

/** The keys to be selected, named `<prefix>0`, `<prefix>1`, …: `…, `. */
export function selected(keys: readonly SortKey[], prefix: string): Sql {
  return join(
    keys.map(({ expression }, at) => sql`${expression} AS ${raw(`${prefix}${at}`)}, `),
    '',
  );
}

/** The keys to be sorted by, as they were selected: `…, `. */
export function sorted(keys: readonly SortKey[], prefix: string): Sql {
  return raw(keys.map(({ direction }, at) => `${prefix}${at} ${direction}, `).join(''));
}

/** The keys as they were selected. */
export function asSelected(keys: readonly SortKey[], prefix: string): readonly SortKey[] {
  return keys.map(({ direction }, at) => ({ expression: raw(`${prefix}${at}`), direction }));
}

/** What stands level with the keys of a standing, and what they stand before. */
export function comparedTo(
  { keys: values }: Cursor,
  keys: readonly SortKey[],
): { readonly level: Sql; readonly beyond: Sql } {
  const level: Sql[] = [];
  const beyond: Sql[] = [];
  for (const [at, { expression, direction }] of keys.entries()) {
    const value = values[at] ?? null;
    if (value !== null) {
      const comparison = raw(direction.startsWith('ASC') ? '>' : '<');
      const further = sql`(${expression} ${comparison} ${value} OR ${expression} IS NULL)`;
      beyond.push(chain([...level, further], 'AND'));
    }
    level.push(sql`${expression} IS ${value}`);
  }
  return {
    level: level.length === 0 ? raw('true') : chain(level, 'AND'),
    beyond: beyond.length === 0 ? raw('false') : chain(beyond, 'OR'),
  };
}

/** What comes after a standing: beyond its keys, or level with them and of a greater id. */
export function comingAfter(standing: Cursor, keys: readonly SortKey[], id: Sql): Sql {
  const { level, beyond } = comparedTo(standing, keys);
  return sql`(${beyond} OR (${level} AND ${id} > ${standing.id}))`;
}
