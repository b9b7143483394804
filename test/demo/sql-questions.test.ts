import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDemo } from '../../src/demo/create-demo';
import { type Engines, openEngines } from '../../src/engines/open';
import { type RecordedEvent } from '../../src/kernel/event';
import { rebuildProjections } from '../../src/operations/rebuild';
import { run } from '../cli/run';
import { DAY } from '../../src/wire/date';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf } from '../support/temporary-log';

const QUESTIONS = [
  ...readFileSync(join(__dirname, '../../docs/sql.md'), 'utf8').matchAll(
    /\n\n([^\n]+(?:\n[^\n]+)*)\n\n```sql\n([^`]*)```/g,
  ),
].map(([, question = '', sql = '']) => [question, sql] as const);

/** When the first voucher of the demo, of 100 days ago, had not been edited yet. */
const IN_AUTUMN = new Date(Date.now() - 50 * DAY).toISOString().slice(0, 10);

type Row = Readonly<Record<string, unknown>>;

let folder: string;
let events: readonly RecordedEvent[];
beforeAll(async () => {
  folder = await temporaryFolder();
  const engines: Engines = await openEngines({
    dataDir: folder,
    eventLog: 'sqlite:',
    readStore: 'sqlite:',
    threads: false,
  });
  await createDemo(engines.log, folder);
  await rebuildProjections(engines, 'all');
  events = await eventsOf(engines.log);
  await engines.close();
}, 120_000);
afterAll(() => removeFolder(folder));

async function answerTo(sql: string): Promise<readonly Row[]> {
  const file = join(folder, 'answer.json');
  const { code, err } = await run(['sql', sql, '--out', file], { DATA_DIR: folder });
  expect([code, err]).toEqual([0, expect.stringContaining('as of position: log')]);
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
}

const questionWith = (words: string): string => QUESTIONS.find(([question]) => question.includes(words))![1];
const ofType = (type: string) =>
  events
    .filter((event) => event.type === type)
    .map(({ stream, data }) => ({ stream, data: JSON.parse(data) as Row }));

describe('The questions of docs/sql.md, over the demo network (decisions X115)', () => {
  it('are ten', () => {
    expect(QUESTIONS).toHaveLength(10);
  });

  it.each(QUESTIONS)('are answered with rows: %.60s', async (_, sql) => {
    const rows = await answerTo(sql.replace('2026-10-02', IN_AUTUMN));
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(Object.keys(row).length).toBeGreaterThan(1);
  });

  it('have a voucher as it was at a time, and affilog history has the same', async () => {
    const [first] = ofType('VoucherPublished').filter(({ stream }) => stream === 'voucher-1');
    const [last] = ofType('VoucherRevised').filter(({ stream }) => stream === 'voucher-1');
    const sql = questionWith('What did this voucher look like');
    expect(await answerTo(sql.replace('2026-10-02', IN_AUTUMN))).toMatchObject([
      { type: 'VoucherPublished', code: 'KLANG5', voucher: first!.data['voucher'] },
    ]);
    expect(await answerTo(sql.replace('2026-10-02', '2999-01-01'))).toMatchObject([
      { type: 'VoucherRevised', code: 'KLANG10', voucher: last!.data['voucher'] },
    ]);
    const { out } = await run(['history', 'voucher', '1', '--at', IN_AUTUMN], { DATA_DIR: folder });
    expect(out).toContain('   code: "KLANG5"\n');
  });

  it('count what was approved within a week', async () => {
    const approved = new Map<string, number>();
    for (const type of ['TransactionPendingApproved', 'TransactionTrackedApproved'])
      for (const { stream, data } of ofType(type)) approved.set(stream, Date.parse(String(data['at'])));
    const expected = new Map<number, number>();
    for (const { stream, data } of ofType('TransactionTracked')) {
      const { programId } = data['transaction'] as { readonly programId: number };
      const ms = (approved.get(stream) ?? Infinity) - Date.parse(String(data['at']));
      expected.set(programId, (expected.get(programId) ?? 0) + (ms <= 7 * 86_400_000 ? 1 : 0));
    }
    const rows = await answerTo(questionWith('approved within a week'));
    expect(new Map(rows.map((row) => [row['programId'], row['within_a_week']]))).toEqual(expected);
    expect([...expected.values()].some((count) => count > 0)).toBe(true);
  });

  it('have prices in units', async () => {
    const rows = await answerTo(questionWith('prices in units'));
    const repriced = ofType('ProductRepriced');
    expect(rows.map((row) => [row['sourceProductId'], row['price']])).toEqual(
      repriced.map(({ data }) => [data['sourceProductId'], Number(data['price']) / 100]),
    );
  });
});
