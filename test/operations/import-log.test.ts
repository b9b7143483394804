import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EventLog } from '../../src/kernel/event-log';
import { CommandError } from '../../src/operations/command-error';
import { exportLog, importLog } from '../../src/operations/export-log';
import { rangeOf } from '../../src/operations/log-events';
import { start } from '../../src/app/start';
import { openEngines, openLogAt } from '../../src/engines/open';
import { UnfinishedImport } from '../../src/engines/data-folder';
import { AUTOMATION_LEASE, MATCHER_LEASE } from '../../src/runtime/lease-holder';
import { run, type Run } from '../cli/run';
import { fill } from '../contracts/event-log/events';
import { removeFolder, temporaryFolder } from '../support/server';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';
import { folder, inLines, NDJSON, someEvents } from './exported-log';

/** The data folder of what is imported into. */
let dataDir: string;
const importInto = (from: string, to: EventLog): ReturnType<typeof importLog> =>
  importLog(from, to, { dataDir });

describe('an import of an export (decisions X105)', () => {
  beforeEach(async () => {
    dataDir = await temporaryFolder();
  });
  afterEach(() => removeFolder(dataDir));

  it('that is unfinished keeps everything else from opening the engines', () =>
    withLog((log) =>
      withLog(async (to) => {
        const from = join(folder, 'export');
        const open = (importing: boolean): Promise<void> =>
          openEngines({
            ...{ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false, importing },
          }).then((engines) => engines.close());
        await someEvents(log);
        await exportLog(log, from, NDJSON);
        const marked: string[] = [];
        let appends = 0;
        const killed = overrideLog(to, {
          append: async (...args: Parameters<EventLog['append']>) => {
            if (appends === 0) marked.push(...(await readdir(dataDir)));
            if ((appends += 1) === 2) throw new Error('killed');
            return await to.append(...args);
          },
        });
        await expect(importInto(from, killed)).rejects.toThrow('killed');
        expect(marked).toEqual(['importing']);
        const refusal = new UnfinishedImport(
          `an import into ${dataDir} has not finished: run \`affilog log import ${from}\` again, or empty DATA_DIR`,
        );
        await expect(open(false)).rejects.toThrow(refusal);
        await expect(openLogAt('sqlite:', dataDir, '--from')).rejects.toThrow(refusal);
        for (const args of [['serve'], ['log', 'check'], ['network', 'export']])
          expect(await run(args, { DATA_DIR: dataDir, PORT: '0' }, { start })).toMatchObject({
            code: 1,
            err: expect.stringContaining(refusal.message) as string,
          });
        await open(true);
        expect(await importInto(from, to)).toMatchObject({ events: 703 });
        await open(false);
      }),
    ));

  it.each([AUTOMATION_LEASE, MATCHER_LEASE])(
    'is refused while a server has the lease $name',
    ({ name, ms }) =>
      withLog(async (log) => {
        await someEvents(log);
        const from = join(folder, 'export');
        await exportLog(log, from, NDJSON);
        const settings = { eventLog: 'sqlite:', readStore: 'sqlite:', threads: false };
        const engines = await openEngines({ ...settings, dataDir });
        const lease = await engines.leases.lease(name, 'server', Date.now, ms);
        const imported = (): Promise<Run> => run(['log', 'import', from], { DATA_DIR: dataDir });
        expect(await imported()).toMatchObject({
          code: 1,
          err: expect.stringContaining(
            `a server works on this log (it has the lease ${name}): stop all`,
          ) as string,
        });
        expect(await eventsOf(engines.log)).toEqual([]);
        await engines.leases.release(lease!);
        expect(await imported()).toMatchObject({ code: 0 });
        expect(await eventsOf(engines.log)).toHaveLength(703);
        await engines.close();
        const fresh = join(dataDir, 'fresh');
        expect(await run(['log', 'import', from], { DATA_DIR: fresh })).toMatchObject({ code: 0 });
        expect(await readdir(fresh)).not.toContain('importing');
      }),
  );

  it('that is refused marks nothing: a data folder that is in use stays usable', () =>
    withLog((log) =>
      withLog(async (to) => {
        const from = join(folder, 'export');
        await someEvents(log);
        await exportLog(log, from, NDJSON);
        await fill(to, 'feed-1', 1);
        await expect(importInto(from, to)).rejects.toThrow(
          'expected an empty target or an incomplete copy of the source: choose another DATA_DIR, or other servers',
        );
        expect(await readdir(dataDir)).toEqual([]);
      }),
    ));

  it.each([false, true])('makes the same log, also after interruptions; gzip %s', (gzip) =>
    withLog((log) =>
      withLog(async (to) => {
        await someEvents(log);
        await exportLog(log, folder, { ...NDJSON, gzip, eventsPerFile: 100 });
        let appends = 0;
        const killed = overrideLog(to, {
          append: async (...args: Parameters<EventLog['append']>) => {
            if ((appends += 1) % 2 === 0) throw new Error('killed');
            return await to.append(...args);
          },
        });
        while ((await eventsOf(to)).length < 701)
          await expect(importInto(folder, killed)).rejects.toThrow('killed');
        expect(await importInto(folder, to)).toMatchObject({ events: 703, before: 701 });
        expect(await eventsOf(to)).toEqual(inLines(await eventsOf(log)));
        expect(await importInto(folder, to)).toMatchObject({ events: 703, before: 703 });
      }),
    ),
  );

  it('refuses a log with other events, and appends nothing', () =>
    withLog((log) =>
      withLog(async (to) => {
        await someEvents(log);
        await exportLog(log, folder, NDJSON);
        await fill(to, 'feed-1', 1);
        const events = await eventsOf(to);
        await expect(importInto(folder, to)).rejects.toThrow('expected an empty target');
        expect(await eventsOf(to)).toEqual(events);
      }),
    ));

  it('verifies all files before anything is appended, and takes complete exports only', () =>
    withLog((log) =>
      withLog(async (to) => {
        await someEvents(log);
        const into = (name: string): string => join(folder, name);
        await exportLog(log, into('damaged'), NDJSON);
        const file = join(into('damaged'), 'events-000001.ndjson');
        await writeFile(file, (await readFile(file, 'utf8')).replace('"n":7', '"n":8'));
        await expect(importInto(into('damaged'), to)).rejects.toThrow(
          'its SHA-256 is not that of the manifest',
        );
        await exportLog(log, into('some'), { ...NDJSON, range: rangeOf({ stream: ['feed-'] }) });
        await expect(importInto(into('some'), to)).rejects.toThrow(
          'expected an export of the whole log in NDJSON',
        );
        await exportLog(log, into('csv'), { ...NDJSON, format: 'csv' });
        await expect(importInto(into('csv'), to)).rejects.toThrow(CommandError);
        await expect(importInto(into('none'), to)).rejects.toThrow('is missing: expected an export');
        expect(await eventsOf(to)).toEqual([]);
      }),
    ));
});
