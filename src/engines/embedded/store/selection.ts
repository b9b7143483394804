import { type Filter } from '../../../kernel/query';
import { column, type Layout } from './layout';
import { stoppable } from './stoppable';
import { chain, raw, type Sql, sql } from './sql';
import { encode } from './tokens';

/** What documents must meet; without parts everything does. `match` is asked of the index of tokens, `where` of `keys k`. */
interface Condition {
  readonly match?: string;
  readonly where?: Sql;
}

/** Bounds of an indexed sort field that all documents must be within. */
interface Bound {
  readonly field: string;
  readonly where: Sql;
}

/** A filter, cut into what each part of the file is asked. */
export interface Selection extends Condition {
  /** Partition values that the filter is confined to; absent for all. */
  readonly partitions?: ReadonlySet<number>;
  readonly bound?: Bound;
}

/** Reads a filter; undefined when nothing can match it. Raises `UndeclaredField`. */
export function selectionOf(filter: Filter, layout: Layout): Selection | undefined {
  let partitions: ReadonlySet<number> | undefined;
  let bound: Bound | undefined;
  const others: (Condition | undefined)[] = [];
  for (const part of conjuncts(filter)) {
    if ('in' in part && part.field === layout.partition) {
      const earlier = partitions;
      const values = part.in.filter((value) => typeof value === 'number');
      partitions = new Set(earlier === undefined ? values : values.filter((value) => earlier.has(value)));
      continue;
    }
    const condition = conditionOf(part, layout);
    if (
      'field' in part &&
      !('in' in part) &&
      layout.sorts.includes(part.field) &&
      condition?.where !== undefined
    )
      bound ??= { field: part.field, where: condition.where };
    others.push(condition);
  }
  const condition = both(others);
  if (condition === undefined || partitions?.size === 0) return undefined;
  return {
    ...condition,
    ...(partitions === undefined ? {} : { partitions }),
    ...(bound === undefined ? {} : { bound }),
  };
}

/** The token of a value, as the index is asked for it. */
export function phrase(code: string, value: string): string {
  return `"${code}${encode(value)}"`;
}

function conjuncts(filter: Filter): readonly Filter[] {
  if ('all' in filter) return filter.all.flatMap(conjuncts);
  if ('any' in filter && filter.any.length === 1) return filter.any.flatMap(conjuncts);
  return [filter];
}

function conditionOf(filter: Filter, layout: Layout): Condition | undefined {
  if ('all' in filter) return both(filter.all.map((part) => conditionOf(part, layout)));
  if ('any' in filter) return either(filter.any.map((part) => conditionOf(part, layout)));
  if ('words' in filter) {
    const codes = filter.within.map((name) => layout.field(name, 'words').code);
    return both(filter.words.map((word) => found(codes.map((code) => phrase(code, word)))));
  }
  if ('in' in filter) {
    const { type, code } = layout.field(filter.field, 'number', 'keyword', 'column');
    const values = new Set(filter.in.filter((value) => (typeof value === 'number') === (type === 'number')));
    if (type === 'number' && filter.field !== layout.partition)
      return amongNumbers(filter.field, [...values]);
    return found([...values].map((value) => phrase(code, String(value))));
  }
  const name = raw(`k.${column(layout.field(filter.field, 'number').name)}`);
  const bounds = [
    sql`${name} IS NOT NULL`,
    ...(filter.min === undefined ? [] : [sql`${name} >= ${filter.min}`]),
    ...(filter.max === undefined ? [] : [sql`${name} <= ${filter.max}`]),
  ];
  return { where: chain(bounds, 'AND') };
}

function amongNumbers(field: string, numbers: readonly (string | number)[]): Condition | undefined {
  const name = raw(`k.${column(field)}`);
  const [first, ...others] = numbers;
  if (first === undefined) return undefined;
  if (others.length === 0) return { where: sql`${name} = ${first}` };
  return { where: sql`${name} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))` };
}

function found(phrases: readonly string[]): Condition | undefined {
  return phrases.length === 0 ? undefined : { match: anyOf(phrases) };
}

/** A list longer than this is cut. */
const LONG = 16;

/**
 * One of these expressions. The index steps through all members of an OR for each document, and it flattens
 * what is nested: so a long list becomes an OR of about as many groups as each has members, each a NOT of a
 * token that never is, which is not flattened.
 */
function anyOf(expressions: readonly string[]): string {
  if (expressions.length === 1) return expressions[0] ?? '';
  if (expressions.length <= LONG) return `(${expressions.join(' OR ')})`;
  const size = Math.ceil(Math.sqrt(expressions.length));
  const groups: string[] = [];
  for (let at = 0; at < expressions.length; at += size)
    groups.push(`((${expressions.slice(at, at + size).join(' OR ')}) NOT "~")`);
  return `(${groups.join(' OR ')})`;
}

function both(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const matches: string[] = [];
  const wheres: Sql[] = [];
  for (const condition of conditions) {
    if (condition === undefined) return undefined;
    if (condition.match !== undefined) matches.push(condition.match);
    if (condition.where !== undefined) wheres.push(condition.where);
  }
  return {
    ...(matches.length === 0
      ? {}
      : { match: matches.length === 1 ? (matches[0] ?? '') : `(${matches.join(' AND ')})` }),
    ...(wheres.length === 0 ? {} : { where: chain(wheres, 'AND') }),
  };
}

function either(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const possible = conditions.filter((condition) => condition !== undefined);
  if (possible.length === 0) return undefined;
  if (possible.some(({ match, where }) => match === undefined && where === undefined)) return {};
  const matches = possible.flatMap(({ match, where }) =>
    where === undefined && match !== undefined ? [match] : [],
  );
  const wheres = possible.filter(({ where }) => where !== undefined).map(asWhere);
  if (wheres.length === 0) return { match: anyOf(matches) };
  if (matches.length > 0) wheres.push(asWhere({ match: anyOf(matches) }));
  return { where: chain(wheres, 'OR') };
}

/** A condition with all its parts asked of `keys k`; `ranges` are the rows the query is confined to. */
function asWhere({ match, where }: Condition): Sql {
  const parts = where === undefined ? [] : [where];
  if (match !== undefined) parts.push(sql`k.row IN (${matching(match)})`);
  return chain(parts, 'AND');
}

/** Whether an expression lists so many values that it takes long to evaluate: once is enough. */
export function isLong(match: string | undefined): boolean {
  return (match?.length ?? 0) > 1_000;
}

/** The rows that match an expression, within `ranges`. */
function matching(match: string): Sql {
  return sql`SELECT m.rowid FROM ranges q CROSS JOIN tokens m
    WHERE m.tokens MATCH ${match} AND m.rowid BETWEEN q.first AND q.last AND ${stoppable('m.rowid')}`;
}
