import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../../../src/domain/products/fingerprints';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { Spool, type SpooledProduct } from '../../../src/services/products/load/ingest/spool';
import { openFilesIn } from '../../support/open-files';

async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'affilog-'));
}

/** A product as it is put. */
interface Put {
  readonly head: SpooledProduct['head'];
  readonly number: number;
  readonly text: Buffer;
}

function product(at: number, bytes: number): Put {
  const sourceProductId = at % 3 === 0 ? `ü-${at}` : `p${at}`;
  const text = Buffer.alloc(bytes, `${at} `);
  const content = digestOf(`content ${at}`);
  const posted = digestOf(`posted ${at}`);
  const known = { sequence: at + 1, sourceProductId };
  const number = at * 7;
  if (at % 5 === 0) return { head: { kind: 'repeated', ...known, posted }, number, text };
  return {
    head: { kind: 'valid', ...known, price: at, content, posted: at % 2 === 0 ? posted : undefined },
    number,
    text,
  };
}

async function all(spool: Spool): Promise<SpooledProduct[]> {
  const found: SpooledProduct[] = [];
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
  ])('returns %s as they were added', async (_, count, bytes) => {
    const path = await folder();
    const spool = new Spool(SYSTEM_CLOCK, path);
    const products = Array.from({ length: count }, (__, at) =>
      product(at, at % 7 === 0 ? bytes : Math.ceil(bytes / 3)),
    );
    for (const { head, number, text } of products) void spool.put(head, text, number);
    const found = await all(spool);
    expect(found.length).toBe(products.length);
    expect(found.map(({ head, number }) => ({ head, number }))).toEqual(
      products.map(({ head, number }) => ({ head, number })),
    );
    for (const [at, { text, textBytes }] of found.entries()) {
      expect(text().equals(products[at]!.text)).toBe(true);
      expect(textBytes).toBe(products[at]!.text.length);
    }
    await spool.close();
    expect(await readdir(path)).toEqual([]);
  });

  test('rejects products once it is closed, and leaves no file open', async () => {
    const path = await folder();
    const spool = new Spool(SYSTEM_CLOCK, path);
    const { head, text, number } = product(1, 1_100_000);
    void spool.put(head, text, number);
    const closed = spool.close();
    await expect(spool.put(head, text, number)).rejects.toMatchObject({ name: 'EngineUnavailable' });
    await closed;
    await expect(spool.add(Buffer.alloc(1_100_000))).rejects.toMatchObject({ name: 'EngineUnavailable' });
    expect(openFilesIn(path)).toEqual([]);
    expect(await readdir(path)).toEqual([]);
  });

  test('raises EngineUnavailable without a path when its folder cannot be written', async () => {
    const spool = new Spool(SYSTEM_CLOCK, '/dev/null/spool');
    for (let at = 0; at < 3000; at += 1) {
      const { head, text } = product(at, 1000);
      void spool.put(head, text)?.catch(() => undefined);
    }
    const failure = await all(spool).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({
      name: 'EngineUnavailable',
      message: 'the posted products could not be written to disk (ENOTDIR)',
    });
    await spool.close();
  });
});
