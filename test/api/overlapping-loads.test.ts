import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { feeds, type StoredFeed } from '../../projections/feeds';
import { toDomainEvent } from '../../src/kernel/decider';
import { type Position, type RecordedEvent, streamOf } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { BEHIND } from '../../src/services/products/download/joined-facts';
import { type FeedClosing, type FeedEvent } from '../../src/domain/products/feed';
import { FeedStates } from '../../src/services/products/feed.queries';
import { encodeContent } from '../../src/domain/products/feed-codec';
import { FeedWriter } from '../../src/services/products/load/feed-writer';
import { catchUp } from '../../src/services/products/load/fingerprint-cache';
import { Fingerprints } from '../../src/domain/products/fingerprints';
import { TestApp } from '../support/app';
import { cases } from '../support/size';
import { FEEDS, NETWORK, TOKENS } from './network';
import { type FoundProduct } from './posted';

const MINUTE = 60_000;

let now = Date.parse('2026-05-01T12:00:00Z');
let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

const { german } = FEEDS;
const FEED = streamOf('feed', german);

/** Loads and deletions of one process, one after the other, each of so many batches; some are broken off. */
const loads = fc.array(
  fc.record({ batches: fc.integer({ min: 0, max: 3 }), isWhole: fc.boolean(), isLoad: fc.boolean() }),
  { maxLength: 4 },
);
type Load = (typeof loads extends fc.Arbitrary<infer All extends readonly unknown[]> ? All : never)[number];

const overlaps = fc.record({
  processes: fc.tuple(loads, loads),
  /** By how much (ms) the clock of the second process is ahead. */
  ahead: fc.constantFrom(-MINUTE, 0, MINUTE),
  /** Which process does its next step, and how long (ms) that takes. */
  steps: fc.array(fc.tuple(fc.nat(1), fc.constantFrom(0, 10_000, 50_000, 5 * MINUTE)), {
    minLength: 30,
    maxLength: 30,
  }),
  /** Dates that are asked for, as shares of the time it takes. */
  dates: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
});

/** The steps of one process. */
async function* stepsOf(log: EventLog, all: readonly Load[], clock: () => number, name: string) {
  for (const [at, { batches, isWhole, isLoad }] of all.entries()) {
    const prints = new Fingerprints();
    await catchUp(SYSTEM_CLOCK, log, FEED, prints);
    const writer = new FeedWriter(
      SYSTEM_CLOCK,
      log,
      german,
      prints,
      new Date(clock()).toISOString(),
      new AbortController().signal,
    );
    for (let batch = 0; batch < batches; batch += 1) {
      const { json, digest } = encodeContent(LAMP);
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
      const ended = new Date(clock()).toISOString();
      if (!isLoad) return { type: 'ProductsDeleted', data: { removed: batches, at: ended } };
      const counts = { ...tally, refused: 0, faults: [], durationMs: 0 };
      return { type: 'FeedImported', data: { importId: randomUUID(), mode: 'update', at: ended, ...counts } };
    });
    yield;
  }
}

const LAMP = {
  name: 'Lamp',
  description: 'A lamp',
  productUrl: 'https://shop.example/lamp',
  productImage: { url: 'https://img.example/lamp.png' },
  categories: [{ name: 'Lamps' }],
};

const isAboutProduct = ({ type }: RecordedEvent) => type.startsWith('Product') && type !== 'ProductsDeleted';

/** The version after some events of a feed: the end of the last load that had something to publish. */
function publishedBy(events: readonly RecordedEvent[]): Position | undefined {
  const publishing = events.findLast((event, at) => {
    const before = events[at - 1];
    return !isAboutProduct(event) && before !== undefined && isAboutProduct(before);
  });
  return publishing?.position;
}

it('since a date returns everything that a copy may lack, and each load publishes a version when it ends, even if two processes whose clocks are a minute apart load concurrently (decisions P18, P28, X51, X62)', async () => {
  const { log } = app.engines;
  const stored: { readonly event: RecordedEvent; readonly when: number }[] = [];
  let run = 0;
  await fc.assert(
    fc.asyncProperty(overlaps, async ({ processes, ahead, steps, dates }) => {
      run += 1;
      now += MINUTE;
      const began = now;
      const running = processes.map((all, process) =>
        stepsOf(log, all, () => now + process * ahead, `run-${run}-process-${process}`),
      );
      for (const [process, duration] of steps) {
        now += duration;
        await running[process]!.next();
        for await (const events of log.readStream(FEED, { from: stored.length }))
          stored.push(...events.map((event) => ({ event, when: now })));
      }
      await app.settled();
      for (const share of dates) {
        const date = began + Math.round(share * (now - began + 4 * MINUTE));
        const answer = await app.get(`/1.0/productsUnlimited;fid=${german};since=${date}`, {
          token: TOKENS.nord,
        });
        const sent = answer
          .json<{ products: readonly FoundProduct[] }>()
          .products.map(({ offers }) => offers[0]!.sourceProductId);
        const lacking = stored.filter(({ when }) => when >= date - (BEHIND - Math.abs(ahead)));
        const wanted = lacking.map(({ event }) => event).filter(isAboutProduct);
        expect(sent).toEqual(expect.arrayContaining(wanted.map(productOf)));
      }
      let state: StoredFeed | undefined;
      for (const [at, { event }] of stored.entries()) {
        const { stream, revision, position } = event;
        state = feeds.fold(state, { ...(toDomainEvent(event) as FeedEvent), stream, revision, position });
        const until = stored.slice(0, at + 1).map((one) => one.event);
        expect(state?.content).toBe(until.findLast(isAboutProduct)?.position);
        expect(state?.published.at(-1)?.position).toBe(publishedBy(until));
      }
      const [shown] = await new FeedStates(SYSTEM_CLOCK, app.engines.store, app.follower).of([german]);
      expect(shown?.version).toEqual(state?.published.at(-1));
    }),
    { numRuns: cases(12) },
  );
});

function productOf({ data }: RecordedEvent): string {
  return (JSON.parse(data) as { sourceProductId: string }).sourceProductId;
}
