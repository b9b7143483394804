import { statSync } from 'node:fs';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { HeadWatcher } from '../../src/engines/embedded/log/sqlite-event-log';
import { NO_STREAM, positionOf, START } from '../../src/kernel/event';
import { fill, idsOf, newEvent, newEvents } from '../contracts/event-log/events';
import { type LogFolder, logFolder } from '../support/log-folder';

let temporary: LogFolder;
beforeEach(async () => {
  temporary = await logFolder();
});
afterEach(() => temporary.remove());

test('a slow subscriber does not block checkpoints of the WAL', async () => {
  const { log } = await openLog(temporary.file, false);
  await fill(log, 'feed-1', 2_000);
  const slow = log.subscribe({ after: await log.head(), batchSize: 1 })[Symbol.asyncIterator]();
  await slow.next();
  for (let n = 0; n < 60; n += 1)
    await log.append(`feed-${n}0`, NO_STREAM, [newEvent({ text: 'x'.repeat(900_000) })]);
  await slow.next();

  expect(statSync(temporary.file).size).toBeGreaterThan(40_000_000);
  expect(statSync(`${temporary.file}-wal`).size).toBeLessThan(20_000_000);
  await log.close();
});

test('a batch ends at 4 MB, whatever batch size was requested', async () => {
  const { log } = await openLog(temporary.file, false);
  for (let n = 0; n < 12; n += 1)
    await log.append('feed-1', n - 1, [newEvent({ text: 'x'.repeat(1_000_000) })]);

  const sizes: number[] = [];
  for await (const batch of log.readStream('feed-1')) sizes.push(batch.length);
  for await (const { events } of log.readAll({ after: START })) sizes.push(events.length);
  expect(sizes).toEqual([5, 5, 2, 5, 5, 2]);
  await log.close();
});

test('many small appends are read in one batch as fast as in many', async () => {
  const { log } = await openLog(temporary.file, false);
  const all = newEvents(12_000);
  for (const [n, event] of all.entries()) await log.append('order-1', n - 1, [event]);
  const reads = {
    stream: (batchSize: number) => log.readStream('order-1', { batchSize }),
    all: (batchSize: number) => log.readAll({ after: START, batchSize }),
    prefixes: (batchSize: number) => log.readAll({ after: START, batchSize, prefixes: ['order-', 'x'] }),
    backwards: (batchSize: number) => log.readAllBackwards({ batchSize }),
  };
  const ratios: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads)) {
    const took = async (batchSize: number): Promise<number> => {
      const times: number[] = [];
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const started = performance.now();
        let count = 0;
        for await (const batch of read(batchSize))
          count += 'events' in batch ? batch.events.length : batch.length;
        expect(count).toBe(all.length);
        times.push(performance.now() - started);
      }
      return Math.min(...times);
    };
    ratios[name] = (await took(all.length)) / (await took(100));
  }
  // Quadratic reading takes some forty times as long.
  expect(Object.entries(ratios).filter(([, ratio]) => ratio > 8)).toEqual([]);
  await log.close();
});

test('events far apart are found stretch by stretch, and none at the ends of stretches is left out', async () => {
  const { log } = await openLog(temporary.file, false);
  await fill(log, 'feed-1', 49_800);
  const wanted = newEvents(500);
  await log.append('voucher-1', NO_STREAM, wanted);
  await fill(log, 'feed-2', 60_000);

  const batches = [];
  for await (const batch of log.readAll({ after: START, prefixes: ['voucher-'] })) batches.push(batch);
  expect(idsOf(batches.flatMap(({ events }) => events))).toEqual(idsOf(wanted));
  expect(batches.length).toBeGreaterThan(2);
  expect(batches.at(-1)).toMatchObject({ caughtUp: true, position: await log.head() });
  await log.close();
});

describe('who waits for the log to grow', () => {
  const wait = (watcher: HeadWatcher, prefixes?: readonly string[]) =>
    watcher.grownBeyond(5, prefixes, undefined);
  const others = { after: positionOf(5), position: positionOf(7), streams: ['voucher-1'] };

  test('need not read it after appends to other streams', async () => {
    const watcher = new HeadWatcher(() => 5, true);
    const waiting = wait(watcher, ['feed-', 'claim-']);
    watcher.grew(others);
    expect(await waiting).toBe(7);
  });

  test.each([
    ['to the same streams', { ...others, streams: ['voucher-1', 'feed-1'] }, ['feed-']],
    ['to streams that are not named', { position: positionOf(7) }, ['feed-']],
    ['if others before them have not been read', { ...others, after: positionOf(6) }, ['feed-']],
    ['of any kind if all streams are followed', others, undefined],
  ])('reads it after appends %s', async (_, growth, prefixes) => {
    const watcher = new HeadWatcher(() => 5, true);
    const waiting = wait(watcher, prefixes);
    watcher.grew(growth);
    expect(await waiting).toBeUndefined();
  });

  test('does not miss what was appended before', async () => {
    const watcher = new HeadWatcher(() => 5, true);
    watcher.grew(others);
    expect(await wait(watcher, ['feed-'])).toBeUndefined();
  });

  test('is woken once by a head that cannot be read', async () => {
    const watcher = new HeadWatcher(() => 5, true);
    const first = wait(watcher, ['feed-']);
    const unreadable = { position: positionOf(2 ** 52) };
    watcher.grew(unreadable);
    expect(await first).toBeUndefined();
    const second = wait(watcher, ['feed-']);
    watcher.grew(others);
    expect(await second).toBe(7);
  });
});
