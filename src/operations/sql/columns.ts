import { z } from 'zod';
import { without } from '../../kernel/values';
import { type DescribedEvent, UNITS } from '../events/records';
import { EVENTS } from '../events/schemas';

/** A column of a table: its name, its type in DuckDB, and what it has. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** Its value, in SQL, over the columns of `raw` and the record `d` that is made of the JSON by `Table.structure`. */
  readonly value: string;
}

/** What a table and its columns have. */
export interface DescribedTable {
  readonly description: string;
  readonly columns: readonly Pick<Column, 'name' | 'description'>[];
}

/** A table that is made of JSON. */
export interface Table extends DescribedTable {
  readonly columns: readonly Column[];
  /** For `json_transform`. */
  readonly structure: object;
  /** Rows that a document is made of, in SQL, if it is not one: `p` is the JSON of each. */
  readonly rows?: string;
}

interface ColumnSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly format?: string;
  readonly description?: string;
  readonly unit?: string;
  readonly const?: unknown;
  readonly enum?: unknown;
  readonly items?: ColumnSchema;
  readonly anyOf?: readonly ColumnSchema[];
  readonly properties?: Readonly<Record<string, ColumnSchema>>;
  readonly $defs?: Readonly<Record<string, ColumnSchema>>;
}

interface MadeOf {
  readonly columns: readonly Column[];
  readonly structure: object;
}

interface ReadOptions {
  /** Names of other columns: a field that has one of them gets the name of its record before its own. */
  readonly taken: readonly string[];
  /** How many decimals amounts have, in SQL. */
  readonly decimals: string;
}

const DECIMALS = '[1, 0.1, 0.01, 0.001, 0.0001]::DECIMAL(5, 4)[]';

/**
 * Columns for the fields of a record. Fields of records within it are columns, too; lists of records, tables and deeper
 * records are JSON. Amounts are decimal numbers in units of their currency, times are instants.
 */
export function columnsOf(record: z.ZodObject, { taken, decimals }: ReadOptions): MadeOf {
  const schema = z.toJSONSchema(record, {
    override({ zodSchema, jsonSchema }) {
      const inUnit = UNITS.get(zodSchema);
      if (inUnit === undefined) return;
      jsonSchema['unit'] = inUnit.unit;
      jsonSchema.description = inUnit.is;
    },
  }) as ColumnSchema;
  const names = new Set(taken);
  const columns: Column[] = [];
  const read = (fields: ColumnSchema, path: readonly string[]): object => {
    const entries = Object.entries(fields.properties ?? {}).map(([name, field]) => {
      const { description = '', ...kind } = resolved(field, schema);
      if (kind.properties !== undefined && path.length === 0) return [name, read(kind, [name])] as const;
      const [structure, type, valueOf] = kindOf(kind, decimals);
      const own = names.has(name) ? [...(path.length === 0 ? ['data'] : path), name].join('_') : name;
      names.add(own);
      const value = valueOf(['d', ...path, name].map(quoted).join('.'));
      const inUnits = type.startsWith('DECIMAL') ? `${description}, in units of its currency` : description;
      columns.push({ name: own, type, description: inUnits, value });
      return [name, structure] as const;
    });
    return Object.fromEntries(entries);
  };
  // The names of a record are known before those of the records in it.
  const { properties = {} } = schema;
  const isRecord = (field: ColumnSchema): boolean => resolved(field, schema).properties !== undefined;
  const ordered = Object.entries(properties).sort(
    ([, a], [, b]) => Number(isRecord(a)) - Number(isRecord(b)),
  );
  const structure = read({ properties: Object.fromEntries(ordered) }, []);
  return { columns, structure };
}

function resolved({ $ref, ...field }: ColumnSchema, { $defs }: ColumnSchema): ColumnSchema {
  const [only, another] = (field.anyOf ?? []).filter(({ type }) => type !== 'null');
  if (only !== undefined && another === undefined) return { ...only, ...field };
  return $ref === undefined ? field : { ...$defs?.[$ref.split('/').at(-1) ?? ''], ...field };
}

type ColumnKind = readonly [structure: unknown, type: string, value: (path: string) => string];

function kindOf({ type, format, unit, items, ...kind }: ColumnSchema, decimals: string): ColumnKind {
  const plain = (name: string): ColumnKind => [name, name, (path) => path];
  if (format === 'date-time') return ['VARCHAR', 'TIMESTAMPTZ', (path) => `try_cast(${path} AS TIMESTAMPTZ)`];
  if (unit === 'ms') return ['BIGINT', 'TIMESTAMPTZ', (path) => `to_timestamp(${path} / 1000)`];
  if (unit === 'hundredths') return ['BIGINT', 'DECIMAL(18,2)', (path) => amount(path, '2', 'DECIMAL(18,2)')];
  if (unit === 'minor') return ['BIGINT', 'DECIMAL(18,4)', (path) => amount(path, decimals, 'DECIMAL(18,4)')];
  if (type === 'boolean' || kind.const === true) return plain('BOOLEAN');
  if (type === 'integer') return plain('BIGINT');
  if (type === 'number') return plain('DOUBLE');
  if (type === 'string') return plain('VARCHAR');
  if (type === 'array' && (items?.type === 'integer' || items?.type === 'string')) {
    const each = items.type === 'integer' ? 'BIGINT' : 'VARCHAR';
    return [[each], `${each}[]`, (path) => path];
  }
  return plain('JSON');
}

/** Exact: by multiplication with a decimal number. */
export function amount(path: string, decimals: string, type: string): string {
  return `try_cast(try_cast(${path} AS DECIMAL(18, 4)) * (${DECIMALS})[${decimals} + 1] AS ${type})`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text of SQL. */
export function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

export function column(name: string, type: string, description: string, value: string): Column {
  return { name, type, description, value };
}

// Events

const EVENT_COLUMNS: readonly Column[] = [
  column('position', 'BIGINT', 'Position in the log, as a number', 'position'),
  column('time', 'TIMESTAMPTZ', 'When it happened', "try_cast(json->>'$.at' AS TIMESTAMPTZ)"),
  column('stream', 'VARCHAR', 'Its stream', 'stream'),
  column('revision', 'BIGINT', 'Number in the stream, from 0', 'revision'),
  column('id', 'VARCHAR', 'Its id', 'id'),
];

/** By which events of any type can be found. */
const ENTITIES: Readonly<Record<string, string>> = {
  feedId: 'BIGINT',
  sourceProductId: 'VARCHAR',
  programId: 'BIGINT',
  siteId: 'BIGINT',
  organisationId: 'BIGINT',
  voucherId: 'BIGINT',
  transactionId: 'VARCHAR',
  claimId: 'BIGINT',
  subscriptionId: 'VARCHAR',
};

/** Stored with the events of each type. */
export const STORED_ONLY: readonly Column[] = [
  column('type', 'VARCHAR', 'Its type', 'type'),
  column('data', 'JSON', 'Its data as they are stored: amounts are integers', 'CAST(json AS JSON)'),
  column('meta', 'JSON', 'Its meta', 'CASE WHEN json_valid(meta) THEN CAST(meta AS JSON) END'),
];

function eventTable({ streams, description, data }: DescribedEvent): Table {
  const taken = [...EVENT_COLUMNS, ...STORED_ONLY].map(({ name }) => name);
  // Every event has it as `time`.
  const fields = without(data.shape, 'at');
  const decimals = 'decimals' in fields ? 'coalesce(d."decimals", 2)' : '2';
  const { columns, structure } = columnsOf(z.strictObject(fields), { taken, decimals });
  const ids = idsIn(streams).filter(({ name }) => columns.every((one) => one.name !== name));
  return { description, structure, columns: [...EVENT_COLUMNS, ...ids, ...columns] };
}

/** Columns for the ids in the names of streams. */
function idsIn(streams: readonly string[]): readonly Column[] {
  const names = [...(streams[0] ?? '').matchAll(/<(\w+Id)>/g)].map(([, name = '']) => name);
  const pattern = `^(?:${streams.map((stream) => stream.replaceAll(/<\w+>/g, '(.+)')).join('|')})$`;
  return names.map((name, at) => {
    const groups = streams.map(
      (_, stream) => `regexp_extract(stream, ${literal(pattern)}, ${stream * names.length + at + 1})`,
    );
    const type = ENTITIES[name] ?? 'VARCHAR';
    const value = `try_cast(nullif(concat(${groups.join(', ')}), '') AS ${type})`;
    return column(name, type, 'From the name of its stream', value);
  });
}

/** Events of types that are not described: other programs may write to the log. */
export const OTHER = 'other';

/** A table for each type of event that the log may have. */
export const EVENT_TABLES: ReadonlyMap<string, Table> = new Map([
  ...[...EVENTS].map(([type, described]) => [type, eventTable(described)] as const),
  [OTHER, { description: 'Events of other programs', structure: {}, columns: EVENT_COLUMNS }] as const,
]);

/** `events`. */
export const ALL_EVENTS: DescribedTable = {
  description: 'All events',
  columns: [
    ...EVENT_COLUMNS,
    ...Object.keys(ENTITIES).map((name) => ({ name, description: 'If the event has one' })),
    ...STORED_ONLY,
  ],
};

/** The select list of `events` over the events of one type. */
export function inEvents({ columns }: Table): string {
  const own = EVENT_COLUMNS.map(({ name }) => quoted(name));
  const ids = Object.entries(ENTITIES).map(([name, type]) =>
    columns.some((one) => one.name === name && one.type === type)
      ? quoted(name)
      : `CAST(NULL AS ${type}) AS ${quoted(name)}`,
  );
  return [...own, 'type', ...ids, 'data', 'meta'].join(', ');
}
