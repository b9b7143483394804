import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { NO_STREAM, type RecordedEvent, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { newEvents } from '../contracts/event-log/events';
import { built } from '../support/built';
import { type LogFolder, logFolder } from '../support/log-folder';

const { openLog: openInServer } = built(
  'src/engines/embedded/log/open-log',
) as typeof import('../../src/engines/embedded/log/open-log');

/** Two streams in turns, by appends of ten events: stream `feed-1` has the positions 1 to 10, 21 to 30, ... */
const APPENDS = 120;
const SIZE = 10;
const ALL = APPENDS * SIZE;

let temporary: LogFolder;
let whole: string;
let copies = 0;
beforeAll(async () => {
  temporary = await logFolder();
  whole = join(temporary.folder, 'whole.sqlite');
  const { log } = await openLog(temporary.file, false);
  for (let at = 0; at < APPENDS; at += 1) {
    const revision = Math.floor(at / 2) * SIZE - 1;
    const events = newEvents(SIZE).map((event) => ({ ...event, data: `{"text":"${'x'.repeat(200)}"}` }));
    await log.append(`feed-${(at % 2) + 1}`, at < 2 ? NO_STREAM : revision, events);
  }
  await log.close();
  const database = new DatabaseSync(temporary.file);
  database.exec(`VACUUM INTO '${whole}'`);
  database.close();
});
afterAll(() => temporary.remove());

/** The file of a damaged copy. */
function damaged(damage: (file: string) => void): string {
  const folder = join(temporary.folder, `copy-${(copies += 1)}`);
  mkdirSync(folder);
  const file = join(folder, 'log.sqlite');
  copyFileSync(whole, file);
  damage(file);
  return file;
}

const changed = (sql: string): string =>
  damaged((file) => {
    const database = new DatabaseSync(file, { defensive: false });
    database.exec(sql);
    database.close();
  });

async function withLogIn<Result>(file: string, use: (log: EventLog) => Promise<Result>): Promise<Result> {
  const { log } = await openLog(file, false);
  return await use(log).finally(() => log.close());
}

type Read = (log: EventLog) => Promise<readonly RecordedEvent[]>;

const forwards: Read = async (log) => {
  const all: RecordedEvent[] = [];
  for await (const { events } of log.readAll({ after: START, batchSize: 70 })) all.push(...events);
  return all;
};
const ofStream: Read = async (log) => {
  const all: RecordedEvent[] = [];
  for (const stream of ['feed-1', 'feed-2'])
    for await (const events of log.readStream(stream, { batchSize: 70 })) all.push(...events);
  return all;
};
const READS: Readonly<Record<string, Read>> = {
  'all of it': forwards,
  'the streams with a prefix': async (log) => {
    const all: RecordedEvent[] = [];
    for (const prefixes of [['feed-1'], ['feed-2']])
      for await (const { events } of log.readAll({ after: START, prefixes })) all.push(...events);
    return all;
  },
  'it as a subscriber': async (log) => {
    const all: RecordedEvent[] = [];
    for await (const { events, caughtUp } of log.subscribe({ after: START })) {
      all.push(...events);
      if (caughtUp) break;
    }
    return all;
  },
  'all of it backwards': async (log) => {
    const all: RecordedEvent[] = [];
    for await (const events of log.readAllBackwards({ batchSize: 70 })) all.push(...events);
    return all;
  },
  'its streams': ofStream,
  'its streams backwards': async (log) => {
    const all: RecordedEvent[] = [];
    for (const stream of ['feed-1', 'feed-2'])
      for await (const events of log.readStream(stream, { backwards: true, batchSize: 70 }))
        all.push(...events);
    return all;
  },
};

const reported = (position: number) => ({
  name: 'EngineUnavailable',
  message: expect.stringMatching(
    new RegExp(`^the event log is damaged: .*\\bposition ${position}\\b.*restore it from a backup$`),
  ) as string,
});

describe('a log in which events are missing is reported as damaged, with the position, by who reads (decisions X91)', () => {
  test.each(Object.entries(READS))('%s', async (_, read) => {
    for (const [gone, first] of [
      ['DELETE FROM events WHERE position = 1', 1],
      ['DELETE FROM events WHERE position = 437', 437],
      ['DELETE FROM events WHERE position BETWEEN 431 AND 440', 431],
    ] as const)
      await withLogIn(changed(gone), async (log) => {
        const message = read.toString().includes('ackwards') ? expect.anything() : reported(first).message;
        await expect(read(log)).rejects.toMatchObject({ ...reported(first), message });
      });
  });

  test('an append is missing', async () => {
    const file = changed('DELETE FROM appends WHERE position = 440');
    await withLogIn(file, async (log) => {
      for (const read of ['all of it', 'the streams with a prefix', 'it as a subscriber', 'its streams'])
        await expect(READS[read]!(log)).rejects.toMatchObject({ name: 'EngineUnavailable' });
      await expect(forwards(log)).rejects.toMatchObject(reported(431));
    });
  });

  test.each(Object.entries(READS))('%s, of which an append has a revision that is none', async (_, read) => {
    const file = changed('UPDATE appends SET revision = 8872782195034694202 WHERE position = 440');
    await expect(withLogIn(file, read)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('damaged') as string,
    });
  });

  test.each([
    ['the last append', `DELETE FROM appends WHERE position = ${ALL}`],
    ['the last event', `DELETE FROM events WHERE position = ${ALL}`],
  ])('%s is missing: it is not even opened', async (_, gone) => {
    await expect(withLogIn(changed(gone), forwards)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('the event log is damaged'),
    });
  });
});

describe('an index of streams that lacks an append (decisions X91)', () => {
  const INDEX = 'sqlite_autoindex_appends_1';
  const torn = (): string =>
    changed(`
      CREATE TABLE spare (position INTEGER PRIMARY KEY, stream TEXT, revision INTEGER, UNIQUE (stream, revision));
      INSERT INTO spare SELECT position, stream, revision FROM appends WHERE position <> 600;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_spare_1')
      WHERE name = '${INDEX}'`);

  test('is found when a server opens the log', async () => {
    await expect(openInServer(torn(), true)).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('its index of streams is incomplete') as string,
    });
  });

  test('is not looked for by what opens the log for a moment: that would take longer with every append', async () => {
    await withLogIn(torn(), async (log) => expect(await forwards(log)).toHaveLength(ALL));
  });
});

test('a log with flipped bytes gives all of its events, or says that it is not available', async () => {
  const bytes = readFileSync(whole);
  const flips = fc.array(
    fc.tuple(fc.integer({ min: 100, max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 })),
    {
      minLength: 1,
      maxLength: 400,
    },
  );
  // A name of a stream that is another one by now is found only by the revision that is missing in the old one.
  const kinds = fc.constantFrom('all of it', 'it as a subscriber', 'all of it backwards');
  await fc.assert(
    fc.asyncProperty(flips, kinds, async (flipped, kind) => {
      const file = damaged((copy) => {
        const spoilt = Buffer.from(bytes);
        for (const [at, mask] of flipped) spoilt[at]! ^= mask;
        writeFileSync(copy, spoilt);
      });
      const outcome = await withLogIn(file, READS[kind]!).then(
        (events) => events.length,
        (error: unknown) =>
          /^EngineUnavailable$/.test((error as Error).name) ? 'EngineUnavailable' : (error as Error).stack,
      );
      expect([ALL, 'EngineUnavailable']).toContain(outcome);
    }),
    { numRuns: 300 },
  );
});
