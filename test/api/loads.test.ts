import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { ModulesContainer } from '@nestjs/core';
import fc from 'fast-check';
import { generateProducts } from '../../bench/generate';
import { type Response, TestApp } from '../support/app';
import { toXml } from '../support/products';
import { operationsOf } from '../../src/http/describe';
import { type Config } from '../../src/settings/config';
import { feeds, type StoredFeed } from '../../projections/feeds';
import { toDomainEvent } from '../../src/kernel/decider';
import { type Position, type RecordedEvent, streamOf } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { BEHIND } from '../../src/services/products/download/joined-facts';
import { type FeedClosing, type FeedEvent, encodeContent } from '../../src/domain/products/feed';
import { FeedStates } from '../../src/services/products/feed.queries';
import { FeedWriter } from '../../src/services/products/load/feed-writer';
import { catchUp } from '../../src/services/products/load/fingerprint-cache';
import { Fingerprints } from '../../src/domain/products/fingerprints';
import { cases } from '../support/size';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, type FoundProduct, JSON_UTF8, product, XML_UTF8 } from './posted';
import { goodKeys, tokenFor } from './asked-operations';
import { CLAIM_NETWORK } from './claim-network';
import { CONVERSION_TOKENS, PATH } from './transaction-network';

describe('streams', () => {
  const { german, swedish } = FEEDS;

  const MAX_BODY = 2 * 1024 * 1024;

  let app: TestApp;
  let url: string;
  const { search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, settings: { MAX_BODY: String(MAX_BODY) } });
    await app.http.listen(0, '127.0.0.1');
    url = await app.http.getUrl();
  });
  afterAll(() => app.close());

  const products = [...generateProducts({ count: 1000, categories: [{ id: '1' }] })];
  const asJson = Buffer.from(JSON.stringify({ products }));
  const asXml = Buffer.from(toXml(products));

  /** A body in pieces, each sent in a turn of its own; its length is not told. */
  async function* pieces(body: Buffer, size: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < body.length; at += size) {
      yield body.subarray(at, at + size);
      await turn();
    }
  }

  async function post(fid: number, body: Readable | Buffer, headers: Record<string, string> = JSON_UTF8) {
    const target = `${url}/1.0/products.json;fid=${fid};mode=replace?token=${TOKENS.nord}`;
    const answer = await request(target, { method: 'POST', headers, body });
    return { status: answer.statusCode, text: await answer.body.text(), headers: answer.headers };
  }
  const hits = async (fid: number) => (await search(`;fid=${fid};pageSize=1`)).totalHits;

  describe('a body that arrives in chunks', () => {
    it.each([
      ['JSON', asJson, JSON_UTF8, 997],
      ['XML', asXml, XML_UTF8, 1009],
      ['JSON, again', asJson, JSON_UTF8, 100_000],
    ])('of %s is stored as a whole', async (_, body, headers, size) => {
      const answer = await post(german, Readable.from(pieces(body, size)), headers);
      expect([answer.status, answer.text]).toEqual([200, '{"errors":[]}']);
      await app.settled();
      expect(await hits(german)).toBe(products.length);
    });

    it('stores nothing if it breaks off', async () => {
      const broken = Readable.from(
        (async function* () {
          yield asJson.subarray(0, 300_000);
          await turn();
          throw new Error('the client is gone');
        })(),
      );
      await expect(post(swedish, broken)).rejects.toThrow();
      expect(await hits(swedish)).toBe(0);
    });

    it('is refused as soon as it is too large, and stores nothing: 413 (decisions P2)', async () => {
      let end = (): void => undefined;
      const answered = new Promise<void>((resolve) => (end = resolve));
      const tooLarge = Readable.from(
        (async function* () {
          yield* pieces(Buffer.alloc(MAX_BODY + 1, ' '), 65_536);
          await answered;
        })(),
      );
      const answer = await post(swedish, tooLarge);
      end();
      expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('"code":"413"')]);
      expect(await hits(swedish)).toBe(0);
    });
  });

  describe('loads of one feed at a time (decisions P1; Document 1, Replace a feed)', () => {
    it('are serialised: the feed has the products of one of them', async () => {
      const bodies = ['x', 'y', 'z'].map((prefix) =>
        Array.from({ length: 300 }, (_, at) => product(`${prefix}${at}`)),
      );
      const answers = await Promise.all(
        bodies.map((some) =>
          post(swedish, Readable.from(pieces(Buffer.from(JSON.stringify({ products: some })), 4096))),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      await app.settled();
      const { totalHits, ids } = await search(`;fid=${swedish};pageSize=1000`);
      expect([totalHits, new Set(ids.map((id) => id[0])).size]).toEqual([300, 1]);
    });

    it('do not block searches: each is answered during a load', async () => {
      const loading = post(german, Readable.from(pieces(asXml, 5000)), XML_UTF8);
      let answered = 0;
      const done = loading.then(() => true);
      while (!(await Promise.race([done, turn(false)]))) {
        expect(await hits(swedish)).toBe(300);
        answered += 1;
      }
      expect((await loading).status).toBe(200);
      expect(answered).toBeGreaterThan(1);
    });
  });
});

describe('body budgets', () => {
  let app: TestApp;
  afterEach(() => app.close());

  async function start(config: Partial<Config>): Promise<void> {
    app = await TestApp.start({ network: CLAIM_NETWORK, config });
  }

  it('the body of every operation is counted (decisions X100)', async () => {
    // Less than the smallest body counts.
    await start({ bodyMemory: 1024, maxBody: 1024 });
    const operations = operationsOf(app.http.get(ModulesContainer)).filter(({ method }) => method !== 'GET');
    const refused: string[] = [];
    for (const operation of operations) {
      const path = operation.path.replaceAll(/:\w+/g, '1');
      const { statusCode, body } = await app.request(
        operation.method as 'POST',
        `${path}${goodKeys(operation)}`,
        {
          token: tokenFor({
            ...operation,
            callers: operation.callers.filter((kind) => kind !== 'publisher'),
          }),
          body: '{}',
        },
      );
      if (/of memory, of which there are at most \d+ for it \(BODY_MEMORY\)/.test(body))
        refused.push(`${operation.text.id} ${statusCode}`);
    }
    const expected = operations.filter(({ text }) => text.body !== undefined).map(({ text }) => text.id);
    expect(refused.map((one) => one.split(' ')[0]).sort()).toEqual(expected.sort());
  });

  const post = (body: string): Promise<Response> =>
    app.post(`/1.0/products;fid=${FEEDS.german}`, { token: TOKENS.nord, body });
  const outcome = ({ statusCode, body }: Response): [number, string | undefined] => [
    statusCode,
    /BODY_\w+/.exec(body)?.[0],
  ];

  it('products count with what their load makes of them, and where it spools them (decisions X100)', async () => {
    await start({ bodyMemory: 1024 ** 2, bodySpace: 200 * 1024, maxBody: 1024 ** 2 });
    const large = `{"products":[${' '.repeat(90_000)}]}`;
    const refused = `{"products":[${'{},'.repeat(20_000)}{}]}`;
    expect(outcome(await post(large))).toEqual([200, undefined]);
    expect(outcome(await post(`${large}${' '.repeat(20_000)}`))).toEqual([413, 'BODY_SPACE']);
    // 10,000 faults, which are listed.
    expect(outcome(await post(refused))).toEqual([413, 'BODY_MEMORY']);
    // What they have used is free again.
    expect(outcome(await post(large))).toEqual([200, undefined]);
  });

  it('a feed is replaced whatever memory its ids take, if nothing else is received (decisions X100)', async () => {
    await start({ bodyMemory: 1024 ** 2 });
    const products = Array.from({ length: 12_000 }, (_, at) => product(`${at}`.padStart(80, 'x')));
    const body = JSON.stringify({ products });
    const path = `/1.0/products;fid=${FEEDS.german};mode=replace`;
    expect(outcome(await app.post(path, { token: TOKENS.nord, body }))).toEqual([200, undefined]);
  });

  const MB = 1024 ** 2;
  const MARKS = "a,b:c;'[{]}";
  const bulk = `${PATH}/bulk`;
  const mappings = '/ops/1.0/mappings';
  type Sent = readonly [type: string, path: string, token: string, body: string];
  /** A body of so many bytes. */
  const filled = (bytes: number, start: string, part: string, end: string): string =>
    start + part.repeat((bytes - 1_000) / part.length) + end;
  const inJson = (part: string, end: string): string => filled(32 * MB, '[', `${part},`, `${end}]`);
  const inXml = (part: string): string => filled(32 * MB, '<transactions>', part, '</transactions>');
  const inCsv = (line: string): string => filled(16 * MB, 'feedId;name;categoryId\n', line, '');

  describe('the longest list (decisions X100)', () => {
    const { nord } = CONVERSION_TOKENS;
    const { operator } = OTHER_TOKENS;
    const send = ([type, path, token, body]: Sent): Promise<Response> =>
      app.post(path, { token, body, headers: { 'content-type': type } });
    // The least that may be set.
    beforeEach(() => start({ bodyMemory: 200 * MB }));

    it.each<Sent>([
      [
        'application/json',
        bulk,
        nord,
        inJson(JSON.stringify({ reportInfo: `${MARKS}"\\<`.repeat(4_000) }), '{}'),
      ],
      [
        'text/xml',
        bulk,
        nord,
        inXml(
          `<transaction><reportInfo a="${`${MARKS}&lt;`.repeat(2_000)}">${`${MARKS}"`.repeat(2_000)}<![CDATA[${`<a b=""/>${MARKS}`.repeat(500)}]]></reportInfo></transaction>`,
        ),
      ],
      ['text/csv', mappings, operator, inCsv(`0;"${`${MARKS}""\t\n`.repeat(4_000)}";x\n`)],
    ])('in %s is read if its texts are full of marks: POST %s', async (...sent) => {
      // Each item is refused by itself.
      expect(
        (await send(sent)).body.split(/programId must be set|expected the id of a feed/).length,
      ).toBeGreaterThan(150);
    });

    it.each<Sent>([
      ['application/json', bulk, nord, inJson(`{"reportInfo":[${'{},'.repeat(60_000)}{}]}`, '{}')],
      ['text/xml', bulk, nord, inXml(`<transaction>${'<a b=""/>'.repeat(20_000)}</transaction>`)],
      ['text/csv', mappings, operator, inCsv(`0${';1'.repeat(900)}\n`)],
      // Quotes and what looks like comments hide nothing.
      ['application/json', bulk, nord, inJson(`{"a\\\\":["\\"",${'{},'.repeat(60_000)}{}]}`, '{}')],
      [
        'text/xml',
        bulk,
        nord,
        inXml(`<transaction>"<!-- ' --><![CDATA[']]><?a '?>${'<a/>'.repeat(20_000)}</transaction>`),
      ],
      ['text/csv', mappings, operator, `\ufeff${inCsv(`a",";${'1;'.repeat(900)}\n`)}`],
    ])('in %s is 413 if it has as many values: POST %s', async (...sent) => {
      expect(outcome(await send(sent))).toEqual([413, 'BODY_MEMORY']);
    });

    it.each([
      ['application/xml', `[${'{},'.repeat(60_000)}{}]`, 'CON_310'],
      ['application/json', `<transactions>${'<a/>'.repeat(60_000)}</transactions>`, 'CON_310'],
      ['application/json;charset=utf-16le', '[{},{}]', 'CON_360'],
      ['application/json;charset=iso-8859-1', '[{},{}]', 'CON_360'],
      ['text/csv', '[{},{}]', 'CON_360'],
    ])('in another format than its type, %s, is refused before it is parsed', async (type, body, code) => {
      const answer = await send([type, bulk, nord, body]);
      expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining(code)]);
    });
  });
});

describe('loads that overlap', () => {
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
        return {
          type: 'FeedImported',
          data: { importId: randomUUID(), mode: 'update', at: ended, ...counts },
        };
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

  const isAboutProduct = ({ type }: RecordedEvent) =>
    type.startsWith('Product') && type !== 'ProductsDeleted';

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
});
