import { type ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { PROJECTIONS } from '../projections';
import { type Engines, openEngines } from '../src/engines/open';
import { numberOf } from '../src/kernel/event';
import { MODEL_TABLES } from '../src/operations/sql/models';
import { waitForPosition } from '../src/projector/wait';
import { SYSTEM_CLOCK } from '../src/runtime/clock';
import { readAll } from './bare/log';
import { createClaims } from './claims-create';
import { type Bench, type Figure, timed } from './harness';
import { bodyOf } from './products';
import { memoryOf } from './process-memory';
import { launch } from './program';
import { Server } from './server';
import { decideTransactions, reportTransactions } from './transactions';
import { createVouchers } from './voucher-create';

/** With 100,000 as the count: a million events. */
const TIMES = 10;

/** Limits: seconds of a snapshot of a million events, of keeping it up, and of all questions together; MB. */
const GOALS = { snapshot: 60, keepUp: 1, questions: 2, memory: 600 } as const;

const FEED = 1;

/** Names all read models, so that they are brought up to date too. */
const EVERYTHING = `SELECT count(*) AS "${[...MODEL_TABLES.keys()].join(' ')}" FROM events`;

/**
 * Asks `affilog sql`, in one process, the ten questions of `docs/sql.md` about ten times the count of events, beside an
 * idle server. Measures the first snapshot with all read models, from the start of the process; keeping it up with new
 * prices of as many products as a tenth of the count; all questions; and the peak memory of the process.
 * Bare: reads all columns of the log's file once.
 */
export async function* sql(bench: Bench): AsyncGenerator<Figure> {
  const dataDir = join(bench.folder, 'sql');
  const server = await Server.start(dataDir, 'api,projector');
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  let prompt: Prompt | undefined;
  try {
    const events = await fill(server, engines, bench.count);
    const start = performance.now();
    prompt = new Prompt(dataDir);
    await prompt.ask(EVERYTHING);
    const first = (performance.now() - start) / 1000;
    const bare = (await timed(() => readAll(server.logFile))) / 1000;
    yield atMost('sql snapshot', first, (GOALS.snapshot * events) / 1_000_000);
    yield { ...atMost('sql snapshot beside bare', first, bare), goal: null };

    await reprice(server, Math.ceil(bench.count / 10), 2);
    await projected(engines);
    yield atMost('sql keeping up', await secondsOf(prompt, [EVERYTHING]), GOALS.keepUp);

    const all = await secondsOf(prompt, questions());
    yield atMost('sql ten questions', all, GOALS.questions);
    yield { ...atMost('sql ten questions beside bare', all, bare), goal: null };
    yield atMost('sql memory', prompt.peakMemory(), GOALS.memory, 'MB');
    for (const question of questions())
      await prompt.ask(`SELECT error('no rows') WHERE NOT EXISTS (FROM (${question}))`);
  } finally {
    prompt?.kill();
    await engines.close();
    await server.stop();
  }
}

async function secondsOf(prompt: Prompt, statements: readonly string[]): Promise<number> {
  const ms = await timed(async () => {
    for (const statement of statements) await prompt.ask(statement);
  });
  return ms / 1000;
}

/**
 * Transactions that are decided, vouchers, claims, and for the rest products, listed and then with another price;
 * returns the number of events.
 */
async function fill(server: Server, engines: Engines, count: number): Promise<number> {
  const few = Math.ceil(count / 10);
  await reportTransactions(server, 0, count);
  await decideTransactions(server, 0, count);
  await createVouchers(server, 0, few);
  await createClaims(server, 0, few);
  const left = count * TIMES - numberOf(await engines.log.head());
  const products = Math.max(few, Math.floor(left / 2));
  await server.post(FEED, 'json', Readable.from(bodyOf('json', products)));
  await reprice(server, products, 1);
  return await projected(engines);
}

/** Posts the first products of the feed with other prices. */
async function reprice(server: Server, products: number, units: number): Promise<void> {
  await server.post(FEED, 'json', Readable.from(repriced(products, units)));
}

function* repriced(products: number, units: number): Generator<string> {
  for (const piece of bodyOf('json', products)) yield piece.replaceAll(/"price":\d+/g, `"price":${units}`);
}

/** Waits for all read models; returns the number of events. */
async function projected({ log, store }: Engines): Promise<number> {
  const head = await log.head();
  await waitForPosition(SYSTEM_CLOCK, store, PROJECTIONS, head, Infinity);
  return numberOf(head);
}

/** Those of `docs/sql.md`; what was published now is after the time that one of them names. */
function questions(): readonly string[] {
  const text = readFileSync(join(__dirname, '../../docs/sql.md'), 'utf8');
  const found = [...text.matchAll(/```sql\n([^`]*)```/g)].map(([, question = '']) => question);
  if (found.length !== 10) throw new Error(`docs/sql.md has ${found.length} questions, expected 10`);
  return found.map((question) => question.replace('2026-10-02', '2999-01-01'));
}

/** `affilog sql` without a statement: a process that answers one after the other. */
class Prompt {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;

  constructor(dataDir: string) {
    this.child = launch(dataDir, ['sql', '--format', 'csv'], {}, 'pipe') as ChildProcessWithoutNullStreams;
    this.child.stdout.resume();
    this.lines = createInterface({ input: this.child.stderr })[Symbol.asyncIterator]();
  }

  /** Waits for the whole answer, which is discarded; raises what is reported instead. */
  async ask(statement: string): Promise<void> {
    this.child.stdin.write(`${statement};\n`);
    let reported = '';
    for (;;) {
      const next = await this.lines.next();
      const line: string = next.done === true ? '' : next.value;
      if (line.startsWith('as of position: ')) return;
      reported += `${line}\n`;
      if (next.done === true || line.startsWith('affilog: ')) throw new Error(`${statement}: ${reported}`);
    }
  }

  /** Peak resident memory so far, in MB. */
  peakMemory(): number {
    return memoryOf(this.child.pid ?? 0, 'VmHWM');
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

function atMost(figure: string, measured: number, limit: number, unit = 's'): Figure {
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit };
}
