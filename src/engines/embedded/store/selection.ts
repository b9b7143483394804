import { type Filter } from '../../../kernel/query';
import { column, type Layout } from './layout';
import { chain, raw, type Sql, sql, stoppable } from './sql';
import { encode } from './tokens';

/** A condition on documents; without parts it is always true. `match` is for the token index, `where` for `keys k`. */
interface Condition {
  readonly match?: string;
  readonly where?: Sql;
}

/** Bounds of an indexed sort field, which all documents must meet. */
interface Bound {
  readonly field: string;
  readonly where: Sql;
}

/** A filter, split into conditions for each part of the file. */
export interface Selection extends Condition {
  /** The partition values that can match; absent for all. */
  readonly partitions?: ReadonlySet<number>;
  readonly bound?: Bound;
}

/** Translates a filter; undefined if nothing can match it. Raises `UndeclaredField`. */
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

/** The search expression for the token of a value. */
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
    return both(filter.words.map((word) => matchAny(codes.map((code) => phrase(code, word)))));
  }
  if ('in' in filter) {
    const { type, code } = layout.field(filter.field, 'number', 'keyword', 'column');
    const values = new Set(filter.in.filter((value) => (typeof value === 'number') === (type === 'number')));
    if (type === 'number' && filter.field !== layout.partition)
      return amongNumbers(filter.field, [...values]);
    return matchAny([...values].map((value) => phrase(code, String(value))));
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

function matchAny(phrases: readonly string[]): Condition | undefined {
  return phrases.length === 0 ? undefined : { match: anyOf(phrases) };
}

/** Longer lists are nested. */
const MAX_FLAT = 16;

/**
 * Matches any of these expressions. The index evaluates all members of an OR for each document, so a long list is
 * nested into about as many groups as each has members. Plain nested ORs would be flattened; an OR with a NOT of a
 * token that never occurs is not.
 */
function anyOf(expressions: readonly string[]): string {
  if (expressions.length === 1) return expressions[0] ?? '';
  if (expressions.length <= MAX_FLAT) return `(${expressions.join(' OR ')})`;
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

/** A condition as one on `keys k` alone; `ranges` limits the rows. */
function asWhere({ match, where }: Condition): Sql {
  const parts = where === undefined ? [] : [where];
  if (match !== undefined) parts.push(sql`k.row IN (${matching(match)})`);
  return chain(parts, 'AND');
}

/** Whether an expression has so many values that it should be evaluated only once. */
export function isLong(match: string | undefined): boolean {
  return (match?.length ?? 0) > 1_000;
}

/** The rows that match an expression, within `ranges`. */
function matching(match: string): Sql {
  return sql`SELECT m.rowid FROM ranges q CROSS JOIN tokens m
    WHERE m.tokens MATCH ${match} AND m.rowid BETWEEN q.first AND q.last AND ${stoppable('m.rowid')}`;
}
