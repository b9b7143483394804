import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { digestOf, Fingerprints, IdTable } from '../../../src/domain/products/fingerprints';
import { loadFingerprints, saveFingerprints } from '../../../src/services/products/load/fingerprint-cache';
import { anyCharacters } from '../../support/any-characters';

const ids = fc.oneof(anyCharacters({ maxLength: 40 }), fc.constantFrom('a', 'b', 'SKU-1', 'ü', '😀'));

describe('the numbers that ids are given', () => {
  test('are found again among many', () => {
    const table = new IdTable();
    for (let at = 0; at < 20_000; at += 1) expect(table.add(`p${at}`)).toBe(at);
    for (let at = 0; at < 20_000; at += 1) expect(table.find(`p${at}`)).toBe(at);
  });

  test.each([1, 12, 36, 80])(
    'count with what is used, not with what is reserved: %i characters (decisions X100)',
    (length) => {
      const table = new IdTable();
      // One more than what the slots are doubled for.
      const count = 2 ** 16 + 1;
      for (let at = 0; at < count; at += 1) table.add(at.toString(36).padStart(length, '-'));
      const { ends, bytes } = table.columns();
      expect(table.memory).toBeGreaterThanOrEqual(ends.byteLength + bytes.length + 16 * count - 64);
      expect(table.memory).toBeLessThanOrEqual(bytes.length + 24 * count + 64);
    },
  );

  test('are consecutive, unique, and found again', () => {
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 3000 }), (list) => {
        const wellFormed = list.map((id) => id.toWellFormed());
        const table = new IdTable();
        const expected = new Map<string, number>();
        for (const id of wellFormed) {
          if (!expected.has(id)) {
            expect(table.find(id)).toBe(-1);
            expected.set(id, expected.size);
          }
          expect(table.add(id)).toBe(expected.get(id));
        }
        const { ends, bytes } = table.columns();
        for (const copy of [table, IdTable.fromColumns(ends.slice(), Buffer.from(bytes))]) {
          expect(copy.size).toBe(expected.size);
          for (const [id, number] of expected) {
            expect(copy.find(id)).toBe(number);
            expect(copy.idOf(number)).toBe(id);
          }
          expect(copy.find('never there, not once')).toBe(-1);
        }
      }),
      { numRuns: 30 },
    );
  });
});

type Step = { readonly id: string } & (
  | { readonly set: string; readonly price: number; readonly currency: string }
  | { readonly reprice: number; readonly currency: string }
  | { readonly remove: true }
  | { readonly posted: string }
);

const currencies = fc.constantFrom('EUR', 'BGN', 'ZZZ', '');

const steps: fc.Arbitrary<Step> = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    fc.oneof(
      fc.record({ set: fc.constantFrom('x', 'y'), price: fc.nat(99), currency: currencies }),
      fc.record({ reprice: fc.nat(99), currency: currencies }),
      fc.record({ remove: fc.constant(true as const) }),
      fc.record({ posted: fc.constantFrom('p', 'q', 'r') }),
    ),
  )
  .map(([id, step]) => ({ id, ...step }));

interface Model {
  content: string;
  price: number;
  currency: string;
  listed: boolean;
  posted: string | undefined;
}

function play(list: readonly Step[]): { prints: Fingerprints; model: Map<string, Model> } {
  const prints = new Fingerprints();
  const model = new Map<string, Model>();
  for (const step of list) {
    const { id } = step;
    const currency = 'currency' in step ? step.currency : '';
    const known = model.get(id);
    if ('set' in step) {
      prints.set(id, digestOf(step.set), step.price, currency);
      model.set(id, { content: step.set, price: step.price, currency, listed: true, posted: undefined });
    } else if ('reprice' in step) {
      prints.reprice(id, step.reprice, currency);
      if (known) model.set(id, { ...known, price: step.reprice, currency, posted: undefined });
    } else if ('remove' in step) {
      prints.remove(id);
      if (known) known.listed = false;
    } else {
      // The bytes of a product hold its id, so no two have the same.
      prints.rememberPosted(prints.find(id), digestOf(id + step.posted));
      if (known) known.posted = step.posted;
    }
  }
  return { prints, model };
}

function expectSame(prints: Fingerprints, model: Map<string, Model>): void {
  expect(prints.listed).toBe([...model.values()].filter(({ listed }) => listed).length);
  for (const [id, { content, price, currency, listed, posted }] of model) {
    const product = prints.find(id);
    expect(prints.isListed(product)).toBe(listed);
    expect(prints.priceOf(product)).toBe(price);
    for (const other of ['EUR', 'BGN', 'ZZZ', ''])
      expect(prints.isIn(product, other)).toBe(other === currency || other === '' || currency === '');
    expect(prints.hasContent(product, digestOf(content))).toBe(true);
    expect(prints.hasContent(product, digestOf('other'))).toBe(false);
    for (const bytes of ['p', 'q', 'r']) {
      const isCurrent = listed && posted === bytes;
      expect(prints.findPosted(digestOf(id + bytes))).toBe(isCurrent ? product : -1);
    }
  }
}

describe('the fingerprints of a feed', () => {
  test('have the last state of each product', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 200 }), (list) => {
        const { prints, model } = play(list);
        expectSame(prints, model);
      }),
    );
  });

  test('are the same after saving and loading, and can be changed', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'affilog-')), 'deep', 'feed-7.fingerprints');
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 100 }), async (list) => {
        const { prints, model } = play(list);
        prints.revision = list.length;
        await saveFingerprints(path, 7, prints);
        const loaded = await loadFingerprints(path, 7);
        expect(loaded?.revision).toBe(list.length);
        expectSame(loaded!, model);
        // And can be changed.
        for (let at = 0; at < 2000; at += 1) loaded!.set(`new ${at}`, digestOf(`${at}`), at, 'EUR');
        expect(loaded!.priceOf(loaded!.find('new 1999'))).toBe(1999);
      }),
      { numRuns: 20 },
    );
  });

  test('are not loaded from a file that is torn, changed, of another feed or missing', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'affilog-')), 'feed-7.fingerprints');
    const { prints } = play([{ id: 'a', set: 'x', price: 5, currency: 'EUR' }]);
    await saveFingerprints(path, 7, prints);
    const bytes = await readFile(path);
    expect(await loadFingerprints(path, 8)).toBeUndefined();
    for (const damage of [
      bytes.subarray(0, bytes.length - 1),
      bytes.subarray(0, 100),
      Buffer.from(bytes.map((byte, at) => (at === 530 ? 255 - byte : byte))),
      Buffer.alloc(0),
      Buffer.from('{'),
    ]) {
      await writeFile(path, damage);
      expect(await loadFingerprints(path, 7)).toBeUndefined();
      expect(await readFile(path).catch(() => 'removed')).toBe('removed');
    }
    expect(await loadFingerprints(path, 7)).toBeUndefined();
  });

  test('take less than 120 bytes per product', () => {
    const prints = new Fingerprints();
    for (let at = 0; at < 100_000; at += 1) {
      prints.set(`SKU-${at}`, digestOf(`${at}`), at, 'EUR');
      prints.rememberPosted(at, digestOf(`posted ${at}`));
    }
    expect(prints.memory / 100_000).toBeLessThan(120);
  });
});
