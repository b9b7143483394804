import {
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  GROUPS_CHARACTERS,
  type GroupSearch,
  type Totals,
  type TotalsSearch,
} from '../../../kernel/query';
import { bodiesOf, documentOf, foundOf, VERSION } from './documents';
import { type GenerationFile } from './generation-file';
import { and, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { asSelected, comparedTo, joinsOf, selected, sorted, sortKeys, tablesOf } from './ordering';
import { cursorOf } from './search';
import { raw, sql } from './sql';
import { type SqlRow } from './store-file';

/**
 * One page of groups in order, each with its first members, and the number of all groups, from one snapshot.
 *
 * Ties between groups are broken by the id of the first member, computed only for groups that may be on the page.
 */
export function searchGroups(
  generation: GenerationFile,
  wanted: GroupSearch,
  bodyLimit?: number,
): GroupResults {
  return generation.file.reading(() => resultsOf(generation, wanted, bodyLimit));
}

function resultsOf(generation: GenerationFile, wanted: GroupSearch, bodyLimit?: number): GroupResults {
  const { file } = generation;
  const { after } = wanted;
  // One more than requested, to find out whether there is a next page.
  const size = after === undefined ? wanted.size : wanted.size + 1;
  const rows = rowsOf(generation, wanted, size);
  const all = groupsOf(rows);
  const onPage = all.slice(0, wanted.size);
  const bodies = bodiesOf(
    file,
    onPage.flatMap((group) => group.map(([, , , , row]) => row)),
    bodyLimit,
  );
  const groups: Found[][] = [];
  let used = 0;
  for (const group of onPage) {
    const own = bodies.slice(used, used + group.length);
    // The first group may exceed the limit alone: it is truncated.
    if (own.length < group.length && used > 0) break;
    if (own.length === 0) break;
    groups.push(own.flatMap((body, at) => foundOf(group[at]?.slice(2), body)));
    used += group.length;
  }
  const rest = onPage.slice(groups.length).map((group) => group.map(([, , id]) => String(id)));
  const [, , id, , , ...keys] = onPage.at(-1)?.[0] ?? [];
  return {
    total: Number(rows[0]?.[0] ?? 0),
    groups,
    ...(rest.length === 0 ? {} : { rest }),
    ...(after === undefined || all.length < size || id === undefined ? {} : { next: cursorOf(id, keys) }),
  };
}

/** Rows of: total, number of the group, id, version, row number, sort keys of the group. */
function rowsOf(generation: GenerationFile, wanted: GroupSearch, size: number): readonly SqlRow[] {
  const { file, layout } = generation;
  const { after } = wanted;
  const hits = hitsOf(generation, wanted.filter);
  if (hits === undefined) return [];
  const within = sortKeys(wanted.within, layout, hits, 'w');
  const order = sortKeys(wanted.order, layout, hits, 'o');
  const bests = wanted.order.map(({ by }, at) => `${by === 'least' ? 'min' : 'max'}(o${at}) AS o${at}, `);
  const named = raw(order.map((_, at) => `o${at} AS b${at}, `).join(''));
  const best = raw(order.map((_, at) => `b${at}, `).join(''));
  const bestLast = raw(order.map((_, at) => `, b${at}`).join(''));
  const ranked = sql`rank() OVER (ORDER BY ${sorted(order, 'o')}true)`;
  const { equal, beyond } =
    after === undefined || after === null
      ? { equal: raw('false'), beyond: raw('true') }
      : comparedTo(after, asSelected(order, 'o'));
  const query = sql`${withRanges(hits)}${tablesOf(within)}${tablesOf(order)},
      hits AS MATERIALIZED (
        SELECT ${selected(within, 'w')}${selected(order, 'o')}k.row AS row, k.id AS id, k.version AS version,
          k.${raw(column(layout.field(wanted.groupBy, 'column').name))} AS name
        ${matchingRows(hits, layout, sql`${joinsOf(within)}${joinsOf(order)}`)}),
      groups AS MATERIALIZED (SELECT ${raw(bests.join(''))}name FROM hits GROUP BY name),
      foremost AS MATERIALIZED (
        SELECT ${named}name, 0 AS rank FROM groups WHERE ${equal}
        UNION ALL
        SELECT * FROM (SELECT ${named}name, ${ranked} AS rank FROM groups WHERE ${beyond})
        WHERE rank <= ${wanted.offset + size}),
      members AS MATERIALIZED (
        SELECT h.*, ${best}rank, row_number() OVER (PARTITION BY h.name ORDER BY ${sorted(within, 'w')}id) AS place
        FROM hits h CROSS JOIN foremost f ON f.name IS h.name),
      page AS MATERIALIZED (
        SELECT name, row_number() OVER (ORDER BY rank, id) AS number FROM members
        WHERE place = 1 AND (rank > 0 OR id > ${after?.id ?? ''})
        ORDER BY number LIMIT ${size} OFFSET ${wanted.offset})
      SELECT total, number, id, version, row${bestLast}
      FROM (SELECT count(*) AS total FROM groups) LEFT JOIN (
        SELECT number, place, m.id, ${raw(VERSION)} AS version, m.row${bestLast}
        FROM members m CROSS JOIN page ON page.name IS m.name
        WHERE place <= ${wanted.members})
      ORDER BY number, place`;
  return file.all(query.text, ...query.values);
}

/** Splits these rows into groups. */
function groupsOf(rows: readonly SqlRow[]): readonly (readonly SqlRow[])[] {
  const groups = new Map<unknown, SqlRow[]>();
  for (const row of rows) {
    const [, number] = row;
    if (number === null) continue;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** One page of groups in ascending order of their values, each with the document of its first row. */
export function countGroups(
  generation: GenerationFile,
  { groupBy, filter, after, size }: GroupCount,
): GroupCounts {
  const { file, layout } = generation;
  const name = raw(`k.${column(layout.field(groupBy, 'column').name)}`);
  return file.reading(() => {
    const hits = hitsOf(generation, filter);
    if (hits === undefined) return { groups: [] };
    const isNext = sql`${name} IS NOT NULL${and(after === undefined ? undefined : sql`${name} > ${after}`)}`;
    const query = sql`${withRanges(hits)},
      groups AS MATERIALIZED (
        SELECT ${name} AS value, count(*) AS count, min(k.row) AS row ${matchingRows(hits, layout)} AND ${isNext}
        GROUP BY 1 ORDER BY 1 LIMIT ${size + 1})
      SELECT value, count, k.id, ${raw(VERSION)} AS version, body
      FROM groups CROSS JOIN keys k USING (row) CROSS JOIN bodies USING (row) ORDER BY value`;
    const groups: GroupCounts['groups'][number][] = [];
    let characters = 0;
    let last = '';
    for (const [value, count, ...document] of file.each(query.text, ...query.values)) {
      if (groups.length === size || characters > GROUPS_CHARACTERS) return { groups, next: last };
      const one = documentOf(document);
      groups.push({ count: Number(count), one });
      characters += one.body.length;
      last = String(value);
    }
    return { groups };
  });
}

/** Counts and sums per combination of values, in ascending order of the values. */
export function totals(generation: GenerationFile, { filter, by, sums }: TotalsSearch): readonly Totals[] {
  const { file, layout } = generation;
  const columns = by.map((name) => `k.${column(layout.field(name, 'column').name)}`);
  const summed = sums.map((name) => `, total(k.${column(layout.field(name, 'number').name)})`);
  return file.reading(() => {
    const hits = hitsOf(generation, filter);
    if (hits === undefined) return [];
    const present = columns.map((name) => ` AND ${name} IS NOT NULL`).join('');
    const order = columns.map((_, at) => at + 1).join(', ');
    const { text, values } = sql`${withRanges(hits)}
      SELECT ${raw(columns.join(', '))}, count(*)${raw(summed.join(''))} ${matchingRows(hits, layout)}${raw(present)}
      GROUP BY ${raw(order)} ORDER BY ${raw(order)}`;
    return file.all(text, ...values).map((row) => ({
      values: row.slice(0, by.length).map(String),
      count: Number(row[by.length]),
      sums: row.slice(by.length + 1).map(Number),
    }));
  });
}
