import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { NO_STREAM, type RecordedEvent, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { type ExportManifest, type ExportOptions } from '../../src/operations/export-log';
import { type LogRange, readRange } from '../../src/operations/log-events';
import { fill, newEvents } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { removeFolder, temporaryFolder } from '../support/server';
import { overrideLog } from '../support/temporary-log';

export let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => removeFolder(folder));

export const ALL = { types: [], streams: [], after: START };
export const NDJSON = { format: 'ndjson', gzip: false, range: ALL } satisfies ExportOptions;

export async function someEvents(log: EventLog): Promise<void> {
  await fill(log, 'feed-1', 700);
  await log.append('site-1', NO_STREAM, newEvents(1));
  const { stream, event } = golden('ProductRepriced');
  const data = (at: string) => JSON.stringify({ ...event.data, at });
  const meta = '{"a": 1.0,\n ",\\"data\\":": {"data":{}}}';
  await log.append(stream, NO_STREAM, [
    {
      id: 'b1f0c6a0-0000-4000-8000-000000000001',
      type: event.type,
      data: data('2026-01-31T23:59:59.999Z'),
      meta,
    },
    {
      id: 'b1f0c6a0-0000-4000-8000-000000000002',
      type: event.type,
      data: data('2026-02-01T00:00:00.000Z'),
      meta: '{}',
    },
  ]);
}

export async function textOf(of: string, { files, gzip }: ExportManifest): Promise<string> {
  const parts = await Promise.all(files.map(({ name }) => readFile(join(of, name))));
  return parts.map((part) => (gzip ? gunzipSync(part) : part).toString()).join('');
}

export async function positionsIn(log: EventLog, range: LogRange): Promise<readonly string[]> {
  const positions: string[] = [];
  for await (const { events } of readRange(log, range))
    positions.push(...events.map(({ position }) => position));
  return positions;
}

/** The log, whose reads fail after so many batches. */
export function endingAfter(log: EventLog, most: number): EventLog {
  return overrideLog(log, {
    async *readAll(options) {
      let read = 0;
      for await (const batch of log.readAll({ ...options, batchSize: 120 })) {
        if ((read += 1) > most) throw new Error('killed');
        yield batch;
      }
    },
  });
}

/** With line ends in the JSON as they are exported. */
export function inLines(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  return events.map((event) => ({ ...event, meta: event.meta.replace('\n', ' ') }));
}
