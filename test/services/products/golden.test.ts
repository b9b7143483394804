import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { imports } from '../../../projections/imports';
import { priceHistory } from '../../../projections/price-history';
import { products } from '../../../projections/products';
import { type StoredOffer } from '../../../src/domain/products/offer';
import { Directory } from '../../../src/network/directory';
import { START } from '../../../src/kernel/event';
import { evolve, type FeedEvent, type RefusalEvent, parseChange } from '../../../src/domain/products/feed';
import { endedLoad } from '../../../src/services/products/load/restore';
import { Fingerprints } from '../../../src/domain/products/fingerprints';

type Sample = FeedEvent & {
  readonly stream: string;
  readonly meta: object;
  readonly revision: number;
  readonly position: string;
};

function sample(type: (FeedEvent | RefusalEvent)['type'], variant = ''): Sample {
  const file = join(__dirname, `../../golden/${type}${variant}.json`);
  const stored = JSON.parse(readFileSync(file, 'utf8')) as object;
  return { ...stored, revision: 0, position: START } as Sample;
}

/** One of each type, in an order in which they can follow each other. */
const TYPES = [
  'ProductListed',
  'ProductRevised',
  'ProductRepriced',
  'ProductDelisted',
  'ProductsDeleted',
  'FeedImported',
] as const;
const ALL_ARE_THERE: Exclude<FeedEvent['type'], (typeof TYPES)[number]> extends never ? true : false = true;

describe('events of feeds as they have been stored (test/golden)', () => {
  test('are folded into fingerprints for ever', () => {
    expect(ALL_ARE_THERE).toBe(true);
    const prints = new Fingerprints();
    const states = TYPES.map((type, revision) => {
      const { stream, data, meta } = sample(type);
      const text = { data: JSON.stringify(data), meta: JSON.stringify(meta) };
      const change = parseChange({ id: '', stream, type, ...text, revision, position: START });
      if (change !== undefined) evolve(prints, change);
      const product = prints.find('lamp-7');
      return [
        prints.isListed(product),
        prints.priceOf(product),
        prints.hasContent(product, 'fedcba9876543210fedcba9876543210'),
      ];
    });
    expect(states).toEqual([
      [true, 12990, false],
      [true, 11990, true],
      [true, 9990, true],
      [false, 9990, true],
      [false, 9990, true],
      [false, 9990, true],
    ]);
  });

  test('are folded with the currency that later versions record (decisions P10)', () => {
    const prints = new Fingerprints();
    let history: Parameters<typeof priceHistory.fold>[0];
    let offer: StoredOffer | undefined;
    for (const type of ['ProductListed', 'ProductRevised', 'ProductRepriced'] as const) {
      const event = sample(type, '-currency') as Extract<Sample, { readonly type: typeof type }>;
      const text = { data: JSON.stringify(event.data), meta: JSON.stringify(event.meta) };
      const change = parseChange({ ...event, id: '', ...text });
      if (change !== undefined) evolve(prints, change);
      history = priceHistory.fold(history, event);
      offer = products.fold(offer, event);
    }
    expect(prints.isIn(prints.find('lamp-7'), 'BGN')).toBe(false);
    expect(offer).toMatchObject({ price: 9990, currency: 'EUR' });
    expect(history?.prices.map(([price, , , currency]) => [price, currency])).toEqual([
      [12990, 'BGN'],
      [11990, 'EUR'],
      [9990, 'EUR'],
    ]);
  });

  test('are reported for ever, and so are refused posts (decisions P30)', () => {
    const reported = (['FeedImported', 'FeedImportRefused'] as const).map((type) => {
      const event = sample(type) as Parameters<typeof imports.fold>[1];
      return imports.describe(imports.fold(undefined, event)!, imports.idOf(event), new Directory());
    });
    expect(reported).toMatchObject([
      {
        fields: { feedId: 301, time: Date.parse('2026-01-05T08:00:00Z') },
        document: { reported: { status: 'done', new: 1, refused: 1, faults: [{ code: 'PF_240' }] } },
      },
      {
        fields: { feedId: 301, time: Date.parse('2026-01-06T08:00:00Z') },
        document: { reported: { status: 'refused', new: 0, faults: [{ code: 'PF_210' }] } },
      },
    ]);
  });

  test('are reported with what later versions have added (decisions P30)', () => {
    const event = sample('FeedImported', '-optional') as Parameters<typeof imports.fold>[1];
    expect(imports.fold(undefined, event)).toMatchObject({
      reported: {
        unmapped: 1,
        ignoredFields: [{ field: 'colour', products: 2, sourceProductId: 'lamp-7' }],
        largeRemoval: true,
        restores: '0d9b6b0e-4c2e-4a53-9b5b-3f3a4f0f1c11',
      },
    });
  });

  test('can be undone by the ids that they have had at any time (decisions X89)', () => {
    const closings = [
      sample('FeedImported'),
      sample('ProductsDeleted', '-optional'),
      sample('ProductsDeleted'),
    ];
    const loads = closings.map(({ type, data }) => endedLoad({ type, data: JSON.stringify(data) }));
    expect(loads.map(({ importId, what }) => [importId, what])).toEqual([
      ['0d9b6b0e-4c2e-4a53-9b5b-3f3a4f0f1c11', 'replace'],
      ['8c0c8f1e-2b53-4d0b-8b5e-0a4d2f3e4f33', 'deletion'],
      [undefined, 'deletion'],
    ]);
  });

  test('are folded into search documents and price histories for ever', () => {
    let offer: StoredOffer | undefined;
    let history: Parameters<typeof priceHistory.fold>[0];
    for (const [revision, type] of TYPES.entries()) {
      const event = { ...sample(type), revision };
      if (event.type === 'FeedImported' || event.type === 'ProductsDeleted') continue;
      offer = products.fold(offer, event);
      history = priceHistory.fold(history, event);
      if (type !== 'ProductRepriced') continue;
      expect(offer).toMatchObject({
        feedId: 301,
        sourceProductId: 'lamp-7',
        price: 9990,
        product: { name: 'Wall lamp' },
      });
      const { fields } = products.describe(offer!, products.idOf(event), new Directory());
      expect(fields).toMatchObject({
        brand: 'sol',
        ean: '4006381333931',
        title: ['wall', 'lamp'],
        visible: 0,
      });
    }
    expect(offer).toBeUndefined();
    expect(history).toEqual({
      feedId: 301,
      prices: [
        [12990, Date.parse('2026-01-05T08:00:00Z'), START],
        [11990, Date.parse('2026-01-06T08:00:00Z'), START],
        [9990, Date.parse('2026-01-07T08:00:00Z'), START],
      ],
      events: TYPES.flatMap((type, revision) =>
        type.startsWith('Product') && type !== 'ProductsDeleted' ? [revision] : [],
      ),
    });
  });
});
