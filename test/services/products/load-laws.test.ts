import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { type PostedProduct } from '../../../src/demo/products';
import { Directory } from '../../../src/network/directory';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { FingerprintCache } from '../../../src/services/products/load/fingerprint-cache';
import { Loader } from '../../../src/services/products/load/loader';
import { TestClock } from '../../support/clock';
import { anyPrice, anyProduct, anyProducts, toJson, toXml } from '../../support/products';
import { testRealProducts } from '../../support/real-products';

let log: EventLog;
let folder: string;
let loader: Loader;
let lastFeed = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
  ({ log } = await openLog(join(folder, 'log.sqlite'), false));
  loader = new Loader({
    log,
    fingerprints: new FingerprintCache(SYSTEM_CLOCK, log, join(folder, 'cache')),
    spoolFolder: join(folder, 'spool'),
    directory: new Directory(),
    reached: async () => true,
    clock: new TestClock(() => new Date('2026-05-01T12:00:00Z')),
  });
});

afterAll(async () => {
  await loader.close();
  await log.close();
  await rm(folder, { recursive: true });
});

/** A body in one of the formats, and the bytes of each chunk it is sent in. */
interface Sent {
  readonly products: readonly PostedProduct[];
  readonly format: 'json' | 'xml';
  readonly chunk?: number;
}

async function load(feedId: number, { products, format, chunk = 65_536 }: Sent) {
  const id = await loader.open({ feedId, mode: 'update', format, directoryPosition: START });
  const body = Buffer.from(format === 'json' ? toJson(products) : toXml(products));
  for (let at = 0; at < body.length; at += chunk) await loader.write(id, body.subarray(at, at + chunk));
  const { faults } = await loader.finish(id);
  expect(faults).toEqual([]);
}

/** What product events the loads make of an empty feed. */
async function made(...loads: readonly Sent[]): Promise<readonly string[]> {
  const feedId = (lastFeed += 1);
  for (const sent of loads) await load(feedId, sent);
  const events: string[] = [];
  for await (const batch of log.readStream(`feed-${feedId}`)) {
    events.push(
      ...batch.filter(({ type }) => type !== 'FeedImported').map(({ type, data }) => `${type} ${data}`),
    );
  }
  return events;
}

interface Stored {
  readonly sourceProductId: string;
  readonly price: number;
  readonly product: { readonly identifiers?: object };
}

const anyFormat = fc.constantFrom('json' as const, 'xml' as const);
const anyChunk = fc.integer({ min: 5, max: 500 });

describe('Whatever products are posted', () => {
  it('the events are the same for XML and JSON, in chunks of any size (Document 1, XML body shape)', async () => {
    await fc.assert(
      fc.asyncProperty(anyProducts(), anyChunk, async (products, chunk) => {
        const events = await made({ products, format: 'json' });
        expect(await made({ products, format: 'json', chunk })).toEqual(events);
        expect(await made({ products, format: 'xml', chunk })).toEqual(events);
      }),
      { numRuns: 30 },
    );
  });

  it('every text is stored unchanged (decisions A11)', async () => {
    await fc.assert(
      fc.asyncProperty(anyProduct(), anyFormat, async (product, format) => {
        const [event = ''] = await made({ products: [product], format });
        const { product: stored, ...head } = JSON.parse(event.slice(event.indexOf('{'))) as Stored;
        const { identifiers = {}, ...rest } = stored;
        expect({
          ...rest,
          ...identifiers,
          sourceProductId: head.sourceProductId,
          price: head.price / 100,
        }).toEqual(product);
      }),
      { numRuns: 30 },
    );
  });

  it('posting them again in either format makes no event', async () => {
    await fc.assert(
      fc.asyncProperty(anyProducts(), anyFormat, anyFormat, async (products, first, second) => {
        const events = await made({ products, format: first });
        const repeated = { products, format: second };
        expect(await made({ products, format: first }, repeated, repeated)).toEqual(events);
      }),
      { numRuns: 20 },
    );
  });

  it('a new price alone makes its own event', async () => {
    await fc.assert(
      fc.asyncProperty(anyProduct(), anyPrice, anyFormat, async (product, price, format) => {
        fc.pre(price !== product.price);
        const [, event, ...others] = await made(
          { products: [product], format: 'json' },
          { products: [{ ...product, price }], format },
        );
        expect(event).toMatch(/^ProductRepriced /);
        expect(others).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});

async function makeTheSameEitherWay(products: readonly PostedProduct[]): Promise<void> {
  const events = await made({ products, format: 'json' });
  expect(events).toHaveLength(new Set(products.map(({ sourceProductId }) => sourceProductId)).size);
  expect(await made({ products, format: 'xml' })).toEqual(events);
}

describe('A large body', () => {
  it('of generated products makes the same events in XML and in JSON', async () => {
    await makeTheSameEitherWay([...generateProducts({ count: 1500 })]);
  });

  testRealProducts('of real products does too', async (feeds) => {
    for (const { products } of feeds) await makeTheSameEitherWay(products);
  });
});
