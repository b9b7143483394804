import { tmpdir } from 'node:os';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { Spool, type SpooledProduct } from '../../../src/services/products/load/ingest/spool';
import { digestOf, Fingerprints } from '../../../src/domain/products/fingerprints';
import {
  JsonBody,
  ProductIntake,
  type Validate,
  XmlBody,
} from '../../../src/services/products/load/ingest/product-intake';
import { validateSlice } from '../../../src/services/products/load/ingest/validate';
import { type PostedProduct } from '../../../src/demo/products';
import { type BodyFormat } from '../../../src/wire/api/format';
import { toXml } from '../../support/products';
import { spooledFrom } from './read-body';

/** What another thread does with a slice: all it gets and gives are copies, and it may take its time. */
const elsewhere: Validate = async (slice) => {
  const copy = structuredClone(slice);
  for (let turns = (slice.ends.length * 7) % 5; turns >= 0; turns -= 1) await new Promise(setImmediate);
  return structuredClone(validateSlice(copy));
};

function product(at: number, change: object = {}): PostedProduct {
  return {
    sourceProductId: `p${at}`,
    name: `Lamp ${at}`,
    description: 'A lamp \u2013 '.repeat(1 + (at % 90)),
    productUrl: 'https://shop.example/lamp',
    price: at,
    productImage: { url: 'https://img.example/lamp.png' },
    categories: [{ name: 'Lamps' }],
    ...change,
  };
}

/** Of a feed whose products were posted as these bytes. */
function printsOf(posted: ReadonlyMap<string, Buffer>): Fingerprints {
  const prints = new Fingerprints();
  for (const [id, bytes] of posted)
    prints.rememberPosted(prints.set(id, digestOf('content'), 1, ''), digestOf(bytes));
  return prints;
}

async function receive(products: readonly PostedProduct[], others?: Validate, format: BodyFormat = 'json') {
  const { intake, spooled } = await spooledFrom(
    Buffer.from(format === 'json' ? JSON.stringify({ products }) : toXml(products)),
    50_000,
    (own) => (format === 'json' ? new JsonBody(own) : new XmlBody(own)),
    { knowsCategory: (id) => id === '1', validate: others },
  );
  const { listed: faults, more: moreFaults, products: refused } = intake.faults;
  const last = spooled.filter(({ number, head }) => intake.isLast(number, head.sequence));
  return { stored: last.map(({ head, text }) => [head, text().toString()]), faults, moreFaults, refused };
}

describe('a body of more products than fit into one slice', () => {
  test.each(['json', 'xml'] as const)(
    'in %s has the same result whether it is validated in this thread or in others (decisions P1, P13)',
    async (format) => {
      const products = Array.from({ length: 4000 }, (_, at) => {
        if (at % 97 === 0) return product(at, { price: -1 });
        if (at % 101 === 0) return product(at, { categories: [{ id: '1' }] });
        if (at === 2500) return product(at, { categories: [{ id: 'unknown' }] });
        return product(at % 1500);
      });
      const here = await receive(products, undefined, format);
      expect(await receive(products, elsewhere, format)).toEqual(here);
      const refused = (at: number): boolean => at % 97 === 0 || at === 2500;
      const ids = products.map((_, at) => (at % 101 === 0 ? at : at % 1500));
      expect(here.stored).toHaveLength(new Set(ids.filter((_, at) => !refused(at))).size);
      expect(here.refused).toBe(products.filter((_, at) => refused(at)).length);
      expect(here.faults).toContainEqual(
        expect.objectContaining({ code: 'PF_430', sourceProductId: 'p2500' }),
      );
    },
  );

  test('is refused as a whole for a forbidden character in the middle (Document 1, Conventions 9)', async () => {
    const products = Array.from({ length: 4000 }, (_, at) => product(at, at === 2000 ? { name: '\b' } : {}));
    await expect(receive(products, elsewhere)).rejects.toMatchObject({ code: 'PF_210' });
  });

  test('lists 10,000 faults in the order of the body and counts the others (decisions X2)', async () => {
    const products = Array.from({ length: 11_000 }, (_, at) => product(at, { price: 'x' }));
    const { faults, moreFaults, refused } = await receive(products, elsewhere);
    expect([faults.length, moreFaults, refused]).toEqual([10_000, 1000, 11_000]);
    expect(faults.map(({ sourceProductId }) => sourceProductId)).toEqual(
      Array.from({ length: 10_000 }, (_, at) => `p${at}`),
    );
  });
});

test('a body of empty products is validated in small slices, and most faults are only counted', async () => {
  let most = 0;
  let listed = 0;
  const watched: Validate = async (slice) => {
    const validated = await elsewhere(slice);
    most = Math.max(most, slice.ends.length);
    listed += validated.faults.listed.length + validated.refusedIds.length;
    return validated;
  };
  const empty = Array.from({ length: 30_000 }, () => ({}) as PostedProduct);
  const { faults, moreFaults, refused } = await receive(empty, watched);
  expect([faults.length, faults.length + moreFaults, refused]).toEqual([10_000, 7 * 30_000, 30_000]);
  // Some milliseconds of work, so that the slices of other loads do not wait.
  expect(most).toBe(2_000);
  // The faults of 12,000 products at most: 10,000 faults of 7 each, and those of the slices in progress by then.
  expect(listed).toBeLessThan(7 * 12_000);
});

test.each([
  ['json', (at: number) => JSON.stringify(product(at)), (all: string) => `{"products":[${all}]}`, ','],
  [
    'xml',
    (at: number) => `<product sourceProductId="p${at}">${at}</product>`,
    (all: string) => `<products>${all}</products>`,
    '\n',
  ],
] as const)(
  'a product in the same bytes as before is not parsed, in %s',
  async (format, textOf, bodyOf, comma) => {
    const texts = Array.from({ length: 3 }, (_, at) => textOf(at));
    const prints = printsOf(new Map(texts.slice(0, 2).map((text, at) => [`p${at}`, Buffer.from(text)])));
    const spool = new Spool(SYSTEM_CLOCK, tmpdir());
    const intake = new ProductIntake({ spool, fingerprints: () => prints, knowsCategory: () => true });
    const body = format === 'json' ? new JsonBody(intake) : new XmlBody(intake);
    body.write(Buffer.from(bodyOf(texts.join(comma))));
    body.end();
    const spooled: SpooledProduct[] = [];
    for await (const some of spool.read()) spooled.push(...some);
    expect(spooled.map(({ head, text }) => [head.kind, head.sourceProductId, text().toString()])).toEqual([
      ['repeated', 'p0', texts[0]],
      ['repeated', 'p1', texts[1]],
    ]);
  },
);

test('a product in the same bytes as before is parsed once the fingerprints of its feed are evicted (decisions X100)', async () => {
  const texts = Array.from({ length: 2 }, (_, at) => JSON.stringify(product(at)));
  let prints: Fingerprints | undefined = printsOf(
    new Map(texts.map((text, at) => [`p${at}`, Buffer.from(text)])),
  );
  const spool = new Spool(SYSTEM_CLOCK, tmpdir());
  const intake = new ProductIntake({
    spool,
    fingerprints: () => prints,
    knowsCategory: () => true,
  });
  const body = new JsonBody(intake);
  body.write(Buffer.from(`{"products":[${texts[0]}`));
  prints = undefined;
  body.write(Buffer.from(`,${texts[1]}]}`));
  body.end();
  await intake.complete();
  const kinds: string[] = [];
  for await (const some of spool.read()) kinds.push(...some.map(({ head }) => head.kind));
  expect(kinds).toEqual(['repeated', 'valid']);
});
