import { createWriteStream, writeSync } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { type Engines } from '../engines/open';
import { EngineUnavailable } from '../kernel/event-log';
import { codeOf } from '../kernel/values';
import { CommandError, UsageError } from '../operations/command-error';
import { type SqlSession, type TextFormat } from '../operations/sql/sql';
import { type SnapshotParts } from '../operations/sql/snapshot';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type CliParts, configOf, letServersPass, onEngines, withProgress } from './settings';

interface SqlFlags {
  readonly format?: TextFormat | 'parquet';
  readonly out?: string;
  readonly limited?: boolean;
}

export function addSql(affilog: Command, parts: CliParts): void {
  affilog
    .command('sql')
    .description(
      'Ask a question in SQL, over a snapshot of the log and the read models; without one, a prompt. Works while ' +
        'servers run. Needs DuckDB, which npm installs where it is available.',
    )
    .argument('[statement]', 'a statement of SQL; docs/sql.md has examples')
    .addOption(
      new Option('--format <format>', 'by default a table, or with --out as the file is called').choices([
        'table',
        'csv',
        'json',
        'parquet',
      ]),
    )
    .option('--out <file>', 'Write the answer to a file.')
    // For servers (`operations/sql/remote.ts`): the statement comes from standard input.
    .addOption(new Option('--limited').hideHelp())
    .action(
      onEngines(
        parts,
        async (
          engines,
          statement: string | undefined,
          { format, out, limited }: SqlFlags,
          command: Command,
        ) => {
          const { SqlSession: Session } = await import('../operations/sql/sql.js');
          const { dataDir } = await configOf(command, parts);
          const wanted = format ?? formatOf(out);
          if (wanted === 'parquet' && out === undefined)
            throw new UsageError('--format parquet: expected --out too, the file that it is written to');
          if (limited === true) {
            await answerLimited(parts, await partsOf(engines, dataDir));
            return;
          }
          const session = await Session.open(dataDir);
          const ask = asking(session, await partsOf(engines, dataDir), parts, { format: wanted, out });
          try {
            if (statement === undefined) await prompt(parts, ask);
            else await ask(statement, parts.stopSignal());
          } finally {
            session.close();
          }
        },
      ),
    );
}

function formatOf(out = ''): TextFormat | 'parquet' {
  return (['csv', 'json', 'parquet'] as const).find((one) => out.endsWith(`.${one}`)) ?? 'table';
}

async function partsOf({ log, store, deliveries }: Engines, dataDir: string): Promise<SnapshotParts> {
  const { growingDirectory } = await import('../network/directory.js');
  return { dataDir, log, store, deliveries, directory: growingDirectory(log) };
}

interface AnswerOutput {
  readonly format: TextFormat | 'parquet';
  readonly out?: string | undefined;
}

type Ask = (statement: string, signal: AbortSignal) => Promise<void>;

function asking(
  session: SqlSession,
  snapshot: SnapshotParts,
  parts: CliParts,
  { format, out }: AnswerOutput,
): Ask {
  const { stdout, stderr } = parts;
  return async (statement, signal) => {
    const stopSignal = (): AbortSignal => signal;
    await withProgress({ ...parts, stopSignal }, (shown) => session.prepare(snapshot, statement, shown));
    if (format === 'parquet') await session.parquet(statement, out ?? '', signal);
    else {
      const text = Readable.from(session.text(statement, format, signal));
      if (out === undefined) await pipeline(text, stdout, { end: false });
      else await writeAnswer(text, out);
    }
    stderr.write(asOfLine(session));
  };
}

/**
 * A file that is there stays as it is unless the answer is complete. What is no file, such as a pipe, is written to.
 */
async function writeAnswer(text: Readable, out: string): Promise<void> {
  const path = await realpath(out).catch(() => out);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === false) {
    await pipeline(text, createWriteStream(path));
    return;
  }
  const part = `${path}.part`;
  try {
    await pipeline(text, createWriteStream(part, { mode: 0o600 }));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

function asOfLine({ asOf }: SqlSession): string {
  const all = [...asOf].map(([name, position]) => `${name} ${Number(position)}`);
  return `as of position: ${all.join(', ')}\n`;
}

/** How often it is looked at how much memory is used: some 50 MB more can be by then (ms). */
const WATCH_MS = 20;

/** With the limits of statements over HTTP; prints the position before it answers. Its messages have no paths. */
async function answerLimited(parts: CliParts, snapshot: SnapshotParts): Promise<void> {
  const { stdin, stdout, stderr, stopSignal } = parts;
  const { SqlSession: Session } = await import('../operations/sql/sql.js');
  const { MOST_MEMORY, REMOTE, TOO_MUCH } = await import('../operations/sql/remote.js');
  letServersPass(parts);
  let statement = '';
  for await (const part of stdin?.setEncoding('utf8') ?? []) statement += String(part);
  const watch = SYSTEM_CLOCK.interval(WATCH_MS, () => {
    if (process.memoryUsage.rss() < MOST_MEMORY) return;
    writeSync(2, `affilog: ${TOO_MUCH}\n`);
    // Threads of the engine may be in the middle of something.
    process.kill(process.pid, 'SIGKILL');
  });
  let session: SqlSession | undefined;
  try {
    const opened = (session = await Session.limited(REMOTE));
    await withProgress(parts, (shown) => opened.prepare(snapshot, statement, shown));
    stderr.write(asOfLine(opened));
    await pipeline(Readable.from(opened.text(statement, 'json', stopSignal())), stdout, { end: false });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Without their causes, which may have paths.
    if (error instanceof CommandError || error instanceof EngineUnavailable)
      throw new CommandError(error.message);
    stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    throw new CommandError(
      `it failed (${codeOf(error) ?? 'a bug'}): \`affilog sql\` on a machine of the installation says why`,
    );
  } finally {
    watch.cancel();
    session?.close();
  }
}

/**
 * Statements end with a semicolon, as in other prompts. Ctrl+C interrupts the statement that is being answered, or
 * discards what is typed; where nothing is, it ends the prompt.
 */
async function prompt({ stdin, stdout, stderr, stopSignal }: CliParts, ask: Ask): Promise<void> {
  if (stdin === undefined) throw new UsageError('expected a statement');
  const isTerminal = stdin.isTTY === true;
  const lines = createInterface({ input: stdin, ...(isTerminal ? { output: stdout } : {}) });
  const stop = stopSignal();
  stop.addEventListener('abort', () => lines.close(), { once: true });
  // What was typed before the end is answered after it, when Node.js 24 and later prompt no more, but raise.
  let isOver = false;
  lines.once('close', () => (isOver = true));
  const ready = (text: string): void => {
    lines.setPrompt(text);
    if (isTerminal && !isOver) lines.prompt();
  };
  let statement = '';
  let asked: AbortController | undefined;
  lines.on('SIGINT', () => {
    if (asked !== undefined) asked.abort();
    else if (statement === '' && lines.line === '') lines.close();
    else {
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
      statement = '';
      stdout.write('^C\n');
      ready('sql> ');
    }
  });
  const answer = async (text: string): Promise<void> => {
    asked = new AbortController();
    try {
      await ask(text, AbortSignal.any([asked.signal, stop]));
    } catch (error) {
      if (asked.signal.aborted) stderr.write('affilog: interrupted\n');
      else if (error instanceof CommandError) stderr.write(`affilog: ${error.message}\n`);
      else throw error;
    } finally {
      asked = undefined;
    }
  };
  if (isTerminal)
    stdout.write(
      'End statements with a semicolon. SHOW TABLES; lists tables, DESCRIBE vouchers; columns. Ctrl+C interrupts a ' +
        'statement, Ctrl+D ends.\n',
    );
  ready('sql> ');
  for await (const line of lines) {
    statement += `${line}\n`;
    if (/;\s*$/.test(statement)) {
      const whole = statement;
      statement = '';
      await answer(whole);
    }
    ready(statement.trim() === '' ? 'sql> ' : '...> ');
  }
  if (statement.trim() !== '' && !stop.aborted) await ask(statement, stop);
}
