import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { types } from 'node:util';
import { type Position } from '../../kernel/event';
import { tableLines } from '../../kernel/text';
import { isObject, isText } from '../../kernel/values';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { UsageError } from '../command-error';
import { literal } from './columns';
import { Engine } from './duckdb';
import { COMMENTS, DESCRIPTIONS, MODEL_TABLES } from './models';
import { ANALYTICS, keepUp, type KeepUpOptions, type SnapshotParts } from './snapshot';
import { type SqlSnapshot } from './manifest';

/** What a statement of a client may use. */
export interface SqlLimits {
  readonly rows: number;
  readonly ms: number;
  /** Of the engine, such as `256MB`. */
  readonly memory: string;
  /** Characters of the statement, and of the answer. */
  readonly length: number;
  readonly characters: number;
}

export type TextFormat = 'table' | 'csv' | 'json';

/** As of which positions the tables are that a statement names: `log`, or a read model. */
export type AsOfPositions = ReadonlyMap<string, Position>;

/**
 * Answers statements over the snapshot. With limits, a session serves one statement, which can read nothing else, write
 * nothing, and neither read nor change a setting.
 */
export class SqlSession {
  #asOf: AsOfPositions = new Map();
  /** The definitions of its views, and whether they have comments. */
  #views: ReadonlySet<string> = new Set();
  #hasComments = false;
  /** A descriptor. */
  #folder: number | undefined;

  private constructor(
    private readonly engine: Engine,
    private readonly limits?: SqlLimits,
  ) {}

  /** Raises `CommandError` if DuckDB is not installed. */
  static async open(dataDir: string): Promise<SqlSession> {
    return new SqlSession(await Engine.open(SETTINGS, join(dataDir, ANALYTICS)));
  }

  /** Raises `CommandError` if DuckDB is not installed. */
  static async limited(limits: SqlLimits): Promise<SqlSession> {
    const engine = await Engine.open({ ...SETTINGS, ...WITHOUT_HOME, memory_limit: limits.memory });
    return new SqlSession(engine, limits);
  }

  /** Of what the last statement was prepared with. */
  get asOf(): AsOfPositions {
    return this.#asOf;
  }

  /** Brings the snapshot up to date, with the read models that the statement names. */
  async prepare(parts: SnapshotParts, statement: string, options: KeepUpOptions = {}): Promise<void> {
    const { limits } = this;
    if (limits !== undefined && statement.length > limits.length)
      throw new UsageError(
        `the statement has ${statement.length} characters: expected at most ${limits.length}`,
      );
    await this.engine.stay();
    const full = inFull(statement);
    const models = full === statement ? modelsIn(statement) : [];
    const pathTo = limits === undefined ? {} : { pathTo: (folder: string) => this.hiddenPath(folder) };
    const snapshot = await keepUp(parts, { ...options, models, ...pathTo });
    await this.define(snapshot.views, COMMENTED.test(full));
    if (limits !== undefined) await lock(this.engine, snapshot);
    const made = models.flatMap((name) => {
      const at = snapshot.models.get(name);
      return at === undefined ? [] : [[name, at] as const];
    });
    this.#asOf = new Map([['log', snapshot.position], ...made]);
  }

  /** Takes tenths of a second, so only views that have changed are defined again, and comments are added on demand. */
  private async define(views: readonly string[], withComments: boolean): Promise<void> {
    const changed = views.filter((one) => !this.#views.has(one));
    if (changed.length > 0) {
      await this.engine.run(changed.join(';\n'));
      [this.#views, this.#hasComments] = [new Set(views), false];
    }
    if (!withComments || this.#hasComments) return;
    await this.engine.run(COMMENTS.join(';\n'));
    this.#hasComments = true;
  }

  /** The answer as text, in parts. Raises `UsageError`, and the reason of the signal. */
  async *text(statement: string, format: TextFormat, signal?: AbortSignal): AsyncGenerator<string> {
    const watch = this.watch(signal);
    try {
      const full = inFull(statement);
      const { sql, columns, isRead } = await this.checked(full);
      const rows = this.rows(sql, format);
      if (!isRead) yield* this.done(sql);
      else if (format === 'json') yield* jsonText(rows);
      else if (format === 'csv') yield* csvText(rows, columns);
      else yield* tableText(rows, columns, full === statement ? TABLE.cell : Infinity);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.refusal(error, watch.isOver());
    } finally {
      watch.cancel();
    }
  }

  /** Writes the answer to a Parquet file. Raises `UsageError`, and the reason of the signal. */
  async parquet(statement: string, file: string, signal?: AbortSignal): Promise<void> {
    const watch = this.watch(signal);
    try {
      const { sql } = await this.checked(inFull(statement));
      await this.engine.writeParquet(sql, file);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.refusal(error, false);
    } finally {
      watch.cancel();
    }
  }

  /** Interrupts the statement after the signal, or when it has run for too long: then it `isOver`. */
  private watch(signal: AbortSignal | undefined): { cancel(): void; isOver(): boolean } {
    const { limits, engine } = this;
    const began = SYSTEM_CLOCK.monotonic();
    const isOver = (): boolean => limits !== undefined && SYSTEM_CLOCK.monotonic() - began > limits.ms;
    // Repeated, since there may be nothing to interrupt between two steps.
    const watch = SYSTEM_CLOCK.interval(WATCH_MS, () => {
      if (isOver() || signal?.aborted === true) engine.connection.interrupt();
    });
    return { cancel: () => watch.cancel(), isOver };
  }

  close(): void {
    this.engine.close();
    if (this.#folder !== undefined) closeSync(this.#folder);
  }

  /** Statements can read paths in views and messages. On Linux they see that of a descriptor, which reveals nothing. */
  private hiddenPath(folder: string): string {
    if (!existsSync(OPEN_FOLDERS) || !existsSync(folder)) return folder;
    this.#folder ??= openSync(folder, 'r');
    return join(OPEN_FOLDERS, String(this.#folder));
  }

  /** One statement, which reads if there are limits. */
  private async checked(statement: string): Promise<CheckedStatement> {
    const { connection, SELECT } = this.engine;
    if (statement.trim() === '') throw new UsageError('expected a statement');
    if (this.limits !== undefined) await this.requireTables(statement);
    const extracted = await connection.extractStatements(statement);
    if (extracted.count !== 1)
      throw new UsageError(
        `${extracted.count} statements: expected one. PIVOT is one if it names the values: ON state IN ('Paid', 'Pending')`,
      );
    const prepared = await extracted.prepare(0);
    const isRead = prepared.statementType === SELECT;
    if (isRead && /^\s*PRAGMA\b/i.test(statement))
      throw new UsageError(
        'expected another statement than PRAGMA: SHOW TABLES lists tables, DESCRIBE vouchers columns',
      );
    const columns = Array.from({ length: prepared.columnCount }, (_, at) => prepared.columnName(at));
    prepared.destroySync();
    if (this.limits !== undefined && !isRead) throw new UsageError(EXPECTED_READ);
    return { sql: isRead ? statement.replace(/[\s;]+$/, '') : statement, columns, isRead };
  }

  /**
   * Refuses other statements than queries, and those that call what reads files or settings, or runs what is in a text.
   */
  private async requireTables(statement: string): Promise<void> {
    const [[json] = []] = await this.engine.rows(`SELECT json_serialize_sql(${literal(statement)})`);
    const parsed: unknown = JSON.parse(String(json));
    // What DuckDB cannot parse here is not known: it is never run.
    if (!isObject(parsed) || parsed['error'] !== false) {
      const { error_type: kind, error_message: message } = isObject(parsed) ? parsed : {};
      throw new UsageError(kind === 'parser' ? String(message) : EXPECTED_READ);
    }
    for (const name of namesRefused(parsed)) throw new UsageError(`${name}: ${TABLES_ONLY}`);
  }

  /** What a statement answers that is no query, such as EXPLAIN: on the command line, they are all permitted. */
  private async *done(sql: string): AsyncGenerator<string> {
    for (const row of await this.engine.rows(sql)) yield `${row.map(String).join('\t')}\n`;
  }

  private async *rows(sql: string, format: TextFormat): AsyncGenerator<Rows> {
    const values = format === 'json' ? `CAST(to_json(${ROW}) AS VARCHAR)` : 'CAST(COLUMNS(*) AS VARCHAR)';
    const most = this.limits?.rows;
    const limited = most === undefined ? '' : ` LIMIT ${most + 1}`;
    const query = `SELECT ${values} FROM (${sql}\n) AS ${ROW}${limited}`;
    const result = await this.engine.connection.stream(query);
    let [rows, characters] = [0, 0];
    for (let chunk = await result.fetchChunk(); chunk !== null; chunk = await result.fetchChunk()) {
      if (chunk.rowCount === 0) break;
      const read = chunk.getRows() as Rows;
      rows += read.length;
      if (most !== undefined && rows > most)
        throw new UsageError(`the answer has more than ${most} rows: add LIMIT, ${OTHERWISE}`);
      if (this.limits !== undefined) {
        for (const row of read) for (const cell of row) characters += cell?.length ?? 0;
        if (characters > this.limits.characters)
          throw new UsageError(
            `the answer has more than ${this.limits.characters} characters: select less, ${OTHERWISE}`,
          );
      }
      yield read;
    }
  }

  private refusal(error: unknown, isOver: boolean): unknown {
    if (!types.isNativeError(error) || error instanceof UsageError || 'syscall' in error) return error;
    const { message } = error;
    if (this.limits !== undefined && isOver)
      return new UsageError(
        `the statement has run for ${this.limits.ms / 1000} s: select less, for example by position or time, ${OTHERWISE}`,
      );
    if (this.limits !== undefined && message.includes('Out of Memory'))
      return new UsageError(
        `the statement needs more than ${this.limits.memory} of memory: select or group less, ${OTHERWISE}`,
      );
    // Its message may have paths of the installation.
    if (this.limits !== undefined && message.startsWith('Permission Error'))
      return new UsageError(TABLES_ONLY);
    return new UsageError(
      message.length > MOST_OF_A_MESSAGE ? `${message.slice(0, MOST_OF_A_MESSAGE)}…` : message,
    );
  }
}

/** Characters: a message may quote the statement, or be made by it. */
const MOST_OF_A_MESSAGE = 2_000;

/** Of the engine; extensions are used on demand only by those who load them. */
const SETTINGS = {
  threads: '2',
  memory_limit: '384MB',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
} as const;

const EXPECTED_READ = 'expected a statement that reads: SELECT, FROM, WITH, DESCRIBE, SHOW or SUMMARIZE';

/**
 * Those that statements with limits may call: none that takes the name of a table as a text, since no check sees it.
 */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['range', 'generate_series', 'unnest', 'repeat', 'json_each', 'json_tree'],
  ...[
    'duckdb_columns',
    'duckdb_functions',
    'duckdb_keywords',
    'duckdb_tables',
    'duckdb_types',
    'duckdb_views',
  ],
]);

/** These return settings, which contain paths; `json_serialize_plan` does so for a statement in a text. */
const SETTINGS_IN = /^(?:current_setting|pg_settings|json_serialize_plan)$/i;

/** In a statement as DuckDB has parsed it. */
function* namesRefused(node: unknown): Generator<string> {
  if (!isObject(node)) return;
  const { type, function: called, function_name: name, table_name: table } = node;
  if (type === 'TABLE_FUNCTION' && isObject(called)) {
    const function_ = String(called['function_name']);
    if (!TABLE_FUNCTIONS.has(function_.toLowerCase())) yield function_;
  }
  for (const one of [name, table]) if (isText(one) && SETTINGS_IN.test(one)) yield one;
  for (const inner of Object.values(node)) yield* namesRefused(inner);
}

/** By default, DuckDB uses folders in the home directory. */
const WITHOUT_HOME = { home_directory: '', extension_directory: '', secret_directory: '/dev/null' } as const;

/** Linux only: paths of open folders by their descriptors. */
const OPEN_FOLDERS = '/proc/self/fd';

/** Interval (ms) of the check whether a statement must end. */
const WATCH_MS = 100;

interface CheckedStatement {
  readonly sql: string;
  readonly columns: readonly string[];
  readonly isRead: boolean;
}

const ROW = '"row of the answer"';
const OTHERWISE = 'or run `affilog sql` on a machine of the installation';
const TABLES_ONLY =
  'expected a statement that reads tables only: no files, settings, network or extensions, ' + OTHERWISE;

/** Rows of texts. */
type Rows = readonly (readonly (string | null)[])[];

/**
 * From now on, statements can read the files of the snapshot only, and change no setting. That they do not write is
 * ensured by their type.
 */
async function lock(engine: Engine, { files }: SqlSnapshot): Promise<void> {
  await engine.run(`SET allowed_paths = [${files.map(literal).join(', ')}]`);
  await engine.run('SET enable_external_access = false');
  await engine.run('SET lock_configuration = true');
}

/** Statements that may read comments. */
const COMMENTED = /\b(?:duckdb_(?:columns|tables|views)|information_schema|pg_catalog)\b/i;

/**
 * Statements of DuckDB that list tables, or the columns of one of ours, with descriptions, which its own lists lack.
 */
function inFull(statement: string): string {
  const [, name = ''] = /^\s*(?:DESCRIBE|DESC|SHOW)\s+"?(\w+)"?[\s;]*$/i.exec(statement) ?? [];
  if (/^tables$/i.test(name) && /^\s*SHOW/i.test(statement))
    return (
      'SELECT table_name AS name, table_comment AS description FROM information_schema.tables ' +
      "WHERE table_schema = 'main' ORDER BY name GLOB '[A-Z]*', lower(name)"
    );
  if (!DESCRIPTIONS.has(name.toLowerCase())) return statement;
  return (
    'SELECT column_name, data_type AS column_type, "comment" AS description FROM duckdb_columns() ' +
    `WHERE lower(table_name) = ${literal(name.toLowerCase())} ORDER BY column_index`
  );
}

/** Those whose names are in the statement, maybe in a text or a comment. */
function modelsIn(statement: string): readonly string[] {
  return [...MODEL_TABLES.keys()].filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(statement));
}

async function* jsonText(batches: AsyncIterable<Rows>): AsyncGenerator<string> {
  for await (const rows of batches) yield rows.map(([json]) => `${json}\n`).join('');
}

async function* csvText(batches: AsyncIterable<Rows>, columns: readonly string[]): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const rows of batches) yield rows.map(csvLine).join('');
}

function csvLine(cells: readonly (string | null)[]): string {
  const quotedCells = cells.map((cell) => {
    // An empty text is not the absence of one.
    if (cell === null) return '';
    return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  });
  return `${quotedCells.join(',')}\r\n`;
}

/** Rows that a table shows, and characters of a cell. */
const TABLE = { rows: 1_000, cell: 60 } as const;

async function* tableText(
  batches: AsyncIterable<Rows>,
  columns: readonly string[],
  most: number,
): AsyncGenerator<string> {
  const lines: string[][] = [];
  let all = 0;
  for await (const rows of batches) {
    all += rows.length;
    for (const row of rows.slice(0, TABLE.rows - lines.length))
      lines.push(row.map((cell) => shown(cell, most)));
  }
  for (const line of tableLines(columns, lines)) yield `${line}\n`;
  yield `${all} ${all === 1 ? 'row' : 'rows'}${all > lines.length ? `, of which the first ${lines.length} are shown: --format csv has all` : ''}\n`;
}

function shown(cell: string | null, most: number): string {
  const text = (cell ?? '').replace(/\s+/g, ' ');
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
