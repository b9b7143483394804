import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type OutputProduct } from '../../../src/services/products/output';
import { csvLayout, type CsvOptions, type CsvStyle } from '../../../src/services/products/result-text';
import { customFieldNames } from '../../../src/domain/products/offer';

const STYLE: CsvStyle = { columns: 'of the type', separators: [',', ';', ':'], embrace: '"' };

const product = (changes: Partial<OutputProduct> = {}, offers = [offer()]): OutputProduct => ({
  name: 'Lamp',
  description: 'Of glass',
  productImage: { url: 'https://img.example/1.jpg' },
  categories: [{ id: '1', name: 'Lamps', tdCategoryName: 'Light' }],
  groupingId: 'g',
  offers,
  ...changes,
});

const offer = (changes: Partial<OutputProduct['offers'][number]> = {}): OutputProduct['offers'][number] => ({
  id: 'o',
  feedId: 1,
  sourceProductId: 'a',
  productUrl: 'https://shop.example/',
  price: { minor: 1250, currency: 'EUR' },
  modified: 1,
  ...changes,
});

const written = (products: readonly OutputProduct[], options: Partial<CsvOptions> = {}): string => {
  const { header, rows } = csvLayout({ ...STYLE, dates: 'epoch', ...options });
  return [header(), ...products.map(rows)].join('');
};

/** The rows as a strict parser reads them, by the names of the columns. */
function rowsOf(csv: string, { separators, embrace }: CsvStyle = STYLE): Record<string, string>[] {
  return parse(csv, {
    columns: true,
    delimiter: separators[0],
    quote: embrace,
    escape: embrace,
    record_delimiter: '\r\n',
  });
}

const only = (csv: string) => rowsOf(csv)[0]!;

describe('cells of CSV (decisions P16)', () => {
  it('have the parts of an image, the missing ones too', () => {
    expect(only(written([product()])).productImage).toBe('https://img.example/1.jpg;;');
    const productImage = { url: 'u', width: 5, height: 3 };
    expect(only(written([product({ productImage })]))).toMatchObject({
      productImage: 'u;5;3',
      imageUrl: 'u',
      width: '5',
      height: '3',
    });
  });

  it('have the parts of identifiers, the missing ones too', () => {
    expect(only(written([product()])).identifiers).toBe(';;;;');
    const identifiers = { ean: '1', upc: '2', isbn: '3', mpn: '5', sku: '4' };
    expect(only(written([product({ identifiers })]))).toMatchObject({
      identifiers: '1;2;3;4;5',
      ...identifiers,
    });
  });

  it('have lists of categories, each by its name, id and platform name', () => {
    const categories = [{ id: '1', tdCategoryName: 'Light' }, { name: 'A:b;c' }];
    expect(only(written([product({ categories })]))).toMatchObject({
      categories: ':1:Light;A:b;c::',
      MerchantCategoryName: ';A:b;c',
      TDCategoryName: 'Light;',
      TDCategoryId: '1;',
    });
  });

  it('have custom fields by name and value, an empty cell if there are none', () => {
    const fields = [
      { name: 'Colour', value: 'red' },
      { name: 'Cable', value: '' },
    ];
    expect(only(written([product({ fields })])).fields).toBe('Colour:red;Cable:');
    expect(only(written([product()])).fields).toBe('');
  });

  it('have prices of two decimals, and tell the format of dates', () => {
    expect(only(written([product()]))).toMatchObject({
      price: '12.50',
      currency: 'EUR',
      modified: '1',
      dateformat: 'EPOCH',
    });
    const iso = written([product({}, [offer({ modified: '2026-03-01T12:00:00.000Z' })])], {
      columns: 'of the key',
      dates: 'iso8601',
    });
    expect(only(iso)).toMatchObject({
      priceValue: '12.50',
      priceCurrency: 'EUR',
      modified: '2026-03-01T12:00:00.000Z',
      dateFormat: 'ISO8601',
    });
  });

  it('are all embraced, and end in CR LF (decisions X26)', () => {
    const csv = written([product({ name: 'A "big" one' })]);
    expect(csv).toMatch(/^"name","productImage",.*,"dateformat"\r\n"A ""big"" one",.*,"","EPOCH"\r\n$/);
  });
});

describe('columns of custom fields (decisions P16, X26)', () => {
  const products = [
    product({ fields: [{ name: 'b', value: '1' }] }),
    product({
      fields: [
        { name: 'a', value: '2' },
        { name: 'b', value: '3' },
        { name: 'b', value: '4' },
      ],
    }),
    product(),
  ];
  const csv = written(products, { customFields: customFieldNames(products) });

  it('stand in front of fields, in the order of their names', () => {
    const columns = Object.keys(only(csv));
    expect(columns.slice(columns.indexOf('size') + 1, columns.indexOf('weight'))).toEqual([
      '(field)a',
      '(field)b',
      'fields',
      'warranty',
    ]);
  });

  it('hold the values, lists of several of one name; fields is empty', () => {
    expect(rowsOf(csv).map((row) => [row['(field)a'], row['(field)b'], row.fields])).toEqual([
      ['', '1', ''],
      ['2', '3;4', ''],
      ['', '', ''],
    ]);
  });

  it('are 1,000 at most', () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
    expect(() => written([], { customFields: names(1001) })).toThrow(
      'csvFlattenFields=true: the result has 1001 custom fields, expected at most 1000',
    );
    expect(written([], { customFields: names(1000) })).toContain('"(field)n999"');
  });
});

describe('any cells, separators and embrace', () => {
  /** Full of what could be taken for something else. */
  const character = fc.constantFrom(',', ';', ':', '"', "'", '|', '\t', '\r', '\n', ' ', 'a', 'é', '😀');
  const text = fc.string({ unit: character, maxLength: 12 });
  const style = fc
    .uniqueArray(fc.constantFrom(',', ';', ':', '"', "'", '|', '\t', ' ', 'a', 'é', '€'), {
      minLength: 4,
      maxLength: 4,
    })
    .map(([column, value, part, embrace]) => ({
      separators: [column!, value!, part!] as const,
      embrace: embrace!,
    }));
  const fields = fc.array(fc.record({ name: text, value: text }), { maxLength: 3 });
  const rows = fc.array(fc.record({ name: text, description: text, brand: text, fields }), { maxLength: 4 });

  it('survive a round trip through a strict parser', () => {
    fc.assert(
      fc.property(rows, style, fc.constantFrom('of the type', 'of the key'), (values, chosen, columns) => {
        const products = values.map((changes) => product(changes));
        const options = { ...chosen, columns, customFields: customFieldNames(products) } as const;
        const read = rowsOf(written(products, options), options);
        const expected = values.map(({ fields: custom, ...texts }) => ({
          ...texts,
          ...Object.fromEntries(
            options.customFields.map((name) => [
              `(field)${name}`,
              custom
                .filter((field) => field.name === name)
                .map(({ value }) => value)
                .join(chosen.separators[1]),
            ]),
          ),
        }));
        expect(read).toMatchObject(expected);
        expect(read).toHaveLength(values.length);
      }),
    );
  });
});
