import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../../src/products/load/fingerprints';
import { type Held, Spool } from '../../src/products/load/spool';

async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'affilog-'));
}

function held(at: number, bytes: number): Held {
  const sourceProductId = at % 3 === 0 ? `ü-${at}` : `p${at}`;
  const body = Buffer.alloc(bytes, `${at} `);
  const content = digestOf(`content ${at}`);
  const posted = digestOf(`posted ${at}`);
  if (at % 5 === 0) return { kind: 'known', sourceProductId, posted, body };
  return {
    kind: 'checked',
    sourceProductId,
    price: at,
    content,
    posted: at % 2 === 0 ? posted : undefined,
    body,
  };
}

async function all(spool: Spool): Promise<Held[]> {
  const found: Held[] = [];
  for await (const some of spool.read()) found.push(...some);
  return found;
}

describe('the spool of posted products', () => {
  test.each([
    ['few', 3, 100],
    ['none', 0, 0],
    ['some that fill several blocks', 6000, 1000],
    ['large ones', 40, 250_000],
    ['ones of the largest size and small ones', 20, 1_100_000],
  ])('gives back %s as they were put', async (_, count, bytes) => {
    const path = await folder();
    const spool = new Spool(path);
    const products = Array.from({ length: count }, (__, at) =>
      held(at, at % 7 === 0 ? bytes : Math.ceil(bytes / 3)),
    );
    for (const product of products) void spool.put(product);
    const found = await all(spool);
    expect(found.length).toBe(products.length);
    expect(found.map(({ sourceProductId }) => sourceProductId)).toEqual(
      products.map(({ sourceProductId }) => sourceProductId),
    );
    for (const [at, product] of found.entries()) {
      expect({ ...product, body: undefined }).toEqual({ ...products[at], body: undefined });
      expect(product.body.equals(products[at]!.body)).toBe(true);
    }
    await spool.close();
    expect(await readdir(path)).toEqual([]);
  });

  test('raises EngineUnavailable when its folder cannot be written, and tells no path', async () => {
    const spool = new Spool('/dev/null/spool');
    for (let at = 0; at < 3000; at += 1) void spool.put(held(at, 1000))?.catch(() => undefined);
    const failure = await all(spool).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({
      name: 'EngineUnavailable',
      message: 'the posted products could not be held on disk',
    });
    await spool.close();
  });
});
