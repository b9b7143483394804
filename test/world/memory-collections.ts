import { checkId, Declaration } from '../../src/engines/validation';
import { type Position, START } from '../../src/kernel/event';
import { type Filter } from '../../src/kernel/query';
import {
  type CollectionSpec,
  type Document,
  type Generation,
  NoGeneration,
  type Target,
  type Write,
} from '../../src/kernel/read-store';
import { meets } from '../support/oracle';
import { LeaseTable } from './memory-leases';

/** When queries see what was written, unless it is refreshed before (ms). */
const REFRESH_MS = 1_000;

export interface Row extends Document {
  readonly version: Position;
}

/** One generation of a collection. */
export class Table {
  rows = new Map<string, Row>();
  removed = new Map<string, Position>();
  readonly declaration: Declaration;
  state: Generation['state'] = 'building';
  isFinished = false;
  checkpoint = START;
  /** Its rows are those of a copy too, or those that queries see. */
  private isShared = false;
  private visible: (Pick<Table, 'rows' | 'checkpoint'> & { readonly at: number }) | undefined;

  constructor(
    readonly spec: CollectionSpec,
    readonly number: number,
    private readonly refreshedBy: (() => number) | undefined,
  ) {
    this.declaration = new Declaration(spec);
  }

  copy(): Table {
    this.isShared = true;
    return Object.assign(Object.create(Table.prototype) as Table, this, { visible: undefined });
  }

  get generation(): Generation {
    const { spec, number, state } = this;
    return { collection: spec.name, version: spec.version, number, state };
  }

  write(writes: readonly Write[], checkpoint: Position | undefined): void {
    for (const one of writes)
      if ('put' in one) this.declaration.check(one.put);
      else checkId(one.remove);
    if (this.isShared && writes.length > 0)
      [this.rows, this.removed, this.isShared] = [new Map(this.rows), new Map(this.removed), false];
    for (const one of writes) {
      const id = 'put' in one ? one.put.id : one.remove;
      const before = this.rows.get(id)?.version ?? this.removed.get(id) ?? START;
      if (before > one.version) continue;
      this.rows.delete(id);
      this.removed.delete(id);
      if ('put' in one) this.rows.set(id, { ...one.put, version: one.version });
      else if (one.forget !== true) this.removed.set(id, one.version);
    }
    if (checkpoint !== undefined && checkpoint > this.checkpoint) this.checkpoint = checkpoint;
  }

  /** No more than has to be. */
  refresh(upTo?: Position): void {
    if (this.refreshedBy === undefined) return;
    if (upTo !== undefined && (this.visible?.checkpoint ?? '') >= upTo) return;
    this.visible = { rows: this.rows, checkpoint: this.checkpoint, at: this.refreshedBy() };
    this.isShared = true;
  }

  /** What queries see. */
  get shown(): Table['rows'] {
    if (this.refreshedBy === undefined) return this.rows;
    if (this.visible === undefined || this.refreshedBy() - this.visible.at >= REFRESH_MS) this.refresh();
    return this.visible?.rows ?? this.rows;
  }

  matching(filter: Filter): readonly Row[] {
    this.checkFields(filter);
    return [...this.shown.values()].filter((row) => meets(row, filter));
  }

  private checkFields(filter: Filter): void {
    if ('all' in filter) for (const one of filter.all) this.checkFields(one);
    else if ('any' in filter) for (const one of filter.any) this.checkFields(one);
    else if ('words' in filter) for (const field of filter.within) this.declaration.field(field, 'words');
    else if ('in' in filter) this.declaration.field(filter.field, 'number', 'keyword', 'column');
    else this.declaration.field(filter.field, 'number');
  }
}

/** The collections of a store, which any number of `MemoryStore`s share as processes share a server. */
export class MemoryCollections {
  readonly leases = new LeaseTable();
  /** What each search, count and sum with a signal has read. */
  readonly seen = new WeakMap<AbortSignal, (readonly Document[])[]>();
  tables: Table[] = [];
  numbers = 0;
  writes = 0;
  private synced: readonly Table[] = [];

  /**
   * `syncEvery`: after how many writes everything is flushed to the disk. `refreshedBy`: by this clock (ms) queries see
   * what is written later only, as those of a server, or after a refresh.
   */
  constructor(
    private readonly syncEvery = Infinity,
    readonly refreshedBy?: () => number,
  ) {}

  /** Call it after each write. */
  wrote(): void {
    this.writes += 1;
    if (this.writes % this.syncEvery === 0) this.synced = this.tables.map((table) => table.copy());
  }

  /** The machine dies: what was not flushed is lost, all writes since then together. */
  loseUnsynced(): void {
    this.tables = this.synced.map((table) => table.copy());
  }

  /** Everything is lost. */
  lose(): void {
    this.tables = [];
  }

  /** What queries see of a collection. */
  live(name: string): Table | undefined {
    return this.tables.findLast(({ spec, state }) => spec.name === name && state === 'live');
  }

  documentsOf(collection: string): ReadonlyMap<string, Document> {
    return this.live(collection)?.rows ?? new Map();
  }

  /** What operators have paused, by the names of read models and their live generations: up to where it has the log. */
  get paused(): ReadonlyMap<string, Position> {
    const notes = [...this.documentsOf('read-models').keys()];
    const names = notes.flatMap((note) => /^paused (.*)$/.exec(note)?.[1] ?? []);
    return new Map(
      names.map((name) => [`${name} ${this.live(name)?.number ?? ''}`, this.live(name)?.checkpoint ?? START]),
    );
  }

  /** Which of these has not been projected up to a position, if any. */
  behind(
    projections: readonly { readonly collection: CollectionSpec }[],
    position: Position,
  ): string | undefined {
    const live = this.tables.filter(({ state }) => state === 'live');
    const reached = new Map(live.map(({ spec, checkpoint }) => [spec.name, checkpoint]));
    const names = projections.map(({ collection }) => collection.name);
    return names.find((name) => (reached.get(name) ?? '') < position);
  }

  table({ collection, generation }: Target): Table {
    const found =
      generation === undefined
        ? this.live(collection)
        : this.tables.find(({ spec, number }) => number === generation && spec.name === collection);
    if (found === undefined)
      throw new NoGeneration({ collection, ...(generation === undefined ? {} : { generation }) });
    return found;
  }
}
