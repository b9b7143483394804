import { type Totals, type TotalsSearch } from '../../../kernel/query';
import { type GenerationFile } from './generation-file';
import { hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { raw, sql } from './sql';

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
