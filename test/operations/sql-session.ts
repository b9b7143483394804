import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Engines, openEngines } from '../../src/engines/open';
import { directoryAt } from '../../src/network/directory';
import { type KeepUpOptions, type SnapshotParts } from '../../src/operations/sql/snapshot';
import { type SqlLimits, SqlSession, type TextFormat } from '../../src/operations/sql/sql';
import { appendAtEnd, newEvent } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { removeFolder, temporaryFolder } from '../support/server';

export let folder: string;
export let engines: Engines;
export let parts: SnapshotParts;
beforeEach(async () => {
  folder = await temporaryFolder();
  engines = await openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const { log, store, deliveries } = engines;
  parts = { dataDir: folder, log, store, deliveries, directory: () => directoryAt(log) };
});
afterEach(async () => {
  await engines.close();
  await removeFolder(folder);
});

export interface AskOptions extends KeepUpOptions {
  readonly format?: TextFormat;
  readonly limits?: SqlLimits;
  readonly of?: SnapshotParts;
}

/** By the folder. A new one defines all views, which takes tenths of a second. */
const sessions = new Map<string, SqlSession>();
afterEach(() => {
  for (const session of sessions.values()) session.close();
  sessions.clear();
});

async function sessionOf(dataDir: string): Promise<SqlSession> {
  const session = sessions.get(dataDir) ?? (await SqlSession.open(dataDir));
  sessions.set(dataDir, session);
  return session;
}

/** Over the snapshot as it is by now. */
export async function opening(models = ''): Promise<(statement: string) => Promise<readonly Row[]>> {
  const session = await sessionOf(folder);
  await session.prepare(parts, models);
  return async (statement) => rowsOf(await textOf(session, statement));
}

export async function textOf(
  session: SqlSession,
  statement: string,
  format: TextFormat = 'json',
): Promise<string> {
  let text = '';
  for await (const part of session.text(statement, format)) text += part;
  return text;
}

export async function ask(
  statement: string,
  { format = 'json', limits, of = parts, ...options }: AskOptions = {},
) {
  // With limits, it serves one statement.
  const session = await (limits === undefined ? sessionOf(of.dataDir) : SqlSession.limited(limits));
  try {
    await session.prepare(of, statement, options);
    return { text: await textOf(session, statement, format), asOf: session.asOf };
  } finally {
    if (limits !== undefined) session.close();
  }
}

export interface Sample {
  readonly type: string;
  readonly data: Row;
  readonly meta?: Row;
}

export type Row = Readonly<Record<string, unknown>>;

export async function rows(statement: string, options?: AskOptions): Promise<readonly Row[]> {
  return rowsOf((await ask(statement, options)).text);
}

export function rowsOf(text: string): readonly Row[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
}

export async function layoutFolder(): Promise<string> {
  const all = await readdir(join(folder, 'analytics')).catch(() => []);
  return join(folder, 'analytics', all.find((one) => /^[0-9a-f]{16}$/.test(one)) ?? '');
}

export async function filesIn(name: string): Promise<readonly string[]> {
  const all = await readdir(join(folder, 'analytics'), { recursive: true }).catch(() => []);
  return all.filter((one) => one.includes(`/${name}/`));
}

const samples = async (): Promise<readonly string[]> =>
  (await readdir(join(__dirname, '../golden'))).map((name) => name.replace('.json', ''));

/** Appends each sample of an event to its stream. */
export async function appendSamples(): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  for (const name of await samples()) {
    const [type = '', ...variant] = name.split('-');
    const { stream, event } = golden<Sample>(type, variant.length === 0 ? '' : `-${variant.join('-')}`);
    const added = { ...newEvent(event.data), type, meta: JSON.stringify(event.meta ?? {}) };
    await appendAtEnd(engines.log, stream, added);
    types.set(added.id, type);
  }
  return types;
}
