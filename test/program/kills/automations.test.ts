import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { TestApp } from '../../support/app';
import { DIST } from '../../support/built';
import { cases } from '../../support/size';
import { smallNetwork } from '../../support/small-network';
import { eventsOfTransaction, report, sale } from '../../support/transactions';

const DAY = 86_400_000;
const AT = Date.parse('2026-01-05T08:00:00.000Z');
/** Of each kind. */
const COUNT = 50;

/** When successive processes are killed: at this append, or when all have been appended and are not visible yet. */
const MOMENTS = [
  [20, 'after'],
  [1, 'before'],
  [0, 'waiting'],
  [1, 'after'],
  [2, 'before'],
  [7, 'before'],
  [7, 'after'],
  [3, 'before'],
  [11, 'after'],
  [5, 'before'],
  [9, 'after'],
  [0, 'waiting'],
] as const;

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: smallNetwork(), now: () => new Date(AT) });
});
afterAll(() => app.close());

/** Runs the automations in a process of its own; returns the signal that has ended it. */
async function automate(start: number, n: number, when: string): Promise<string | null> {
  const script = join(__dirname, '../../support/automate.cjs');
  const args = [script, DIST, app.folder, String(start), String(n), when];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(code ?? 0).toBe(0);
  return signal;
}

async function journeys(ids: readonly string[]): Promise<readonly string[]> {
  const events = await Promise.all(ids.map((id) => eventsOfTransaction(app.engines.log, id)));
  return [
    ...new Set(events.map((of) => of.map(({ type }) => type.replace('Transaction', '')).join())),
  ].sort();
}

test('whenever processes are killed, each transaction is moved, and once (decisions T4)', async () => {
  const [program] = smallNetwork().programs;
  const { log } = app.engines;
  const reported = async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let number = 0; number < COUNT; number += 1)
      ids.push(await report(log, app.follower.directory, new Date(AT), sale()));
    return ids;
  };
  const pending = await reported();
  await app.import({ programs: [{ ...program, status: 'paused' }] });
  const paused = await reported();
  await app.import({ programs: [{ ...program, status: 'active' }] });
  expect(await journeys([...pending, ...paused])).toEqual(['Tracked,BecamePending', 'Tracked,Paused']);

  const killed = MOMENTS.slice(0, cases(MOMENTS.length, 3));
  // Each starts when the lease of the one before has expired.
  for (const [at, [n, when]] of killed.entries()) {
    await app.settled();
    expect(await automate(AT + 14 * DAY + at * 20_000, n, when)).toBe('SIGKILL');
  }
  await app.settled();
  expect(await automate(AT + 14 * DAY + killed.length * 20_000, 0, 'never')).toBeNull();
  expect(await journeys(pending)).toEqual(['Tracked,BecamePending,PendingApproved']);
  expect(await journeys(paused)).toEqual(['Tracked,Paused,BecamePending']);
});
