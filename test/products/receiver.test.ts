import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Held } from '../../src/products/load/held';
import { JsonBody } from '../../src/products/load/json-body';
import { Receiver, type Sift } from '../../src/products/load/receiver';
import { sift } from '../../src/products/load/sift';
import { Spool } from '../../src/products/load/spool';

/** What another thread does with a slice: all it gets and gives are copies, and it may take its time. */
const elsewhere: Sift = async (slice) => {
  const copy = structuredClone(slice);
  for (let turns = (slice.ends.length * 7) % 5; turns >= 0; turns -= 1) await new Promise(setImmediate);
  return structuredClone(sift(copy));
};

function product(at: number, change: object = {}): object {
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

async function receive(products: readonly object[], others?: Sift) {
  const spool = new Spool(await mkdtemp(join(tmpdir(), 'affilog-')));
  const knowsCategory = (id: string): boolean => id === '1';
  const receiver = new Receiver({ spool, prints: undefined, knowsCategory, sift: others });
  const body = new JsonBody(receiver);
  try {
    const bytes = Buffer.from(JSON.stringify({ products }));
    for (let at = 0; at < bytes.length; at += 50_000) await body.write(bytes.subarray(at, at + 50_000));
    body.end();
    await receiver.complete();
    const held: Held[] = [];
    for await (const some of spool.read()) held.push(...some);
    const { faults, moreFaults, refused } = receiver;
    const last = held.filter(({ number, head }) => receiver.isLast(number, head.sequence));
    return { stored: last.map(({ head, text }) => [head, text().toString()]), faults, moreFaults, refused };
  } finally {
    await spool.close();
  }
}

describe('a body of more products than fit into one slice', () => {
  test('is the same whether it is read in this thread or in others (decisions P1, P13)', async () => {
    const products = Array.from({ length: 4000 }, (_, at) => {
      if (at % 97 === 0) return product(at, { price: 'x' });
      if (at % 101 === 0) return product(at, { categories: [{ id: '1' }] });
      if (at === 2500) return product(at, { categories: [{ id: 'unknown' }] });
      return product(at % 1500);
    });
    const here = await receive(products);
    expect(await receive(products, elsewhere)).toEqual(here);
    const refused = (at: number): boolean => at % 97 === 0 || at === 2500;
    const ids = products.map((_, at) => (at % 101 === 0 ? at : at % 1500));
    expect(here.stored).toHaveLength(new Set(ids.filter((_, at) => !refused(at))).size);
    expect(here.refused).toBe(products.filter((_, at) => refused(at)).length);
    expect(here.faults).toContainEqual(expect.objectContaining({ code: 'PF_430', sourceProductId: 'p2500' }));
  });

  test('is refused as a whole when one in the middle has a forbidden character (Document 1, Conventions 9)', async () => {
    const products = Array.from({ length: 4000 }, (_, at) => product(at, at === 2000 ? { name: '\b' } : {}));
    await expect(receive(products, elsewhere)).rejects.toMatchObject({ code: 'PF_210' });
  });

  test('has 10,000 faults told, in the order of the body, and the others counted (decisions X2)', async () => {
    const products = Array.from({ length: 11_000 }, (_, at) => product(at, { price: 'x' }));
    const { faults, moreFaults, refused } = await receive(products, elsewhere);
    expect([faults.length, moreFaults, refused]).toEqual([10_000, 1000, 11_000]);
    expect(faults.map(({ sourceProductId }) => sourceProductId)).toEqual(
      Array.from({ length: 10_000 }, (_, at) => `p${at}`),
    );
  });
});
