import {
  dateOf,
  firstDayOf,
  type GroupCount,
  type GroupCounts,
  GROUPS_CHARACTERS,
  type Totals,
  type TotalsBy,
  type TotalsSearch,
} from '../../../kernel/query';
import { type GenerationFile } from './generation-file';
import { bodiesOf, foundOf, keysOf, selectionOf } from './search';

/** How many documents a group has, and the row of one of them. */
interface CountedRow {
  count: number;
  readonly row: number;
}

/** A group of a walk: the number of its value, or a negative number of a document that is a group of its own. */
function groupKeyOf(number: number, row: number): number {
  return number < 0 ? -1 - row : number;
}

/**
 * The matching documents that have a value of a `column` field, by group: of all groups, or of the first `most` with
 * keys after `start`. Some more than these may be in memory meanwhile, but not all.
 */
export function countedGroups(
  generation: GenerationFile,
  filter: GroupCount['filter'],
  groupBy: string,
  { start = -Infinity, most = Infinity }: { readonly start?: number; readonly most?: number } = {},
): Map<number, CountedRow> {
  const { index, layout, check } = generation;
  const { name } = layout.field(groupBy, 'column');
  const selection = selectionOf(filter, layout);
  let groups = new Map<number, CountedRow>();
  /** All groups up to this key are counted. */
  let end = Infinity;
  const limit = (): void => {
    const first = [...groups].sort(([a], [b]) => a - b).slice(0, most);
    end = first.at(-1)?.[0] ?? end;
    groups = new Map(first);
  };
  for (const { count, rows, values } of index.walk(selection.filter, [name], selection.partitions, check)) {
    const numbers = values[0] ?? rows;
    for (let at = 0; at < count; at += 1) {
      const number = numbers[at] ?? NaN;
      if (Number.isNaN(number)) continue;
      const row = rows[at] ?? 0;
      const key = groupKeyOf(number, row);
      if (key <= start || key > end) continue;
      const group = groups.get(key);
      if (group !== undefined) group.count += 1;
      else groups.set(key, { count: 1, row });
      // Seldom, since it sorts.
      if (groups.size > most * 2) limit();
    }
  }
  if (groups.size > most) limit();
  return groups;
}

/** One page of groups in the order of their numbers, each with any one of its documents. */
export function countGroups(
  generation: GenerationFile,
  { groupBy, filter, after, size }: GroupCount,
): GroupCounts {
  const { file, check } = generation;
  return file.reading(() => {
    const start = after === undefined ? -Infinity : Number(after);
    // One more, to find out whether there is a next page.
    const all = countedGroups(generation, filter, groupBy, { start, most: size + 1 });
    const page = [...all.keys()].sort((a, b) => a - b).slice(0, size);
    const groups: GroupCounts['groups'][number][] = [];
    let characters = 0;
    for (const key of page) {
      check();
      const { count = 0, row = 0 } = all.get(key) ?? {};
      const [body = ''] = bodiesOf(file, [row]);
      groups.push(...foundOf(keysOf(file, [row])[0], body).map((one) => ({ count, one })));
      characters += body.length;
      if (characters <= GROUPS_CHARACTERS) continue;
      return groups.length === all.size ? { groups } : { groups, next: String(key) };
    }
    return all.size > page.length ? { groups, next: String(page.at(-1)) } : { groups };
  });
}

/** Counts and sums per combination of values, in ascending order of the values. */
export function totals(
  generation: GenerationFile,
  { filter, by, sums, most = Infinity }: TotalsSearch,
): readonly Totals[] {
  const { file, layout, index, check } = generation;
  const grouping = by.map((one) => groupingOf(generation, one));
  const names = grouping.map(({ name }) => name);
  const summed = sums.map((name) => layout.field(name, 'number').name);
  return file.reading(() => {
    const selection = selectionOf(filter, layout);
    const found = new Map<
      string,
      { readonly numbers: readonly number[]; count: number; readonly sums: readonly Sum[] }
    >();
    const columns = [...names, ...summed];
    for (const { count, rows, values } of index.walk(
      selection.filter,
      columns,
      selection.partitions,
      check,
    )) {
      if (found.size > most) break;
      for (let at = 0; at < count; at += 1) {
        const row = rows[at] ?? 0;
        const numbers = grouping.map(({ keyOf }, name) => keyOf(values[name]?.[at] ?? NaN, row));
        if (numbers.some(Number.isNaN)) continue;
        const key = numbers.join();
        let total = found.get(key);
        if (total === undefined) {
          total = { numbers, count: 0, sums: summed.map(() => new Sum()) };
          found.set(key, total);
        }
        total.count += 1;
        for (let sum = 0; sum < summed.length; sum += 1) {
          const value = values[names.length + sum]?.[at] ?? NaN;
          if (!Number.isNaN(value)) total.sums[sum]?.add(value);
        }
      }
    }
    return [...found.values()]
      .map((total) => ({
        values: total.numbers.map((number, at) => grouping[at]?.textOf(number) ?? ''),
        count: total.count,
        sums: total.sums.map(({ value }) => value),
      }))
      .sort((a, b) => compareAll(a.values, b.values));
  });
}

interface Grouping {
  readonly name: string;
  /** A number that stands for the value of a document. */
  readonly keyOf: (number: number, row: number) => number;
  readonly textOf: (key: number) => string;
}

function groupingOf(generation: GenerationFile, by: TotalsBy): Grouping {
  const { layout } = generation;
  if (typeof by === 'string') {
    const { name } = layout.field(by, 'column');
    return { name, keyOf: groupKeyOf, textOf: (key) => valueOf(generation, key) };
  }
  const { field, every } = by;
  return {
    name: layout.field(field, 'number').name,
    keyOf: (time) => firstDayOf(time, every),
    textOf: dateOf,
  };
}

/** A sum that carries what each addition rounds off (Neumaier). */
class Sum {
  private sum = 0;
  private rest = 0;

  add(value: number): void {
    const next = this.sum + value;
    this.rest += Math.abs(this.sum) >= Math.abs(value) ? this.sum - next + value : value - next + this.sum;
    this.sum = next;
  }

  get value(): number {
    return this.sum + this.rest;
  }
}

/** The value of a group. */
function valueOf({ file, check }: GenerationFile, key: number): string {
  check();
  const [value] =
    key < 0
      ? (file.first('SELECT id FROM keys WHERE row = ?', -1 - key) ?? [])
      : (file.first('SELECT value FROM groups WHERE number = ?', key) ?? []);
  return String(value);
}

function compareAll(a: readonly string[], b: readonly string[]): number {
  for (const [at, value] of a.entries()) {
    const compared = Buffer.compare(Buffer.from(value), Buffer.from(b[at] ?? ''));
    if (compared !== 0) return compared;
  }
  return 0;
}
