import { mkdir, readdir } from 'node:fs/promises';
import fc from 'fast-check';
import { openEngines, openLogAt } from '../../src/engines/open';
import { markImport } from '../../src/engines/data-folder';
import { CommandError } from '../../src/operations/command-error';
import { copyLog } from '../../src/operations/copy-log';
import { serveReplay } from '../../src/replay/serve-replay';
import { AUTOMATION_LEASE } from '../../src/runtime/lease-holder';
import { cliFolder, run, type Run } from '../cli/run';
import { type EventLog } from '../../src/kernel/event-log';
import { type NewEvent, NO_STREAM } from '../../src/kernel/event';
import { newEvent, newEvents } from '../contracts/event-log/events';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';

/** Two logs; the first one is filled. */
async function withLogs(
  use: (from: EventLog, to: EventLog) => Promise<void>,
  fillFrom: (log: EventLog) => Promise<void> = someEvents,
): Promise<void> {
  await withLog((from) =>
    withLog(async (to) => {
      await fillFrom(from);
      await use(from, to);
    }),
  );
}

async function someEvents(log: EventLog): Promise<void> {
  await log.append('feed-1', NO_STREAM, newEvents(500));
  await log.append('site-1', NO_STREAM, newEvents(1));
  await log.append('feed-1', 499, newEvents(500));
  await log.append('feed-2', NO_STREAM, newEvents(3));
}

const withoutPosition = async (log: EventLog): Promise<readonly object[]> =>
  (await eventsOf(log)).map((event) => ({ ...event, position: undefined }));

/** The log, with appends that fail after the first `last`. */
function failingAfter(log: EventLog, last: number): EventLog {
  let appends = 0;
  return overrideLog(log, {
    append: async (...args: Parameters<EventLog['append']>) => {
      if ((appends += 1) > last) throw new Error('killed');
      return await log.append(...args);
    },
  });
}

describe('A copy of a log', () => {
  it('has the same events in the same streams and order', () =>
    withLogs(async (from, to) => {
      const copied = await copyLog(from, to);
      expect(copied).toMatchObject({ events: 1004, before: 0 });
      expect(await withoutPosition(to)).toEqual(await withoutPosition(from));
    }));

  it('continues an interrupted copy, whichever append it ended at', () =>
    withLogs(async (from, to) => {
      for (const copied of [500, 501, 1000, 1001]) {
        await expect(copyLog(from, failingAfter(to, 1))).rejects.toThrow('killed');
        expect(await eventsOf(to)).toHaveLength(copied);
      }
      const { digest, before, events } = await copyLog(from, to);
      expect([before, events]).toEqual([1001, 1004]);
      await withLog(async (other) => expect((await copyLog(from, other)).digest).toBe(digest));
    }));

  it('copies what has been appended to the source since', () =>
    withLogs(async (from, to) => {
      await copyLog(from, to);
      await from.append('feed-2', 2, newEvents(2));
      expect(await copyLog(from, to)).toMatchObject({ events: 1006, before: 1004 });
      expect(await withoutPosition(to)).toEqual(await withoutPosition(from));
    }));

  it('is refused without an append when the target has other events', () =>
    withLogs(async (from, to) => {
      await to.append('feed-1', NO_STREAM, [newEvent()]);
      await expect(copyLog(from, to)).rejects.toThrow(CommandError);
      expect(await eventsOf(to)).toHaveLength(1);
    }));

  it('is refused when the target has more events', () =>
    withLogs(async (from, to) => {
      await copyLog(from, to);
      await to.append('feed-3', NO_STREAM, [newEvent()]);
      await expect(copyLog(from, to)).rejects.toThrow('which the source does not have at this position');
    }));

  it('is reported as different when the target returns other events than were appended', () =>
    withLogs(async (from, to) => {
      const changing = overrideLog(to, {
        append: (stream: string, expected: number, events: readonly NewEvent[]) =>
          to.append(stream, expected, [...events.slice(1), newEvent()].slice(-events.length)),
      });
      await expect(copyLog(from, changing)).rejects.toThrow('the copy differs from the source');
    }));

  it('has the same digest for equal logs only', async () => {
    const data = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { maxKeys: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(data, { minLength: 1, maxLength: 20 }), fc.nat(), async (datas, which) => {
        const events = datas.map((one) => newEvent(one));
        const other = events.map((event, at) =>
          at === which % events.length ? { ...event, meta: '{"at":1}' } : event,
        );
        const digests: string[] = [];
        for (const history of [events, events, other])
          await withLogs(
            async (from, to) => {
              digests.push((await copyLog(from, to)).digest);
            },
            async (log) => {
              await log.append('feed-1', NO_STREAM, history);
            },
          );
        expect(digests[0]).toBe(digests[1]);
        expect(digests[0]).not.toBe(digests[2]);
      }),
      { numRuns: 20 },
    );
  });

  it('reports its progress', () =>
    withLogs(async (from, to) => {
      const phases = new Set<string>();
      await copyLog(from, to, { onProgress: ({ phase, events }) => phases.add(`${phase} ${events}`) });
      expect([...phases]).toEqual(['copy 1000', 'copy 1004', 'verify 1000', 'verify 1004']);
    }));
});

describe('A copy into a data folder (decisions X105)', () => {
  const cli = cliFolder();

  /** A server of EventStoreDB with some events, for as long as `use` runs. */
  async function withServed(use: (url: string, log: EventLog) => Promise<void>): Promise<void> {
    await withLog(async (log) => {
      await someEvents(log);
      const server = await serveReplay(log, { host: '127.0.0.1', port: 0 });
      await use(server.url, log).finally(() => server.close());
    });
  }

  const copy = (from: string): Promise<Run> =>
    run(['log', 'copy', '--from', from, '--to', 'sqlite:'], cli.settings());

  it('that is unfinished keeps everything else from opening the engines, until it is continued', () =>
    withServed(async (url, log) => {
      await mkdir(cli.dataDir());
      const target = await openLogAt('sqlite:', cli.dataDir(), '--to');
      const marked: string[] = [];
      const beforeAppends = async (): Promise<void> => {
        await markImport(cli.dataDir(), 'copy');
        marked.push(...(await readdir(cli.dataDir())));
      };
      await expect(copyLog(log, failingAfter(target, 1), { beforeAppends })).rejects.toThrow('killed');
      await target.close();
      expect(marked).toContain('importing');
      const refused = {
        code: 1,
        err: expect.stringContaining(
          `a copy into ${cli.dataDir()} has not finished: run \`affilog log copy\` again with the same options, or empty`,
        ) as string,
      };
      for (const args of [
        ['log', 'check'],
        ['network', 'export'],
        ['log', 'copy', '--from', 'sqlite:', '--to', url],
      ])
        expect(await run(args, cli.settings())).toMatchObject(refused);
      expect(await copy(url)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^1004 events in both logs, 500 of them copied earlier/) as string,
      });
      expect(await readdir(cli.dataDir())).not.toContain('importing');
      expect((await run(['log', 'stats'], cli.settings())).code).toBe(0);
      const copied = await openLogAt('sqlite:', cli.dataDir(), '--to');
      expect(await withoutPosition(copied)).toEqual(await withoutPosition(log));
      await copied.close();
    }));

  it('that is refused marks nothing', () =>
    withServed(async (url) => {
      const target = await openLogAt('sqlite:', cli.dataDir(), '--to');
      await target.append('feed-9', NO_STREAM, newEvents(1));
      await target.close();
      expect(await copy(url)).toMatchObject({ code: 1 });
      expect(await readdir(cli.dataDir())).not.toContain('importing');
    }));

  it('is refused while a server works on its log', () =>
    withServed(async (url) => {
      const settings = { eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
      const engines = await openEngines({ ...settings, dataDir: cli.dataDir() });
      await engines.leases.lease(AUTOMATION_LEASE.name, 'server', Date.now, AUTOMATION_LEASE.ms);
      await engines.close();
      expect(await copy(url)).toMatchObject({
        code: 1,
        err: expect.stringContaining(
          'a server works on this log (it has the lease automation): stop all',
        ) as string,
      });
    }));
});
