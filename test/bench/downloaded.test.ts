import { Readable } from 'node:stream';
import { type DownloadFormat, digestOf } from '../../bench/downloaded';
import { feedFormat } from '../../src/services/products/download/exporter';
import { type OutputProduct } from '../../src/services/products/output';

const product = (brand: string): OutputProduct => ({
  name: 'Lamp & shade',
  description: 'Of "glass"',
  productImage: { url: 'https://img.example/1.jpg' },
  categories: [{ id: '1', name: 'Lamps', tdCategoryName: 'Light' }],
  language: 'en',
  brand,
  identifiers: { ean: '4006381333931' },
  fields: [{ name: 'colour', value: 'red' }],
  groupingId: 'g',
  offers: [
    {
      id: 'o',
      feedId: 1,
      sourceProductId: 'a',
      productUrl: 'https://shop.example/',
      price: { minor: 1250, currency: 'EUR' },
      modified: 1,
    },
  ],
});

const digest = async (format: DownloadFormat, ...products: OutputProduct[]) => {
  const csv = { columns: 'of the type', separators: [',', ';', ':'], embrace: '"' } as const;
  const parts = feedFormat(
    { format, csv, pretty: false, vendor: 'affilog', dates: 'epoch' },
    products.length,
  );
  const records = products.map((one, at) => parts.record(one, at === 0));
  return await digestOf(format, Readable.from(Buffer.from([parts.head, ...records, parts.foot()].join(''))));
};

describe('the digest of a download', () => {
  it('is the same in every format, and another for other products', async () => {
    const products = [product('Lum'), product('Éclat')] as const;
    const { digest: expected } = await digest('json', ...products);
    for (const format of ['json', 'xml', 'csv'] as const) {
      expect(await digest(format, ...products)).toEqual({ products: 2, digest: expected });
      expect((await digest(format, products[1], products[0])).digest).not.toBe(expected);
    }
  });
});
