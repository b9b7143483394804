import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { checkLog, logStats } from '../../src/operations/inspect-log';
import { newEvents } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';

/** The log with all samples, each type in its stream; returns the number of events. */
async function fillWithSamples(log: EventLog): Promise<number> {
  const names = readdirSync(join(__dirname, '../golden')).map((file) => file.replace('.json', ''));
  const revisions = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    const [type = '', ...variant] = name.split('-');
    const { stream, event } = golden(type, variant.map((part) => `-${part}`).join(''));
    const { meta = {} } = event as { readonly meta?: object };
    const revision = revisions.get(stream) ?? NO_STREAM;
    const id = `${String(at).padStart(8, '0')}-0000-4000-8000-00000000${String(at).padStart(4, '0')}`;
    const stored = { data: JSON.stringify(event.data), meta: JSON.stringify(meta) };
    await log.append(stream, revision, [{ id, type, ...stored }]);
    revisions.set(stream, revision + 1);
  }
  return names.length;
}

/** The log, whose events are changed while they are read. */
function changed(log: EventLog, change: (event: EventOfLog) => Partial<EventOfLog>): EventLog {
  return overrideLog(log, {
    async *readAll(options) {
      for await (const batch of log.readAll(options))
        yield { ...batch, events: batch.events.map((event) => ({ ...event, ...change(event) })) };
    },
  });
}

type EventOfLog = Awaited<ReturnType<typeof eventsOf>>[number];

describe('log check (decisions X106)', () => {
  it('finds nothing wrong with any sample', () =>
    withLog(async (log) => {
      const count = await fillWithSamples(log);
      expect(await checkLog(log)).toEqual({ events: count, problems: [] });
    }));

  it.each<[string, (event: EventOfLog) => Partial<EventOfLog>, string]>([
    [
      'a position',
      ({ position }) => (position.endsWith('2') ? { position: '0'.repeat(19) } : {}),
      'position: ',
    ],
    ['a revision', ({ revision }) => (revision === 1 ? { revision: 2 } : {}), 'revision: '],
    ['an id', ({ revision }) => (revision > 0 ? { id: '00000001-0000-4000-8000-000000000001' } : {}), 'id: '],
    ['data', () => ({ data: '{}' }), 'data.at: Invalid input: expected string, received undefined'],
  ])('reports %s that cannot be', (_, change, problem) =>
    withLog(async (log) => {
      await fillWithSamples(log);
      const { problems } = await checkLog(changed(log, change));
      expect(problems.map((one) => one.problem)).toContainEqual(expect.stringContaining(problem));
    }),
  );

  it('reports what another program has written once for each type, with the first event', () =>
    withLog(async (log) => {
      await log.append('other-1', NO_STREAM, newEvents(3));
      const [first] = await eventsOf(log);
      const { position, stream, id } = first!;
      const problem = { type: 'Happened', problem: 'unknown type', events: 3, position, stream, id };
      expect(await checkLog(log)).toEqual({ events: 3, problems: [problem] });
    }));

  it.each<[Partial<EventOfLog>, readonly string[]]>([
    [{ type: 'constructor' }, ['unknown type']],
    [{ type: 'toString', data: '{oops' }, ['unknown type']],
    [{ type: 'ProductRepriced', stream: 'feed-1', data: '{oops' }, ['data: expected a JSON object']],
    [{ type: 'ProductRepriced', stream: 'feed-1', meta: 'oops' }, ['meta: expected a JSON object']],
  ])('reports and counts %j of another program', (change, problems) =>
    withLog(async (log) => {
      await log.append('other-1', NO_STREAM, newEvents(1));
      const odd = changed(log, () => change);
      const checked = await checkLog(odd);
      expect(checked.problems.map(({ problem }) => problem)).toEqual(expect.arrayContaining(problems));
      const { types, categories } = await logStats(odd);
      expect(types).toMatchObject([{ name: change.type, events: 1 }]);
      expect(categories).toMatchObject([{ name: (change.stream ?? 'other-1').split('-')[0], events: 1 }]);
    }),
  );
});

test('log stats counts events and bytes by type, category and day (decisions X106)', () =>
  withLog(async (log) => {
    const count = await fillWithSamples(log);
    const { total, types, categories, days } = await logStats(log);
    const events = await eventsOf(log);
    const bytes = events.reduce((sum, { data, meta }) => sum + Buffer.byteLength(data + meta), 0);
    expect(total).toEqual({ name: 'all', events: count, bytes });
    for (const counts of [types, categories]) {
      expect(counts.reduce((sum, one) => sum + one.events, 0)).toBe(count);
      expect(counts.reduce((sum, one) => sum + one.bytes, 0)).toBe(bytes);
    }
    expect(types.find(({ name }) => name === 'ClaimFiled')?.events).toBe(3);
    expect(categories.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['claim', 'claim-batch', 'download', 'exchange-rates', 'partition']),
    );
    expect(days.map(({ name }) => name)).toEqual(days.map(({ name }) => name).toSorted());
    expect(days[0]).toMatchObject({ name: '2026-01-05', events: expect.any(Number) as number });
  }));

test('log stats counts a bounded number of names (decisions X106)', () =>
  withLog(async (log) => {
    await log.append('other-1', NO_STREAM, newEvents(500));
    let n = 0;
    const many = overrideLog(log, {
      async *readAll(options) {
        for await (const batch of log.readAll(options)) for (let at = 0; at < 4; at += 1) yield batch;
      },
    });
    const { types } = await logStats(changed(many, () => ({ type: `type ${(n += 1)}` })));
    expect(types).toHaveLength(1001);
    expect(types[0]).toMatchObject({ name: '(others)', events: 1000 });
  }));
