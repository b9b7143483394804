import { once } from 'node:events';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { RatesPublisher } from '../../../src/delivery/matching/rates';
import { TestClock } from '../../support/clock';
import { eventsOf, overrideLog, withLog } from '../../support/temporary-log';

const csv = (usd: string, day = '2026-01-05') => `Date,USD,\n${day},${usd},\n`;

let folder: string;
let file: string;
let now: number;
let reports: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-rates-'));
  file = join(folder, 'eurofxref.csv');
  now = Date.parse('2026-01-05T15:00:00Z');
  reports = [];
});
afterEach(() => rm(folder, { recursive: true }));

function publisher(log: EventLog, source = file): RatesPublisher {
  const report = (failure: unknown): number => reports.push((failure as Error).message);
  return new RatesPublisher(new TestClock(() => now), log, source, { report, lookMs: 1 });
}

async function published(log: EventLog): Promise<readonly (readonly [string, string])[]> {
  const events = await eventsOf(log);
  return events.map(({ stream, data }) => [stream, data]);
}

async function write(text: string): Promise<void> {
  await writeFile(file, text);
  await utimes(file, now / 1000, now / 1000);
}

const data = (at: string, usd: number, day = '2026-01-05') =>
  JSON.stringify({ at: `2026-01-05T${at}:00.000Z`, day, rates: { USD: usd } });

describe('exchange rates (decisions N12)', () => {
  it('are stored when they are first read, and when a file has changed', () =>
    withLog(async (log) => {
      await write(csv('1.08'));
      const one = publisher(log);
      await one.turn();
      now += 60_000;
      await one.turn();
      await write(csv('1.09'));
      await one.turn();
      expect(await published(log)).toEqual([
        ['exchange-rates', data('15:00', 1.08)],
        ['exchange-rates', data('15:01', 1.09)],
      ]);
    }));

  it('are stored once, however often and by however many processes they are read', () =>
    withLog(async (log) => {
      await write(csv('1.08'));
      const all = [publisher(log), publisher(log), publisher(log)];
      await Promise.all(all.map((one) => one.turn()));
      now += 3_600_000;
      await Promise.all(all.map((one) => one.turn()));
      expect(await published(log)).toHaveLength(1);
      expect(reports).toEqual([]);
    }));

  it('remain when a file is faulty, missing, from the future or older', () =>
    withLog(async (log) => {
      await write(csv('1.08'));
      const one = publisher(log);
      await one.turn();
      for (const text of [csv('free'), csv('1.09', '2026-01-07'), csv('1.07', '2026-01-02')]) {
        now += 1000;
        await write(text);
        await one.turn();
        expect(one.trouble()).toBe(reports.at(-1));
      }
      await rm(file);
      await one.turn();
      await one.turn();
      expect(reports).toEqual(
        [
          '"free" is no rate of USD (2026-01-05)',
          'they are of 2026-01-07, a day to come',
          'they are of 2026-01-02, and those of 2026-01-05 are known',
          'see the log',
        ].map((why) => `the exchange rates cannot be read: ${why}; those that are known remain`),
      );
      expect(await published(log)).toHaveLength(1);
      await write(csv('1.1'));
      await one.turn();
      expect([one.trouble(), (await published(log)).length]).toEqual([undefined, 2]);
    }));

  it('are not read from a folder, or from what has no end', () =>
    withLog(async (log) => {
      await publisher(log, folder).turn();
      await publisher(log, '/dev/zero').turn();
      await writeFile(file, Buffer.alloc(16 * 1024 * 1024 + 1, ' '));
      await publisher(log).turn();
      expect(reports.map((report) => report.split(/: |; /)[1])).toEqual([
        'NOTIFY_RATES is not a file',
        'NOTIFY_RATES is not a file',
        'they are longer than 16777216 bytes',
      ]);
    }));

  it('are stored when the log is available again', () =>
    withLog(async (log) => {
      await write(csv('1.08'));
      let failures = 3;
      const failing = overrideLog(log, {
        append: async (...all) => {
          if (failures-- > 0) throw new EngineUnavailable('the event log is not available: the disk is full');
          return log.append(...all);
        },
      });
      const one = publisher(failing);
      one.start();
      for await (const { events } of log.subscribe({ after: '0'.repeat(19) })) if (events.length > 0) break;
      await one.stop();
      expect(reports).toEqual(['the event log is not available: the disk is full']);
    }));
});

describe('exchange rates from a URL (decisions N12)', () => {
  let answer: (response: ServerResponse) => void;
  const server = createServer((_, response) => answer(response));
  let url: string;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/daily`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('are read every hour, five minutes after a failure', () =>
    withLog(async (log) => {
      const one = publisher(log, url);
      const rates = ['1.08', '1.09', undefined, '1.10'];
      let requests = 0;
      answer = (response) => {
        const usd = rates[requests];
        requests += 1;
        response.statusCode = usd === undefined ? 503 : 200;
        response.end(usd === undefined ? 'try later' : csv(usd));
      };
      const counts: number[] = [];
      for (const minutes of [0, 59, 1, 60, 4, 1, 59]) {
        now += minutes * 60_000;
        await one.turn();
        counts.push(requests);
      }
      expect(counts).toEqual([1, 1, 2, 3, 3, 4, 4]);
      expect((await published(log)).map(([, text]) => text)).toEqual([
        data('15:00', 1.08),
        data('16:00', 1.09),
        data('17:05', 1.1),
      ]);
      expect(reports).toEqual([
        'the exchange rates cannot be read: the server answers 503; those that are known remain',
      ]);
    }));

  it('are not read beyond 16 MB', () =>
    withLog(async (log) => {
      answer = (response) => {
        const more = (): void => {
          while (response.write(Buffer.alloc(1024 * 1024)));
          response.once('drain', more);
        };
        more();
      };
      await publisher(log, url).turn();
      expect(reports[0]).toContain('they are longer than 16777216 bytes');
    }));

  it('do not delay a stop', () =>
    withLog(async (log) => {
      const one = publisher(log, url);
      const requested = new Promise<void>((resolve) => (answer = () => resolve()));
      one.start();
      await requested;
      await one.stop();
      expect([reports, one.trouble()]).toEqual([[], undefined]);
    }));
});
