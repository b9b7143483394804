import { type Filter } from '../../../kernel/query';
import { type GenerationFile } from './generation-file';
import { column, type Layout, SLOT, sortIndex } from './layout';
import { type Selection, selectionOf } from './selection';
import { raw, type Sql, sql, stoppable } from './sql';

/** A filter applied to the current data: the ranges of rows to search, and the number of documents in them. */
export interface Hits extends Selection {
  /** First and last rows, as JSON. */
  readonly ranges: string;
  /** The partition values that exist, as JSON; absent for all. */
  readonly values?: string;
  readonly partitionCount: number;
  readonly documents: number;
}

/** The range of all rows. */
const EVERYWHERE: readonly [number, number] = [0, Number.MAX_SAFE_INTEGER];

/** Resolves a filter within the transaction of its query; undefined if it matches nothing. */
export function hitsOf({ layout, file }: GenerationFile, filter: Filter): Hits | undefined {
  const selection = selectionOf(filter, layout);
  if (selection === undefined) return undefined;
  if (selection.partitions === undefined) {
    const [documents, partitionCount] = file.first('SELECT total(documents), count(*) FROM partitions') as [
      number,
      number,
    ];
    return { ...selection, ranges: JSON.stringify([EVERYWHERE]), partitionCount, documents };
  }
  const partitions = file.all(
    'SELECT value, slot, documents FROM partitions WHERE value IN (SELECT value FROM json_each(?)) ORDER BY slot',
    JSON.stringify([...selection.partitions]),
  ) as readonly [number, number, number][];
  return {
    ...selection,
    ranges: JSON.stringify(rangesOf(partitions.map(([, slot]) => slot))),
    values: JSON.stringify(partitions.map(([value]) => value)),
    partitionCount: partitions.length,
    documents: partitions.reduce((sum, [, , documents]) => sum + documents, 0),
  };
}

/** The rows of these slots; adjacent slots become one range. */
function rangesOf(slots: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const slot of slots) {
    const last = ranges.at(-1);
    const end = (slot + 1) * SLOT - 1;
    if (last !== undefined && last[1] + 1 === slot * SLOT) last[1] = end;
    else ranges.push([slot * SLOT, end]);
  }
  return ranges;
}

/** The first common table expression of every query: `ranges`. */
export function withRanges(hits: Hits): Sql {
  return sql`WITH ranges (first, last) AS MATERIALIZED (
    SELECT value ->> 0, value ->> 1 FROM json_each(${hits.ranges}))`;
}

/**
 * FROM and WHERE clauses for the matching documents as `keys k`: from the token index if the filter uses it, else from
 * the index of a bounded sort field, else from the rows themselves. CROSS JOIN fixes the order of the joins. `joined`
 * is joined to them.
 */
export function matchingRows(hits: Hits, layout: Layout, joined = raw('')): Sql {
  const where = sql`${stoppable('k.row')}${and(hits.where)}`;
  if (hits.match !== undefined)
    return sql`FROM ranges r CROSS JOIN tokens t CROSS JOIN keys k${joined}
      WHERE t.tokens MATCH ${hits.match} AND t.rowid BETWEEN r.first AND r.last
        AND k.row = t.rowid AND ${where}`;
  if (hits.bound !== undefined && layout.partition === undefined)
    return sql`FROM keys k INDEXED BY ${raw(sortIndex(hits.bound.field))}${joined} WHERE ${where}`;
  if (hits.bound !== undefined && layout.partition !== undefined && hits.values !== undefined)
    return sql`FROM json_each(${hits.values}) p CROSS JOIN keys k INDEXED BY ${raw(sortIndex(hits.bound.field))}${joined}
      WHERE k.${raw(column(layout.partition))} = p.value AND ${where}`;
  return sql`FROM ranges r CROSS JOIN keys k NOT INDEXED${joined}
    WHERE k.row BETWEEN r.first AND r.last AND ${where}`;
}

export function countOf({ file, layout }: GenerationFile, hits: Hits): number {
  if (hits.match === undefined && hits.where === undefined) return hits.documents;
  const rows =
    hits.match === undefined || hits.where !== undefined
      ? matchingRows(hits, layout)
      : sql`FROM ranges r CROSS JOIN tokens t
          WHERE t.tokens MATCH ${hits.match} AND t.rowid BETWEEN r.first AND r.last
            AND ${stoppable('t.rowid')}`;
  const query = sql`${withRanges(hits)} SELECT count(*) ${rows}`;
  const [count] = file.first(query.text, ...query.values) as [number];
  return count;
}

/** ` AND …`, or nothing. */
export function and(condition: Sql | undefined): Sql {
  return condition === undefined ? raw('') : sql` AND ${condition}`;
}
