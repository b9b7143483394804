import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Config } from '../../settings/config';
import { positionOf } from '../../kernel/event';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { CommandError, UsageError } from '../command-error';
import { type SnapshotParts } from './snapshot';
import { type AsOfPositions, type SqlLimits } from './sql';

type EngineConfig = Pick<Config, 'dataDir' | 'eventLog' | 'readStore' | 'readStoreApiKey'>;

export interface SqlAnswer {
  readonly asOf: AsOfPositions;
  /** Lines of JSON. */
  readonly text: string;
}

/**
 * Answers a statement of a client. Raises `UsageError` if it cannot be answered, `SnapshotUnderWay`, and `CommandError`
 * if DuckDB is not installed.
 */
export type AnswerSql = (statement: string, signal: AbortSignal) => Promise<SqlAnswer>;

/** The snapshot is not up to date yet: another request continues. */
export class SnapshotUnderWay extends CommandError {}

/** Statements over HTTP. */
export const REMOTE: SqlLimits = {
  rows: 10_000,
  ms: 30_000,
  memory: '192MB',
  length: 8_000,
  characters: 8_000_000,
};

/** In this process, for tests: a statement may crash it. */
export function answersHere(parts: SnapshotParts): AnswerSql {
  return async (statement, signal) => {
    // What makes and asks the snapshot is loaded where it is done.
    const { SqlSession } = await import('./sql.js');
    const session = await SqlSession.limited(REMOTE);
    try {
      await session.prepare(parts, statement, { signal });
      let text = '';
      for await (const part of session.text(statement, 'json', signal)) text += part;
      return { text, asOf: session.asOf };
    } finally {
      session.close();
    }
  };
}

/** Longest life (ms) of a process that answers a statement, which includes bringing the snapshot up to date. */
const LIFE_MS = REMOTE.ms + 15_000;

/** A process that uses more memory (bytes) kills itself. DuckDB does not count all that it uses. */
export const MOST_MEMORY = 600_000_000;

/** The last line that such a process writes to standard error before it answers. */
const AS_OF = /^as of position: (.*)\n/m;

/** How many characters of standard error are retained, the last ones. A message has at most some two thousand. */
const MOST_ERRORS = 64_000;

/**
 * Runs each statement in a process of its own, `affilog sql --limited`: one that exceeds the limits of the engine, or
 * crashes it, ends that process only.
 */
export function answersInProcesses(settings: EngineConfig): AnswerSql {
  const { dataDir, eventLog, readStore, readStoreApiKey } = settings;
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    EVENT_LOG: eventLog,
    READ_STORE: readStore,
    ...(readStoreApiKey === undefined ? {} : { READ_STORE_API_KEY: readStoreApiKey }),
  };
  return async (statement, signal) => {
    signal.throwIfAborted();
    const main = join(__dirname, '../../main.js');
    const child = spawn(process.execPath, [main, 'sql', '--limited'], { env, stdio: 'pipe' });
    const kill = (): void => void child.kill('SIGKILL');
    const late = SYSTEM_CLOCK.timer(LIFE_MS, kill);
    signal.addEventListener('abort', kill);
    let [text, errors] = ['', ''];
    let asOf: string | undefined;
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      errors += part;
      asOf ??= AS_OF.exec(errors)?.[1];
      errors = errors.slice(-MOST_ERRORS);
    });
    // It may have ended already.
    child.stdin.on('error', () => undefined).end(statement);
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', resolve);
      });
      signal.throwIfAborted();
      if (code === 0 && asOf !== undefined) return { text, asOf: asOfIn(asOf) };
      throw failureOf(code, errors, asOf !== undefined);
    } finally {
      late.cancel();
      signal.removeEventListener('abort', kill);
    }
  };
}

function asOfIn(text: string): AsOfPositions {
  return new Map(
    text.split(', ').map((part) => {
      const [name = '', position = '0'] = part.split(' ');
      return [name, positionOf(Number(position))] as const;
    }),
  );
}

/** `isReady`: the snapshot was up to date, so the statement has failed. */
function failureOf(code: number | null, errors: string, isReady: boolean): Error {
  const lines = errors.split('\n').filter((line) => line.startsWith('affilog: '));
  const message = lines.map((line) => line.slice('affilog: '.length)).join('\n');
  // What else a process writes that is killed, or crashes, may name paths.
  const progress = [...errors.matchAll(/^.*\/s, \d+ s left$/gm)].at(-1)?.[0];
  if (code === 2) return new UsageError(message);
  if (isReady)
    return new UsageError(
      message.includes(TOO_MUCH) || code === null || code > 1
        ? `the statement ${message.includes(TOO_MUCH) ? TOO_MUCH : `has run for ${REMOTE.ms / 1000} s, or has made DuckDB fail`}: ` +
            'select less, or run `affilog sql` on a machine of the installation'
        : message,
    );
  if (code === null)
    return new SnapshotUnderWay(
      `the snapshot was not ready within ${LIFE_MS / 1000} s (the first time, a million events take a minute)${
        progress === undefined ? '' : `; ${progress}`
      }: repeat the request, which continues`,
    );
  return new CommandError(message);
}

/** Printed by a process that kills itself because of its memory. */
export const TOO_MUCH = 'needs too much memory';
