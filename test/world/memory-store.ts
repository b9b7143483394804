import { type Position } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type Lease } from '../../src/kernel/leases';
import {
  type Cursor,
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  GROUPS_CHARACTERS,
  type Page,
  type QueryOptions,
  QueryTooLong,
  type Results,
  type Search,
  dateOf,
  firstDayOf,
  type Totals,
  type TotalsBy,
  type TotalsSearch,
  type ValueCount,
  type ValuesSearch,
} from '../../src/kernel/query';
import {
  type CollectionSpec,
  type Document,
  type FieldValue,
  type Generation,
  pinned,
  ReadStore,
  type SnapshotBatch,
  type Target,
  type Write,
} from '../../src/kernel/read-store';
import { without } from '../../src/kernel/values';
import {
  compareCursors,
  compareTexts,
  extreme,
  groupedBy,
  inOrder,
  keyOf,
  sorted,
  valueCounts,
} from '../support/oracle';
import { MemoryLeases } from './memory-leases';
import { type MemoryCollections, type Row, Table } from './memory-collections';

const BATCH = 1_000;
/** Answers of no more documents have no limit of bodies. */
const FEW = 100;
/** A read store in memory, as one process has it. Queries look at every document. */
export class MemoryStore extends ReadStore {
  private isClosed = false;
  private readonly leases: MemoryLeases;

  /** `now`: a monotonic clock (ms). `isOneMachine`: all processes that share the store share a system clock. */
  constructor(
    private readonly collections: MemoryCollections,
    private readonly now: () => number,
    isOneMachine = true,
  ) {
    super();
    this.leases = new MemoryLeases(collections.leases, isOneMachine ? undefined : now);
  }

  get seen(): MemoryCollections['seen'] {
    return this.collections.seen;
  }

  async create(spec: CollectionSpec): Promise<Generation> {
    const { tables, refreshedBy } = this.open();
    const table = new Table(spec, (this.collections.numbers += 1), refreshedBy);
    tables.push(table);
    return table.generation;
  }

  async finish({ collection, number }: Generation): Promise<void> {
    this.open().table({ collection, generation: number }).isFinished = true;
  }

  async swap({ collection, number }: Generation): Promise<void> {
    const next = this.open().table({ collection, generation: number });
    if (!next.isFinished) throw new Error(`${collection} ${number} is not finished`);
    for (const table of this.collections.tables)
      if (table.spec.name === collection && table.state === 'live') table.state = 'retired';
    next.state = 'live';
  }

  async retire({ collection, number }: Generation): Promise<void> {
    const table = this.open().table({ collection, generation: number });
    if (table.state === 'live') table.state = 'retired';
  }

  async drop({ collection, number }: Generation): Promise<void> {
    const { tables } = this.open();
    const at = tables.findIndex((table) => table.spec.name === collection && table.number === number);
    if (at !== -1 && tables[at]?.state !== 'live') tables.splice(at, 1);
  }

  async sweep(): Promise<void> {
    this.open();
  }

  async generations(...collections: readonly string[]): Promise<readonly Generation[]> {
    const names = new Set(collections);
    const tables = this.open().tables.filter(({ spec }) => names.has(spec.name));
    return tables.map((table) => table.generation);
  }

  async size({ collection, number }: Generation): Promise<number> {
    const { tables } = this.open();
    const table = tables.find((one) => one.spec.name === collection && one.number === number);
    return [...(table?.rows.values() ?? [])].reduce((sum, { id, body }) => sum + id.length + body.length, 0);
  }

  async write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void> {
    this.open().table(target).write(writes, checkpoint);
    this.collections.wrote();
  }

  async checkpoint(target: Target): Promise<Position> {
    return this.open().table(target).checkpoint;
  }

  async refresh(target: Target, upTo?: Position): Promise<void> {
    this.open().table(target).refresh(upTo);
  }

  async get(target: Target, ids: readonly string[], options: QueryOptions = {}): Promise<readonly Found[]> {
    return this.within(without(options, 'spent'), () => {
      const { rows } = this.table(target, options);
      const found = [...new Set(ids)].flatMap((id) => rows.get(id) ?? []).map(foundOf);
      return found.slice(0, Math.max(1, fitting(found, options)));
    });
  }

  async removals(target: Target, ids: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    const { removed } = this.open().table(target);
    return new Map([...removed].filter(([id]) => ids.includes(id)));
  }

  async search(target: Target, search: Search, options: QueryOptions = {}): Promise<Results> {
    return this.within(options, () => {
      const items = this.finished(target, options)
        .matching(search.filter)
        .map((row) => ({ row, id: row.id, keys: search.order.map((order) => keyOf(row, order)) }));
      const { page, ...paged } = pageOf(items, search.order, search);
      const found = page.map(({ row }) => foundOf(row));
      const fit = fitting(found, options);
      const rest = found.slice(fit).map(({ id }) => id);
      return { ...paged, found: found.slice(0, fit), ...(rest.length === 0 ? {} : { rest }) };
    });
  }

  async searchGroups(target: Target, search: GroupSearch, options: QueryOptions = {}): Promise<GroupResults> {
    return this.within(options, () => {
      const { filter, groupBy, within, order, members } = search;
      const table = this.finished(target, options);
      table.declaration.field(groupBy, 'column');
      const items = [...groupedBy(table.matching(filter), ({ fields }) => fields[groupBy]).values()].map(
        (group) => {
          const ordered = inOrder(group, within);
          return {
            group: ordered,
            id: ordered[0]?.id ?? '',
            keys: order.map((one) => extreme(ordered, one)),
          };
        },
      );
      const { page, ...paged } = pageOf(items, order, search);
      const groups = page
        .map(({ group }) => group.slice(0, members).map(foundOf))
        .filter(({ length }) => length > 0);
      const fit = fitting(groups.flat(), options);
      let complete = 0;
      for (let count = groups[0]?.length ?? 0; complete < groups.length && count <= fit;)
        count += groups[(complete += 1)]?.length ?? 0;
      const first = complete === 0 && groups[0] !== undefined ? [groups[0].slice(0, Math.max(1, fit))] : [];
      const answered = [...groups.slice(0, complete), ...first];
      const rest = groups.slice(answered.length).map((group) => group.map(({ id }) => id));
      return { ...paged, groups: answered, ...(rest.length === 0 ? {} : { rest }) };
    });
  }

  async count(target: Target, filter: Filter): Promise<number> {
    return this.finished(target).matching(filter).length;
  }

  async countGroups(
    target: Target,
    { filter, groupBy, size, after }: GroupCount,
    options: QueryOptions = {},
  ): Promise<GroupCounts> {
    const found = groupedBy(this.finished(target, options).matching(filter), ({ fields }) => fields[groupBy]);
    const left = [...found]
      .filter(
        ([value]) => value !== undefined && (after === undefined || compareTexts(String(value), after) > 0),
      )
      .sort(([a], [b]) => compareTexts(String(a), String(b)));
    let [count, characters] = [0, 0];
    while (count < Math.min(size, left.length) && characters <= GROUPS_CHARACTERS)
      characters += left[(count += 1) - 1]?.[1][0]?.body.length ?? 0;
    const groups = left
      .slice(0, count)
      .flatMap(([, group]) => group.slice(0, 1).map((row) => ({ count: group.length, one: foundOf(row) })));
    return { groups, ...(count < left.length ? { next: String(left[count - 1]?.[0]) } : {}) };
  }

  async totals(
    target: Target,
    { filter, by, sums, most = Infinity }: TotalsSearch,
    options: QueryOptions = {},
  ): Promise<readonly Totals[]> {
    return this.within(options, () => {
      const rows = this.finished(target, options)
        .matching(filter)
        .filter(({ fields }) => by.every((one) => groupOf(fields, one) !== undefined));
      const groups = groupedBy(rows, ({ fields }) => JSON.stringify(by.map((one) => groupOf(fields, one))));
      return [...groups.values()]
        .slice(0, most + 1)
        .map((group) => ({
          values: by.map((one) => String(groupOf(group[0]?.fields ?? {}, one))),
          count: group.length,
          sums: sums.map((field) => group.reduce((sum, { fields }) => sum + Number(fields[field] ?? 0), 0)),
        }))
        .sort((a, b) => compareCursors({ id: '', keys: a.values }, { id: '', keys: b.values }, []));
    });
  }

  async countValues(
    target: Target,
    { filter, facets }: ValuesSearch,
    options: QueryOptions = {},
  ): Promise<readonly (readonly ValueCount[])[]> {
    return this.within(options, () => {
      const table = this.finished(target, options);
      for (const facet of facets)
        if ('bounds' in facet) table.declaration.field(facet.field, 'number');
        else if ('near' in facet) for (const name of facet.within) table.declaration.field(name, 'words');
        else table.declaration.facet(facet.field);
      const rows = table.matching(filter);
      return facets.map((facet) => valueCounts(rows, facet));
    });
  }

  async *snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncGenerator<SnapshotBatch> {
    const table = this.finished(target);
    const rows = inOrder(table.matching(filter), []);
    const common = { total: rows.length, checkpoint: table.checkpoint };
    const groups = samplesOf === undefined ? [] : [...groupedBy(rows, ({ fields }) => fields[samplesOf])];
    const samples = groups.flatMap(([value, group]) => (value === undefined ? [] : group.slice(0, 1)));
    for (let from = 0; from < samples.length; from += BATCH) {
      yield { ...common, found: [], samples: samples.slice(from, from + BATCH).map(foundOf) };
      this.open();
    }
    yield { ...common, found: [] };
    for (let from = 0; from < rows.length; from += BATCH) {
      this.open();
      yield { ...common, found: rows.slice(from, from + BATCH).map(foundOf) };
    }
    this.open();
  }

  async *scan(target: Target, filter: Filter, after?: string): AsyncGenerator<readonly Found[]> {
    for await (const { found } of this.snapshot(target, filter)) {
      const rest = found.filter(
        ({ id }) => after === undefined || Buffer.compare(Buffer.from(id), Buffer.from(after)) > 0,
      );
      if (rest.length > 0) yield rest;
    }
  }

  async lease(name: string, owner: string, now: () => number, ttl: number): Promise<Lease | undefined> {
    return await this.leases.lease(name, owner, now, ttl);
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    return this.leases.holder(name, now, ttl);
  }

  async release(lease: Lease): Promise<void> {
    await this.leases.release(lease);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.leases.close();
  }

  private open(): MemoryCollections {
    if (this.isClosed) throw new EngineUnavailable('the read store is closed');
    return this.collections;
  }

  private table(target: Target, options: QueryOptions): Table {
    const collections = this.open();
    return collections.table(pinned(target, options, () => collections.table(target).number));
  }

  private finished(target: Target, options: QueryOptions = {}): Table {
    const { signal } = options;
    const table = this.table(target, options);
    if (!table.isFinished) throw new Error(`${table.spec.name} ${table.number} is not finished`);
    if (signal !== undefined) {
      const { seen } = this.collections;
      seen.set(signal, [...(seen.get(signal) ?? []), [...table.shown.values()]]);
    }
    return table;
  }

  private within<Answer>({ signal, timeLimit = Infinity, spent }: QueryOptions, work: () => Answer): Answer {
    signal?.throwIfAborted();
    const began = this.now();
    const answer = work();
    const ms = (spent?.[0] ?? 0) + this.now() - began;
    if (spent !== undefined) spent[0] = ms;
    if (ms > timeLimit) throw new QueryTooLong(timeLimit);
    return answer;
  }
}

function foundOf({ id, version, body }: Row): Found {
  return { id, version, body };
}

/** How many documents fit into the limit of bodies. */
function fitting(found: readonly Found[], { bodyLimit = Infinity }: QueryOptions): number {
  if (found.length <= FEW) return found.length;
  let [count, characters] = [0, 0];
  while (count < found.length && characters < bodyLimit)
    characters += found[(count += 1) - 1]?.body.length ?? 0;
  return count;
}

function pageOf<Item extends Cursor>(
  items: readonly Item[],
  order: readonly { readonly descending?: boolean }[],
  { offset, size, after }: Page,
): { readonly page: readonly Item[]; readonly total: number; readonly next?: Cursor } {
  const all = sorted(items, order);
  const total = all.length;
  if (after === undefined) return { total, page: all.slice(offset, offset + size) };
  const left = after === null ? all : all.filter((one) => compareCursors(one, after, order) > 0);
  const page = left.slice(0, size);
  const last = page.at(-1);
  return { total, page, ...(left.length > size && last ? { next: { keys: last.keys, id: last.id } } : {}) };
}

function groupOf(fields: Document['fields'], by: TotalsBy): FieldValue | undefined {
  if (typeof by === 'string') return fields[by];
  const time = fields[by.field];
  return time === undefined ? undefined : dateOf(firstDayOf(Number(time), by.every));
}
