import { rmSync } from 'node:fs';
import { chmod, open, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import { optionalDependencies } from '../../../package.json';
import { makeFolder } from '../../engines/data-folder';
import { codeOf } from '../../kernel/values';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { CommandError } from '../command-error';
import { literal, quoted } from './columns';

type Settings = Readonly<Record<string, string>>;

/** DuckDB in memory, with bulk inserts. Its native code runs in threads of its own. */
export class Engine {
  private constructor(
    private readonly duckDb: typeof DuckDb,
    private readonly instance: DuckDb.DuckDBInstance,
    readonly connection: DuckDb.DuckDBConnection,
    private readonly temporary: string | undefined,
  ) {}

  /**
   * What does not fit in memory is spilled to a folder of its own in `analytics`: DuckDB names such files alike in all
   * processes. Without `analytics`, it is spilled to the `temp_directory` of the settings, or nowhere. Raises
   * `CommandError` if DuckDB is not installed.
   */
  static async open(settings: Settings, analytics?: string): Promise<Engine> {
    const duckDb = await load();
    const temporary =
      analytics === undefined ? undefined : join(analytics, `${TEMPORARY}${SYSTEM_CLOCK.uuid()}`);
    const all = {
      temp_directory: '',
      ...settings,
      ...(temporary === undefined ? {} : { temp_directory: temporary }),
    };
    const instance = await duckDb.DuckDBInstance.create(':memory:', all);
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    const engine = new Engine(duckDb, instance, connection, temporary);
    await engine.stay();
    return engine;
  }

  /** Marks its folder as in use: processes remove the folders of others that were not touched for an hour. */
  async stay(): Promise<void> {
    if (this.temporary === undefined) return;
    await makeFolder(this.temporary);
    const now = SYSTEM_CLOCK.wall() / 1000;
    await utimes(this.temporary, now, now);
  }

  /** The type of statements that only read. */
  get SELECT(): DuckDb.StatementType {
    return this.duckDb.StatementType.SELECT;
  }

  async run(sql: string): Promise<void> {
    await this.connection.run(sql);
  }

  /** All rows of a short answer, numbers of more than 32 bits as texts. */
  async rows(sql: string): Promise<readonly (readonly unknown[])[]> {
    return await (await this.connection.run(sql)).getRowsJson();
  }

  /** Creates a table, or replaces it by an empty one. All columns are texts, except `integers`. */
  async table(name: string, columns: readonly string[], integers: readonly string[]): Promise<TableWriter> {
    const types = columns.map((one) => `${quoted(one)} ${integers.includes(one) ? 'BIGINT' : 'VARCHAR'}`);
    await this.run(`CREATE OR REPLACE TEMP TABLE ${name}(${types.join(', ')})`);
    const kinds = columns.map((one) => (integers.includes(one) ? this.duckDb.BIGINT : this.duckDb.VARCHAR));
    const appender = await this.connection.createAppender(name);
    return new TableWriter(
      appender,
      (columnValues) => {
        const chunk = this.duckDb.DuckDBDataChunk.create(kinds, columnValues[0]?.length ?? 0);
        chunk.setColumns(columnValues);
        return chunk;
      },
      kinds.length,
    );
  }

  /** Writes the result of a query to a Parquet file (0600). A file with this name is always complete. */
  async writeParquet(
    query: string,
    file: string,
    part = `${file}.${SYSTEM_CLOCK.uuid()}.part`,
  ): Promise<void> {
    await makeFolder(dirname(file));
    try {
      await this.run(`COPY (${query}) TO ${literal(part)} (${PARQUET})`);
      await chmod(part, 0o600);
      const handle = await open(part);
      await handle.sync().finally(() => handle.close());
      await rename(part, file);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  close(): void {
    this.connection.closeSync();
    this.instance.closeSync();
    if (this.temporary !== undefined) rmSync(this.temporary, { recursive: true, force: true });
  }
}

const TEMPORARY = 'temporary-';

/** Small groups of rows need less memory. */
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 8192';

/** Rows that are appended at once: what a chunk of DuckDB has; and characters. */
const CHUNK_ROWS = 2_048;
const CHUNK_TEXT = 3 * 1024 * 1024;

/**
 * Appends rows in chunks, which is ten times as fast as one by one. Each is flushed: an appender would retain up to
 * 200,000 rows, which DuckDB does not count against `memory_limit`.
 */
export class TableWriter {
  private columns: DuckDb.DuckDBValue[][];
  private text = 0;
  rows = 0;

  constructor(
    private readonly appender: DuckDb.DuckDBAppender,
    private readonly chunkOf: (columns: readonly (readonly DuckDb.DuckDBValue[])[]) => DuckDb.DuckDBDataChunk,
    private readonly width: number,
  ) {
    this.columns = this.emptied();
  }

  append(...values: readonly (string | bigint)[]): void {
    for (let at = 0; at < this.width; at += 1) {
      const value = values[at] ?? null;
      this.columns[at]?.push(value);
      if (typeof value === 'string') this.text += value.length;
    }
    this.rows += 1;
    if (this.columns[0]?.length === CHUNK_ROWS || this.text > CHUNK_TEXT) this.flush();
  }

  /** Afterwards the table has all rows. */
  end(): void {
    this.flush();
    this.appender.closeSync();
  }

  private flush(): void {
    if (this.columns[0]?.length === 0) return;
    this.appender.appendDataChunk(this.chunkOf(this.columns));
    this.appender.flushSync();
    this.columns = this.emptied();
    this.text = 0;
  }

  private emptied(): DuckDb.DuckDBValue[][] {
    return Array.from({ length: this.width }, () => []);
  }
}

async function load(): Promise<typeof DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (cause) {
    // `import` has a code of its own; the native package beneath is required.
    const code = codeOf(cause) ?? 'unknown';
    const problem = code.endsWith('MODULE_NOT_FOUND') ? 'is not installed' : `cannot be loaded (${code})`;
    throw new CommandError(
      `DuckDB ${problem}: run \`npm install --no-save @duckdb/node-api@${VERSION}\` in the folder of the program, on a ` +
        'system that DuckDB is built for (Linux, macOS or Windows)',
      { cause },
    );
  }
}

const VERSION = optionalDependencies['@duckdb/node-api'];
