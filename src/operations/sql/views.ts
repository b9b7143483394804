import { join } from 'node:path';
import { type Position, START } from '../../kernel/event';
import { type Column, EVENT_TABLES, inEvents, literal, OTHER, quoted, type Table } from './columns';
import { type File, filesIn, type SnapshotManifest, type StoredModel } from './manifest';
import { MODEL_TABLES, type ModelTable } from './models';

/** A snapshot as it was when it was read: its files stay for an hour after others have taken their place. */
export interface SqlSnapshot {
  readonly position: Position;
  /** As of which position each read model is that is in it. */
  readonly models: ReadonlyMap<string, Position>;
  /** Statements that define them. */
  readonly views: readonly string[];
  /** Paths, as they are in the views. */
  readonly files: readonly string[];
}

/** Types that are not described have none. */
export function tableOf(type: string): Table {
  const table = EVENT_TABLES.get(type);
  if (table === undefined) throw new Error(`there is no table for ${type}`);
  return table;
}

/** `raw` has the JSON; what is no JSON, of other programs, has no values. */
export function selectOf({ structure, rows }: Table, columns: readonly Column[], raw: string): string {
  const list = columns.map(({ name, type, value }) => `CAST(${value} AS ${type}) AS ${quoted(name)}`);
  const record =
    Object.keys(structure).length === 0
      ? 'NULL'
      : `json_transform(json, ${literal(JSON.stringify(structure))})`;
  const valid = `SELECT * REPLACE (CASE WHEN json_valid(json) THEN json END AS json) FROM (${raw})`;
  const rowsOf = rows === undefined ? '' : `, unnest(${rows}) AS p`;
  return `SELECT ${list.join(', ')} FROM (SELECT *, ${record} AS d${rowsOf} FROM (${valid}))`;
}

const KEY: readonly Column[] = [
  { name: '_id', type: 'VARCHAR', description: '', value: 'id' },
  { name: '_position', type: 'BIGINT', description: '', value: 'position' },
];

export function selectModel(table: ModelTable): string {
  return selectOf(table, [...KEY, ...table.columns], 'SELECT * FROM raw');
}

export function parquetIn(folder: string, files: readonly File[]): string {
  return `read_parquet([${files.map(({ name }) => literal(join(folder, name))).join(', ')}])`;
}

export function currentOf(folder: string, { base, changed }: Pick<StoredModel, 'base' | 'changed'>): string {
  const all = parquetIn(folder, base);
  if (changed === undefined) return `SELECT * FROM ${all}`;
  const changes = parquetIn(folder, [changed]);
  return (
    `SELECT * FROM ${all} AS base WHERE NOT EXISTS (FROM ${changes} AS changed WHERE changed."_id" = base."_id") ` +
    'UNION ALL BY NAME ' +
    `SELECT * FROM ${changes} WHERE "_position" IS NOT NULL`
  );
}

export function snapshotOf(folder: string, manifest: SnapshotManifest): SqlSnapshot {
  const { events, models, last } = manifest;
  const views = [...EVENT_TABLES].map(([type, table]) => {
    const stored = events[type];
    return stored === undefined
      ? viewOf(type, table.columns, undefined)
      : viewOf(type, table.columns, parquetIn(folder, stored));
  });
  const all = Object.entries(events).map(
    ([type, stored]) => `SELECT ${inEvents(tableOf(type))} FROM ${parquetIn(folder, stored)}`,
  );
  // Without events there is nothing to be read, but there are columns.
  const none = `SELECT *, NULL::VARCHAR AS type, NULL::JSON AS data, NULL::JSON AS meta FROM ${quoted(OTHER)}`;
  if (all.length === 0) all.push(`SELECT ${inEvents(tableOf(OTHER))} FROM (${none})`);
  views.push(`CREATE OR REPLACE VIEW events AS ${all.join(' UNION ALL ')}`);
  for (const [name, { columns }] of MODEL_TABLES) {
    const stored = models[name];
    views.push(viewOf(name, columns, stored && `(${currentOf(folder, stored)})`));
  }
  return {
    position: last?.position ?? START,
    models: new Map(Object.entries(models).map(([name, model]) => [name, model.position])),
    views,
    files: filesIn(manifest).map((name) => join(folder, name)),
  };
}

function viewOf(name: string, columns: readonly Column[], from: string | undefined): string {
  const list = columns.map((one) =>
    from === undefined ? `CAST(NULL AS ${one.type}) AS ${quoted(one.name)}` : quoted(one.name),
  );
  const source = from === undefined ? 'WHERE false' : `FROM ${from}`;
  return `CREATE OR REPLACE VIEW ${quoted(name)} AS SELECT ${list.join(', ')} ${source}`;
}
