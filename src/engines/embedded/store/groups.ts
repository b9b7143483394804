import { type Found, type GroupSearch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { selected, sorted, sortKeys } from './ordering';
import { foundOf, VERSION } from './search';
import { raw, sql } from './sql';
import { type SqlRow } from './store-file';

/**
 * One page of groups in order, each with its first members, and the number of all groups, of one moment.
 *
 * Ties between groups go by the first member's id, which is looked for only among groups that can be on the page.
 */
export function searchGroups(
  generation: GenerationFile,
  wanted: GroupSearch,
): { total: number; groups: readonly (readonly Found[])[] } {
  const { file, layout } = generation;
  return file.reading(() => {
    const hits = hitsOf(generation, wanted.filter);
    if (hits === undefined) return { total: 0, groups: [] };
    const within = sortKeys(wanted.within, layout, hits);
    const order = sortKeys(wanted.order, layout, hits);
    const bests = wanted.order.map(({ by }, at) => `${by === 'least' ? 'min' : 'max'}(o${at}) AS o${at}, `);
    const ranked = sql`rank() OVER (ORDER BY ${sorted(order, 'o')}true)`;
    const query = sql`${withRanges(hits)},
      hits AS MATERIALIZED (
        SELECT ${selected(within, 'w')}${selected(order, 'o')}k.row AS row, k.id AS id, k.version AS version,
          k.${raw(column(layout.field(wanted.groupBy, 'column').name))} AS name
        ${matchingRows(hits, layout)}),
      groups AS MATERIALIZED (SELECT ${raw(bests.join(''))}name FROM hits GROUP BY name),
      foremost AS MATERIALIZED (
        SELECT name, rank FROM (SELECT name, ${ranked} AS rank FROM groups)
        WHERE rank <= ${wanted.offset + wanted.size}),
      members AS MATERIALIZED (
        SELECT h.*, rank, row_number() OVER (PARTITION BY h.name ORDER BY ${sorted(within, 'w')}id) AS place
        FROM hits h CROSS JOIN foremost f ON f.name IS h.name),
      page AS MATERIALIZED (
        SELECT name, row_number() OVER (ORDER BY rank, id) AS number FROM members WHERE place = 1
        ORDER BY number LIMIT ${wanted.size} OFFSET ${wanted.offset})
      SELECT total, number, id, version, body
      FROM (SELECT count(*) AS total FROM groups) LEFT JOIN (
        SELECT number, place, m.id, ${raw(VERSION)} AS version, body
        FROM members m CROSS JOIN page ON page.name IS m.name CROSS JOIN bodies USING (row)
        WHERE place <= ${wanted.members})
      ORDER BY number, place`;
    return groupsOf(file.all(query.text, ...query.values));
  });
}

/** Cuts rows of total, number of the group, id, version and body. */
function groupsOf(rows: readonly SqlRow[]): { total: number; groups: readonly (readonly Found[])[] } {
  const groups = new Map<unknown, Found[]>();
  for (const [, number, ...found] of rows) {
    if (number === null) continue;
    const group = groups.get(number);
    if (group === undefined) groups.set(number, [foundOf(found)]);
    else group.push(foundOf(found));
  }
  return { total: Number(rows[0]?.[0] ?? 0), groups: [...groups.values()] };
}
