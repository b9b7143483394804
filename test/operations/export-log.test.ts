import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { numberOf, NO_STREAM, START } from '../../src/kernel/event';
import { CommandError, UsageError } from '../../src/operations/command-error';
import { exportLog, type ExportOptions } from '../../src/operations/export-log';
import { fromLine, rangeOf, toLine } from '../../src/operations/log-events';
import { Engine } from '../../src/operations/sql/duckdb';
import { openEngines } from '../../src/engines/open';
import { run } from '../cli/run';
import { fill, newEvent, newEvents } from '../contracts/event-log/events';
import { eventsOf, withLog } from '../support/temporary-log';
import { folder, ALL, NDJSON, someEvents, textOf, positionsIn, endingAfter, inLines } from './exported-log';

test('an event is the same after it was written and read, whatever its texts (decisions X105)', () => {
  const json = fc.json().filter((text) => text.startsWith('{'));
  const names = fc.string({ minLength: 1, unit: 'grapheme' });
  fc.assert(
    fc.property(names, names, fc.nat(), json, json, (stream, type, revision, data, meta) => {
      const event = { position: START, stream, revision, id: 'x', type, data, meta };
      expect(fromLine(toLine(event).trimEnd())).toEqual(event);
    }),
  );
  const odd = { meta: '{"a":{"b":1,"data":{"c":2}}}', data: '{"meta":{},"d":",\\"data\\":{}"}' };
  const event = { position: START, stream: 's', revision: 0, id: 'x', type: 't', ...odd };
  expect(fromLine(toLine(event).trimEnd())).toEqual(event);
  for (const line of ['', '{}', '{"position":"1"}', toLine(event).slice(0, -3)])
    expect(fromLine(line)).toBeUndefined();
});

describe('an export of the log (decisions X105)', () => {
  it.each([false, true])('has all events in order, and their bytes; gzip %s', (gzip) =>
    withLog(async (log) => {
      await someEvents(log);
      const manifest = await exportLog(log, folder, { ...NDJSON, gzip });
      const lines = (await textOf(folder, manifest)).split('\n').slice(0, -1);
      const events = await eventsOf(log);
      expect(lines.map(fromLine)).toEqual(inLines(events));
      const [first, last] = [events[0]?.position, events.at(-1)?.position];
      expect(manifest).toMatchObject({
        isComplete: true,
        events: 703,
        range: { upTo: last },
        files: [{ events: 703, first, last }],
      });
      const files = [`events-000001.ndjson${gzip ? '.gz' : ''}`, 'manifest.json'];
      expect(await readdir(folder)).toEqual(files);
    }),
  );

  it('can be read by its owner only, whatever the umask (decisions X105)', () =>
    withLog(async (log) => {
      await someEvents(log);
      const umask = process.umask(0o022);
      const into = join(folder, 'parent', 'export');
      await exportLog(log, into, NDJSON).finally(() => process.umask(umask));
      const modes = ['', 'manifest.json', 'events-000001.ndjson'].map(
        async (name) => (await stat(join(into, name))).mode & 0o777,
      );
      expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600]);
    }));

  it('has the time of each event in CSV', () =>
    withLog(async (log) => {
      await someEvents(log);
      const manifest = await exportLog(log, folder, { ...NDJSON, format: 'csv' });
      const rows: readonly Record<string, string>[] = parse(await textOf(folder, manifest), {
        columns: true,
      });
      const timed = (await eventsOf(log)).map((event) => ({
        ...event,
        revision: String(event.revision),
        at: (JSON.parse(event.data) as { at?: string }).at ?? '',
      }));
      expect(rows).toEqual(timed);
    }));

  it.each([
    [{ type: ['ProductRepriced'] }, ['702', '703']],
    [{ stream: ['site-', 'feed-301'] }, ['701', '702', '703']],
    [{ since: '2026-02-01' }, ['703']],
    [{ until: '2026-01-31' }, ['702']],
    [{ since: '2026-01-31T23:59:59.999Z', until: '2026-02-01T00:00:00Z' }, ['702', '703']],
    [{ after: '700', upTo: '702' }, ['701', '702']],
    [{ after: '702', upTo: '702' }, []],
    [{ type: ['ProductListed'] }, []],
  ])('is a selection: %j', (texts, expected) =>
    withLog(async (log) => {
      await someEvents(log);
      const range = rangeOf(texts);
      expect((await positionsIn(log, range)).map((position) => position.replace(/^0+/, ''))).toEqual(
        expected,
      );
      expect((await exportLog(log, folder, { ...NDJSON, range })).events).toBe(expected.length);
    }),
  );

  it.each([
    [{ type: ['ProductRenamed'] }, 'type=ProductRenamed: expected a type of event (docs/events.md)'],
    [{ since: 'yesterday' }, 'since=yesterday: expected a time, such as 2026-01-31 or 2026-01-31T12:00:00Z'],
    [{ after: 'x' }, 'after=x: expected a log position, up to 19 digits'],
    [{ stream: [''] }, 'stream is empty: expected the beginning of the names of streams'],
  ])('refuses %j', (texts, message) => {
    expect(() => rangeOf(texts)).toThrow(new UsageError(message));
  });

  it('continues after an interruption with the same bytes, also when the log has grown (decisions X105)', () =>
    withLog(async (log) => {
      await someEvents(log);
      const whole = await exportLog(log, join(folder, 'whole'), { ...NDJSON, eventsPerFile: 100 });
      expect(whole.files).toHaveLength(8);
      const folders = [0, 1, 3].map((most) => join(folder, `${most}`));
      for (const [at, most] of [0, 1, 3].entries())
        await expect(
          exportLog(endingAfter(log, most), folders[at]!, { ...NDJSON, eventsPerFile: 100 }),
        ).rejects.toThrow('killed');
      await log.append('feed-2', NO_STREAM, newEvents(1));
      for (const into of folders) {
        const continued = await exportLog(log, into, { ...NDJSON, eventsPerFile: 100 });
        expect(continued).toEqual(whole);
        expect(await textOf(into, continued)).toBe(await textOf(join(folder, 'whole'), whole));
        expect(await exportLog(log, into, { ...NDJSON, eventsPerFile: 100 })).toEqual(whole);
      }
    }));

  it('is not continued with another log (decisions X105)', () =>
    withLog((log) =>
      withLog(async (other) => {
        await someEvents(log);
        await expect(
          exportLog(endingAfter(log, 3), folder, { ...NDJSON, eventsPerFile: 100 }),
        ).rejects.toThrow('killed');
        const manifest = await readFile(join(folder, 'manifest.json'), 'utf8');
        const [last] = (await eventsOf(log)).slice(299);
        const refused = async (found: string): Promise<void> => {
          await expect(exportLog(other, folder, { ...NDJSON, eventsPerFile: 100 })).rejects.toThrow(
            new CommandError(
              `${folder} has an export of another log: its last event is ${last!.id} of ${last!.stream} at ` +
                `position ${numberOf(last!.position)}, and in this log ${found}: continue it with its own log (EVENT_LOG, ` +
                'DATA_DIR), or export this one to an empty folder',
            ),
          );
        };
        await fill(other, 'site-1', 800);
        await refused('there is none');
        await fill(other, 'feed-1', 700);
        const found = (await eventsOf(other)).find(
          ({ stream, revision }) => stream === last!.stream && revision === last!.revision,
        );
        await refused(`it is ${found!.id} at position ${numberOf(found!.position)}`);
        expect(await readFile(join(folder, 'manifest.json'), 'utf8')).toBe(manifest);
      }),
    ));

  it('that is complete says so, up to where, and how to go on (decisions X105)', async () => {
    const settings = { DATA_DIR: join(folder, 'data') };
    const engines = await openEngines({
      ...{ dataDir: settings.DATA_DIR, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false },
    });
    await someEvents(engines.log);
    const into = join(folder, 'export');
    expect(await run(['log', 'export', into], settings)).toMatchObject({
      code: 0,
      out: '703 events up to position 703, files: 1, listed with their SHA-256 in manifest.json\n',
    });
    await engines.log.append('feed-2', NO_STREAM, newEvents(1));
    await engines.close();
    expect(await run(['log', 'export', into], settings)).toMatchObject({
      code: 0,
      out:
        `${into} was complete: 703 events up to position 703. Export what was appended since to another ` +
        'folder, with --after 703\n',
    });
    const rest = ['log', 'export', join(folder, 'rest'), '--after', '703'];
    expect(await run(rest, settings)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1 events up to position 704, /) as string,
    });
  });

  it('is begun again when it was killed before its first manifest (decisions X105)', () =>
    withLog(async (log) => {
      await someEvents(log);
      await writeFile(join(folder, 'manifest.json.part'), '{"format');
      expect(await exportLog(log, folder, NDJSON)).toMatchObject({ isComplete: true, events: 703 });
      expect(await readdir(folder)).toEqual(['events-000001.ndjson', 'manifest.json']);
    }));

  it('is not written over anything else (decisions X105)', () =>
    withLog(async (log) => {
      await someEvents(log);
      await writeFile(join(folder, 'notes.txt'), '');
      await expect(exportLog(log, folder, NDJSON)).rejects.toThrow('expected an empty folder');
      const into = join(folder, 'export');
      await exportLog(log, into, NDJSON);
      await expect(exportLog(log, into, { ...NDJSON, gzip: true })).rejects.toThrow('other options');
      await expect(
        exportLog(log, into, { ...NDJSON, range: { ...ALL, upTo: '9'.repeat(19) } }),
      ).rejects.toThrow('is after the end of the log');
      await writeFile(join(into, 'events-000001.ndjson'), '');
      await expect(exportLog(log, into, NDJSON)).rejects.toThrow('has 0 bytes: expected');
      await writeFile(join(into, 'manifest.json'), '{}');
      await expect(exportLog(log, into, NDJSON)).rejects.toThrow(
        'expected the manifest of `affilog log export`',
      );
    }));
});

describe('Parquet (decisions X105)', () => {
  const PARQUET = { format: 'parquet', gzip: false, range: ALL, eventsPerFile: 300 } satisfies ExportOptions;

  it('bounds what a file has, and so the memory that it takes, however large events are (decisions X105)', () =>
    withLog(async (log) => {
      const text = 'x'.repeat(100_000);
      for (let n = 0; n < 900; n += 10)
        await log.append(
          'feed-1',
          n - 1,
          Array.from({ length: 10 }, () => newEvent({ text })),
        );
      const { files, events } = await exportLog(log, folder, { ...PARQUET, eventsPerFile: 1_000 });
      expect(events).toBe(900);
      expect(files.map((file) => file.events)).toEqual([336, 336, 228]);
      const lasts = (await eventsOf(log)).map(({ position }) => position);
      expect(files.map(({ last }) => lasts.indexOf(last))).toEqual([335, 671, 899]);
      expect((await readdir(folder)).sort()).toEqual([...files.map(({ name }) => name), 'manifest.json']);
    }));

  it('has every event to the byte, and the same range gives the same bytes, also when it is continued', async () => {
    await withLog(async (log) => {
      await someEvents(log);
      const [whole, stopped] = [join(folder, 'whole'), join(folder, 'stopped')];
      const manifest = await exportLog(log, whole, PARQUET);
      expect(manifest.files.map(({ name, events }) => [name, events])).toEqual([
        ['events-000001.parquet', 300],
        ['events-000002.parquet', 300],
        ['events-000003.parquet', 103],
      ]);
      const stop = new AbortController();
      const once = { ...PARQUET, signal: stop.signal, onProgress: () => stop.abort() };
      await exportLog(log, stopped, once).catch(() => undefined);
      expect((await exportLog(log, stopped, PARQUET)).files).toEqual(manifest.files);
      for (const { name, sha256 } of manifest.files) {
        const bytes = await readFile(join(whole, name));
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
        expect((await stat(join(whole, name))).mode & 0o777).toBe(0o600);
      }
      const engine = await Engine.open({});
      const read = await engine.rows(
        `SELECT position, stream, id, data, meta FROM '${whole}/*.parquet' ORDER BY position`,
      );
      engine.close();
      const all = await eventsOf(log);
      expect(read).toEqual(
        all.map(({ position, stream, id, data, meta }) => [String(Number(position)), stream, id, data, meta]),
      );
    });
  });

  it('is not compressed again', async () => {
    await withLog(async (log) => {
      const compressed = exportLog(log, join(folder, 'gz'), { ...PARQUET, gzip: true });
      await expect(compressed).rejects.toThrow('--gzip: expected another format');
    });
  });
});
