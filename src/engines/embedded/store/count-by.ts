import { type Filter } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { and, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { matching, phrase } from './selection';
import { raw, sql } from './sql';

/** How many of the matching documents have each value: of a number by its column, of a string by its token. */
export function countBy(
  generation: GenerationFile,
  name: string,
  values: readonly (string | number)[],
  filter: Filter,
): ReadonlyMap<string | number, number> {
  const { file, layout } = generation;
  const field = layout.field(name, 'number', 'keyword', 'column');
  const counts = new Map(values.map((value) => [value, 0]));
  const asked = [...counts.keys()].filter(
    (value) => (typeof value === 'number') === (field.type === 'number'),
  );
  return file.reading(() => {
    const hits = hitsOf(generation, filter);
    if (hits === undefined || asked.length === 0) return counts;
    const query =
      field.type === 'number'
        ? sql`${withRanges(hits)} SELECT k.${raw(column(name))} AS value, count(*) ${matchingRows(hits, layout)}
            AND k.${raw(column(name))} IN (SELECT value FROM json_each(${JSON.stringify(asked)})) GROUP BY 1`
        : sql`${withRanges(hits)} SELECT v.key, count(*)
            FROM json_each(${JSON.stringify(asked.map((value) => phrase(field.code, String(value))))}) v
            CROSS JOIN ranges r CROSS JOIN tokens t${raw(hits.where === undefined ? '' : ' CROSS JOIN keys k ON k.row = t.rowid')}
            WHERE t.tokens MATCH v.value AND t.rowid BETWEEN r.first AND r.last
              ${hits.match === undefined ? raw('') : sql`AND +t.rowid IN (${matching(hits.match)})`}${and(hits.where)}
            GROUP BY 1`;
    for (const [of, count] of file.all(query.text, ...query.values)) {
      const value = field.type === 'number' ? of : asked[Number(of)];
      if (typeof value === 'number' || typeof value === 'string') counts.set(value, Number(count));
    }
    return counts;
  });
}
