import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { NO_STREAM, type RecordedEvent, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { type ClientEvent, type StreamPart } from '../../src/replay/client-values';
import { ClientLog, Links } from '../../src/replay/client-log';
import { CountedLog } from '../support/esdb-writing/counted-log';
import { eventsOf, withLog } from '../support/temporary-log';

/** Appends events of some streams in turns, and rare ones between them. */
async function fill(log: EventLog, rounds: number, revisions: Map<string, number>): Promise<void> {
  const append = async (stream: string, types: readonly string[]): Promise<void> => {
    const events = types.map((type) => ({ id: randomUUID(), type, data: '{}', meta: '{}' }));
    const { revision } = await log.append(stream, revisions.get(stream) ?? NO_STREAM, events);
    revisions.set(stream, revision);
  };
  for (let round = 0; round < rounds; round += 1) {
    const products = Array.from({ length: 300 }, (_, at) => (at % 3 === 0 ? 'Listed' : 'Repriced'));
    await append(`feed-${round % 4}`, products);
    await append(`claim-batch-${round}`, ['Filed']);
    if (round % 7 === 0) await append('exchange-rates', ['Rated', 'Rated']);
    await append('nodash', ['Listed']);
    await append('-feed', ['Listed']);
  }
}

const NAMES = ['$ce-feed', '$ce-claim', '$ce-exchange', '$et-Listed', '$et-Filed', '$et-Rated', '$streams'];

/** As EventStoreDB's system projections write them. */
function expectedLinks(name: string, events: readonly RecordedEvent[]): readonly string[] {
  const linked = events.filter(({ stream, type, revision }) =>
    name === '$streams'
      ? revision === 0
      : name.startsWith('$ce-')
        ? stream.startsWith(`${name.slice(4)}-`)
        : type === name.slice(4),
  );
  return linked.map(({ revision, stream }, at) => `${at} ${revision}@${stream}`);
}

const shown = ({ revision, data }: ClientEvent): string => `${revision} ${Buffer.from(data).toString()}`;

async function read(
  links: { readStream: Links['readStream'] },
  name: string,
  part: StreamPart,
): Promise<readonly string[] | undefined> {
  const found = await links.readStream(name, part);
  if (found === undefined) return undefined;
  const all: string[] = [];
  for await (const events of found.events) all.push(...events.map(shown));
  return all;
}

describe('Streams of links', () => {
  it('are the same from everywhere, forwards and backwards, also while the log grows (decisions X108)', async () => {
    await withLog(async (log) => {
      const links = new Links(log);
      const revisions = new Map<string, number>();
      for (const rounds of [1, 3, 20]) {
        await fill(log, rounds, revisions);
        const events = await eventsOf(log);
        for (const name of NAMES) {
          const expected = expectedLinks(name, events);
          expect(await read(links, name, { from: 0, backwards: false, count: Infinity })).toEqual(expected);
          await fc.assert(
            fc.asyncProperty(
              fc.nat(expected.length + 5),
              fc.integer({ min: 1, max: 1_500 }),
              async (from, count) => {
                const forwards = await read(links, name, { from, backwards: false, count });
                expect(forwards).toEqual(expected.slice(from, from + count));
                const backwards = await read(links, name, { from, backwards: true, count });
                expect(backwards).toEqual(
                  expected
                    .slice(0, from + 1)
                    .reverse()
                    .slice(0, count),
                );
              },
            ),
            { numRuns: 15 },
          );
          const last = await read(links, name, { from: undefined, backwards: true, count: 3 });
          expect(last).toEqual(expected.slice(-3).reverse());
        }
      }
      for (const name of ['$ce-', '$ce-nodash', '$ce-claim-batch', '$et-', '$et-List', '$ce-fee'])
        expect(await read(links, name, { from: 0, backwards: false, count: 1 })).toBeUndefined();
    });
  });

  it('read the log once, then only what is asked for and what is new (ADR 43)', async () => {
    await withLog(async (stored) => {
      const revisions = new Map<string, number>();
      await fill(stored, 40, revisions);
      const log = new CountedLog(stored);
      const links = new ClientLog(log);
      const all = (await eventsOf(stored)).length;
      await read(links, '$et-Rated', { from: undefined, backwards: true, count: 1 });
      expect(log.read).toBeLessThan(all + 2_500);

      // Of 12,000 events the block with the last link.
      for (const name of NAMES) {
        log.read = 0;
        expect(await read(links, name, { from: undefined, backwards: true, count: 1 })).toHaveLength(1);
        expect(log.read).toBeLessThan(1_500);
      }
      log.read = 0;
      expect(await read(links, '$et-Listed', { from: 2_500, backwards: false, count: 10 })).toHaveLength(10);
      expect(log.read).toBeLessThan(1_500);

      log.read = 0;
      await fill(stored, 1, revisions);
      expect(await read(links, '$ce-feed', { from: undefined, backwards: true, count: 1 })).toHaveLength(1);
      expect(log.read).toBeLessThan(1_000);
    });
  });

  it('are the same for reads at the same time, while the log is first read', async () => {
    await withLog(async (log) => {
      await fill(log, 15, new Map());
      const links = new Links(log);
      const events = await eventsOf(log);
      const part = { from: 0, backwards: false, count: Infinity };
      const found = await Promise.all(NAMES.map((name) => read(links, name, part)));
      expect(found).toEqual(NAMES.map((name) => expectedLinks(name, events)));
    });
  });

  it('are not noted for more streams than memory is meant for, and the refusal names what to do', async () => {
    await withLog(async (log) => {
      await fill(log, 1, new Map());
      const links = new Links(log, 3);
      for (const name of ['$ce-feed', '$ce-none'])
        await expect(read(links, name, { from: 0, backwards: false, count: 1 })).rejects.toThrow(
          `${name}: the log has more than 3 streams of links; read all events, with a filter by stream or by type`,
        );
    });
  });

  it('can be read again after the log was unavailable', async () => {
    await withLog(async (stored) => {
      await fill(stored, 10, new Map());
      const log = new CountedLog(stored);
      const readAll = log.readAll.bind(log);
      let failures = 1;
      log.readAll = async function* (options) {
        for await (const batch of readAll(options)) {
          if (options.after === START && batch.position > '0000000000000001500' && failures-- > 0)
            throw new Error('down');
          yield batch;
        }
      };
      const links = new Links(log);
      const part = { from: 0, backwards: false, count: Infinity };
      await expect(read(links, '$ce-feed', part)).rejects.toThrow('down');
      expect(await read(links, '$ce-feed', part)).toEqual(expectedLinks('$ce-feed', await eventsOf(stored)));
    });
  });
});
