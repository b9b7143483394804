import fc from 'fast-check';
import { Directory } from '../../src/directory/directory';
import { type Position, type RecordedEvent, streamOf } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { changesSince } from '../../src/products/download/changes';
import { BEHIND } from '../../src/products/download/since';
import { FEED, type FeedClosing } from '../../src/products/feed';
import { FeedVersions } from '../../src/products/feed-version';
import { encodeContent } from '../../src/products/feed-codec';
import { catchUp } from '../../src/products/load/fingerprints/catch-up';
import { FeedWriter } from '../../src/products/load/append/feed-writer';
import { Fingerprints } from '../../src/products/load/fingerprints/fingerprints';
import { withLog } from '../support/temporary-log';

const FEED_ID = 22;
const STREAM = streamOf(FEED, FEED_ID);
const MINUTE = 60_000;
const START_MS = Date.parse('2026-05-01T12:00:00Z');

const PRODUCT = {
  name: 'Lamp',
  description: 'A lamp',
  productUrl: 'https://shop.example/lamp',
  productImage: { url: 'https://img.example/lamp.png' },
  categories: [{ name: 'Lamps' }],
};

/** Loads and deletions of one process, one after the other, each of so many batches; some are broken off. */
const loads = fc.array(
  fc.record({ batches: fc.integer({ min: 0, max: 3 }), isWhole: fc.boolean(), isLoad: fc.boolean() }),
  { maxLength: 4 },
);
type Load = (typeof loads extends fc.Arbitrary<infer All extends readonly unknown[]> ? All : never)[number];

const worlds = fc.record({
  processes: fc.tuple(loads, loads),
  /** By how much (ms) the clock of the second process is ahead. */
  ahead: fc.constantFrom(-MINUTE, 0, MINUTE),
  /** Whose turn it is, and how long (ms) it takes. */
  turns: fc.array(fc.tuple(fc.nat(1), fc.constantFrom(0, 10_000, 50_000, 5 * MINUTE)), {
    minLength: 30,
    maxLength: 30,
  }),
});

/** An event of the feed, and when it was truly stored. */
interface Stored extends RecordedEvent {
  readonly when: number;
}

/** The steps of one process, each to be taken in its turn. */
async function* steps(log: EventLog, all: readonly Load[], now: () => number, name: string) {
  for (const [at, { batches, isWhole, isLoad }] of all.entries()) {
    const prints = new Fingerprints();
    await catchUp(log, STREAM, prints);
    const began = new Date(now()).toISOString();
    const writer = new FeedWriter(log, FEED_ID, prints, began, new AbortController().signal);
    for (let batch = 0; batch < batches; batch += 1) {
      const { json, digest } = encodeContent(PRODUCT);
      const text = Buffer.from(json);
      const sourceProductId = `${name}-${at}-${batch}`;
      const product = { sourceProductId, price: 100, content: digest };
      await writer.add({
        kind: 'post',
        product,
        posted: undefined,
        textBytes: text.length,
        text: () => text,
      });
      await writer.settle();
      yield;
    }
    if (!isWhole) continue;
    await writer.settle((tally): FeedClosing => {
      const ended = new Date(now()).toISOString();
      if (!isLoad) return { type: 'ProductsDeleted', data: { removed: batches, at: ended } };
      const counts = { ...tally, refused: 0, faults: [], durationMs: 0 };
      return { type: 'FeedImported', data: { importId: name, mode: 'update', at: ended, ...counts } };
    });
    yield;
  }
}

const isAboutProduct = ({ type }: RecordedEvent) => type.startsWith('Product') && type !== 'ProductsDeleted';

/** The end of the last load that had something to publish. */
function publishedBy(events: readonly Stored[]): Position | undefined {
  const publishing = events.findLast((event, at) => {
    const before = events[at - 1];
    return !isAboutProduct(event) && before !== undefined && isAboutProduct(before);
  });
  return publishing?.position;
}

test('loads of two processes that overlap, whose clocks are a minute apart: what a copy lacks is told by date, and a version is published by the end of each (decisions P18, P28, X51, X62)', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async ({ processes, ahead, turns }) => {
      await withLog(async (log) => {
        let now = START_MS;
        const running = processes.map((all, process) =>
          steps(log, all, () => now + process * ahead, `process-${process}`),
        );
        const stored: Stored[] = [];
        for (const [process, duration] of turns) {
          now += duration;
          await running[process]!.next();
          for await (const some of log.readStream(STREAM, { from: stored.length }))
            stored.push(...some.map((event) => ({ ...event, when: now })));
        }
        const end = await log.head();
        const directory = new Directory();
        for (let date = START_MS; date < now + 4 * MINUTE; date += 25_000) {
          const { events } = await changesSince(log, directory, FEED_ID, { date }, end);
          const shown = stored.filter(({ when }) => when < date - (BEHIND - Math.abs(ahead)));
          expect(events.first).toBeLessThanOrEqual(shown.length);
        }
        const versions = new FeedVersions(log, directory, { countRemapped: async () => 0 });
        for (const [at, { position }] of stored.entries()) {
          const until = stored.slice(0, at + 1);
          const state = await versions.at(FEED_ID, position);
          expect(state?.content).toBe(until.findLast(isAboutProduct)?.position);
          expect(state?.version?.position).toBe(publishedBy(until));
        }
      });
    }),
    { numRuns: 12 },
  );
});
