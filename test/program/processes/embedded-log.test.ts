import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { appendAtEnd, gather, idsOf, newEvents } from '../../contracts/event-log/events';
import { built, DIST } from '../../support/built';
import { type LogFolder, logFolder } from '../../support/log-folder';

built('src/engines/embedded/log/open-log');

let temporary: LogFolder;
beforeEach(async () => {
  temporary = await logFolder();
});
afterEach(() => temporary.remove());

test.each([['the thread that asks'], ['a log thread']])(
  'kill -9 at any point loses no acknowledged event, appended by %s',
  async (appender) => {
    const acknowledged: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const child = append(`feed${round}`, appender === 'a log thread');
      acknowledged.push(...(await linesUntilKilled(child, 1 + round * round * 50)));
    }

    const { log } = await openLog(temporary.file, false);
    const { events } = await gather(log.readAll({ after: START }));
    const there = new Set(idsOf(events));
    expect(acknowledged.length).toBeGreaterThan(2_500);
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
    expect(there.size).toBe(events.length);
    const batches = events.filter(({ stream }) => stream.endsWith('-3'));
    expect(batches.length % 40).toBe(0);
    await log.close();
  },
);

test('two processes append to one log, and a subscriber in one receives what the other appends', async () => {
  const { log } = await openLog(temporary.file, false);
  const child = append('other', false);
  const heard = gather(
    log.subscribe({ after: START, prefixes: ['other-'] }),
    (events) => events.length >= 1_000,
  );
  const mine = newEvents(200);
  await Promise.all(mine.map((event, n) => appendAtEnd(log, `mine-${n % 20}`, event)));
  await heard;
  const acknowledged = await linesUntilKilled(child, 0);

  const { events } = await gather(log.readAll({ after: START }));
  const there = new Set(idsOf(events));
  expect([...idsOf(mine), ...acknowledged].filter((id) => !there.has(id))).toEqual([]);
  const next = new Map<string, number>();
  for (const { stream, revision } of events) {
    expect(revision).toBe((next.get(stream) ?? NO_STREAM) + 1);
    next.set(stream, revision);
  }
  await log.close();
});

/** A process that appends to the log until it is killed. */
function append(prefix: string, threads: boolean): ChildProcess {
  const script = join(__dirname, '../../support/append-forever.cjs');
  return spawn(process.execPath, [script, DIST, temporary.file, prefix, ...(threads ? ['threads'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Kills it when it has said so many lines; returns all whole lines it has said until then. */
async function linesUntilKilled(child: ChildProcess, count: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout! });
  reader.on('line', (line) => {
    lines.push(line);
    if (lines.length >= count) child.kill('SIGKILL');
  });
  await Promise.all([once(child, 'exit'), once(reader, 'close')]);
  return lines.filter((line) => line.length === 36);
}
