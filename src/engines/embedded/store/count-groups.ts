import { type GroupCount, type GroupCounts, GROUPS_CHARACTERS } from '../../../kernel/query';
import { documentOf, VERSION } from './documents';
import { type GenerationFile } from './generation-file';
import { and, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { raw, sql } from './sql';

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
