import fc from 'fast-check';
import { type PostedProduct } from '../../../src/demo/products';
import { Fingerprints } from '../../../src/domain/products/fingerprints';
import { csvLines, type CsvSeparators } from '../../../src/wire/csv/rows';
import { anyProducts, toJson } from '../../support/products';
import { HEADER, PRODUCT, read, refusal, ROW } from './read-body';

describe('a posted CSV (decisions P35)', () => {
  it.each([
    ['commas', `${HEADER}\n${ROW}\n`, 'csv'],
    ['semicolons', `${HEADER}\n${ROW}\n`.replaceAll(',', ';'), 'csv'],
    ['tabs', `${HEADER}\n${ROW}\n`.replaceAll(',', '\t'), 'csv'],
    ['tabs, as TSV', `${HEADER}\n${ROW}\n`.replaceAll(',', '\t'), 'tsv'],
    ['tabs, of any format', `${HEADER}\n${ROW}\n`.replaceAll(',', '\t'), 'any'],
    ['a byte order mark and CR LF', `\ufeff${HEADER}\r\n${ROW}\r\n`, 'csv'],
    ['a byte order mark, of any format', `\ufeff${HEADER}\n${ROW}`, 'any'],
    ['empty lines', `\n\r\n${HEADER}\n\n${ROW}\n\n,,,,,,\n`, 'csv'],
    ['empty cells at the ends of rows', `${HEADER}\n${ROW},,\n`, 'csv'],
    [
      'names in other spellings',
      `Source_Product_ID,NAME,description,product url,PRICE,image-url,Categories\n${ROW}`,
      'csv',
    ],
    ['quotes', `"${HEADER.replaceAll(',', '","')}"\n"${ROW.replaceAll(',', '","')}"\n`, 'csv'],
  ] as const)('has %s', async (_, text, format) => {
    for (const size of [1, 7, 10_000])
      expect(await read(text, { format, size })).toMatchObject({
        products: [PRODUCT],
        faults: [],
        ignored: [],
      });
  });

  it('has the columns of both downloads (decisions P14, P15)', async () => {
    const more =
      'productImage,height,width,TDProductId,TDCategoryId,TDCategoryName,MerchantCategoryName,identifiers,inStock,fields,' +
      '(field)colour,currency,id,feedId,programName,brand';
    const cells =
      'https://img.example/2.png;1;2,5,6,,221,Lamps,Leuchten,4006381333931;;;S;,3,a:1;b:2:3;4,red,eur,x,1,shop,Lux';
    const row = `"${`${ROW},${cells}`.replaceAll(',', '","')}"`;
    const { products, faults, ignored } = await read(
      `${HEADER},${more}\n${row}\n`.replace('TDProductId,', 'x,'),
    );
    expect(faults).toEqual([]);
    expect(products).toEqual([
      {
        ...PRODUCT,
        productImage: { url: 'https://img.example/1.png', width: 6, height: 5 },
        identifiers: { ean: '4006381333931', sku: 'S' },
        inStock: 3,
        brand: 'Lux',
        fields: [
          { name: 'a', value: '1' },
          { name: 'b', value: '2:3;4' },
          { name: 'colour', value: 'red' },
        ],
      },
    ]);
    expect(ignored).toEqual(['feedId', 'id', 'programName', 'x']);
  });

  it.each([
    ['Lamps', [{ name: 'Lamps' }]],
    ['Lamps;Desk: new', [{ name: 'Lamps' }, { name: 'Desk: new' }]],
    ['A:B:C', [{ name: 'A:B:C' }]],
    ['Lamps:221:Lights', [{ name: 'Lamps', id: '221', tdCategoryName: 'Lights' }]],
    [':221:', [{ id: '221' }]],
    ['Lamps::;Desk; new::', [{ name: 'Lamps' }, { name: 'Desk; new' }]],
    ['a:b::;Desk', [{ name: 'a:b' }, { name: 'Desk' }]],
  ])('has categories %s', async (cell, categories) => {
    const { products, faults } = await read(`${HEADER}\n${ROW.replace(/[^,]*$/, `"${cell}"`)}`);
    expect({ faults, categories: products[0] }).toMatchObject({ faults: [], categories: { categories } });
  });

  it('has columns of other names, by a mapping', async () => {
    const map = [
      { as: 'name', column: 'Titel' },
      { as: 'price', column: 'Preis' },
      { as: '(field)Farbe', column: 'colour' },
      { as: 'brand', column: 'Marke' },
    ];
    const header = HEADER.replace('name', 'Titel').replace('price', 'Preis');
    const found = await read(`${header},colour,brand,Marke\n${ROW},rot,Lux,Ikon\n`, { columns: { map } });
    expect(found).toMatchObject({
      products: [{ ...PRODUCT, brand: 'Ikon', fields: [{ name: 'Farbe', value: 'rot' }] }],
      ignored: ['brand'],
    });
    const wrong = await read(
      `${header},colour,brand,Marke\n${ROW.replace('12.50', '"1,250"')},rot,Lux,Ikon\n`,
      {
        columns: { map },
      },
    );
    expect(wrong.faults).toEqual([
      "PF_280 p1 line 2: column Preis (price): expected a price such as 12, 12.50 or 12.50 EUR: not negative, with at most two decimals, got '1,250'",
    ]);
  });

  it.each([
    ['49,9', 4990],
    ['49,90 EUR', 4990],
    ['1.299,00', 129_900],
    ['1,299.00', 129_900],
    ['1.234.567,8', 123_456_780],
    ['12.5', 1250],
  ])('has the price %s as tables of shops write it', async (cell, price) => {
    const { products, faults } = await read(`${HEADER}\n${ROW.replace('12.50', `"${cell}"`)}`);
    expect({ faults, products }).toMatchObject({ faults: [], products: [{ price }] });
  });

  it.each(['1,299', '1.299', '1.29,00', '1,2,34.00', '12,345', '-1,00', '1.299,00,00', ',50'])(
    'refuses the price %s, which may be another one',
    async (cell) => {
      const { faults } = await read(`${HEADER}\n${ROW.replace('12.50', `"${cell}"`)}`);
      expect(faults).toEqual([expect.stringMatching(/^PF_280 p1 line 2: column price: /)]);
    },
  );

  it('gives the products that the same in JSON give, whatever they have', async () => {
    const separators: CsvSeparators = [';', '\ue000', '\ue001'];
    const [, value, part] = separators;
    const columns = [
      ...['sourceProductId', 'name', 'description', 'productUrl', 'price', 'productImage', 'categories'],
      ...[
        'availability',
        'brand',
        'condition',
        'deliveryTime',
        'inStock',
        'manufacturer',
        'model',
        'promoText',
      ],
      ...[
        'shippingCost',
        'shortDescription',
        'size',
        'techSpecs',
        'warranty',
        'weight',
        'ean',
        'upc',
        'isbn',
      ],
      ...['mpn', 'sku', 'fields'],
    ];
    const cellOf = (product: PostedProduct, column: string): string | undefined => {
      const { productImage: image, categories, fields = [], price } = product;
      if (column === 'price') return price.toFixed(2);
      if (column === 'productImage') return [image.url, image.width, image.height].join(value);
      if (column === 'categories')
        return categories
          .map(({ name, id, tdCategoryName }) => [name, id, tdCategoryName].join(part))
          .join(value);
      if (column === 'fields')
        return fields.map(({ name, value: text }) => [name, text].join(part)).join(value);
      const cell = product[column as keyof PostedProduct];
      return cell === undefined ? undefined : `${cell as string | number}`;
    };
    await fc.assert(
      fc.asyncProperty(anyProducts(5), fc.integer({ min: 1, max: 400 }), async (products, size) => {
        fc.pre(!/[\ue000\ue001]/.test(toJson(products)));
        const line = csvLines(separators, '"');
        const rows = products.map((product) => line(columns.map((column) => cellOf(product, column))));
        const fromCsv = await read([line(columns), ...rows].join(''), { columns: { separators }, size });
        const fromJson = await read(toJson(products), { format: 'json', size });
        expect(fromCsv.faults).toEqual([]);
        expect(fromCsv.products).toEqual(fromJson.products);
        expect(fromCsv.heads.map((head) => head.kind === 'valid' && head.content)).toEqual(
          fromJson.heads.map((head) => head.kind === 'valid' && head.content),
        );
      }),
      { numRuns: 50 },
    );
  });
});

describe('a row that is refused', () => {
  it.each([
    ['is too short', 'p2,Lamp', 'PF_430 p2 line 3: expected 7 cells, as in the header, got 2'],
    ['is too long', `${ROW},x`, 'PF_430 p1 line 3: expected 7 cells, as in the header, got 8'],
    ['repeats the header', HEADER, /^PF_391 sourceProductId line 3: column productUrl: expected/],
    ['has no name', ROW.replace('Lamp,', ','), 'PF_240 p1 line 3: column name must be set'],
    ['has no id', ROW.replace('p1', ''), 'PF_240 - line 3: column sourceProductId must be set'],
    [
      'has NUL',
      ROW.replace('A lamp', 'A\0lamp'),
      'PF_430 p1 line 3: column description has the character U+0000, which XML does not allow',
    ],
    [
      'has a quote within a cell',
      ROW.replace('A lamp', '"A "lamp"'),
      /^PF_430 p1 line 3: column description: text behind the closing "/,
    ],
    [
      'has a URL that is none',
      ROW.replace('https://shop', 'shop'),
      /^PF_391 p1 line 3: column productUrl: expected/,
    ],
    [
      'has a price in another currency',
      ROW.replace('12.50', '12.50 USD'),
      "PF_280 p1 line 3: column price: expected a price in EUR, the currency of the program, got '12.50 USD'",
    ],
    [
      'is too large',
      ROW.replace('A lamp', 'x'.repeat(300_000)),
      'PF_430 p1 line 3: expected a product of at most 256 KB, as JSON',
    ],
    [
      'is much too large',
      ROW.replace('A lamp', 'x'.repeat(1_100_000)),
      'PF_430 - line 3: expected a product of at most 256 KB, as JSON',
    ],
  ])('%s: its fault names line and column', async (_, row, fault) => {
    const text = `${HEADER}\n${ROW.replace('p1', 'p0')}\n${row}\n${ROW.replace('p1', 'p9')}\n`;
    const { products, faults } = await read(text, { size: 50_000 });
    expect(products).toMatchObject([{ sourceProductId: 'p0' }, { sourceProductId: 'p9' }]);
    const expected: unknown = typeof fault === 'string' ? fault : expect.stringMatching(fault);
    expect(faults[0]).toEqual(expected);
  });

  it('names its line after cells of several lines', async () => {
    const text = `${HEADER}\n${ROW.replace('A lamp', '"A\r\nlamp\n"')}\n${ROW.replace('12.50', '-1')}\n`;
    expect((await read(text)).faults).toEqual([expect.stringMatching(/^PF_280 p1 line 5: column price: /)]);
  });
});

describe('a body that is refused as a whole (PF_210)', () => {
  it.each([
    ['is empty', '', 'it is empty, expected a header'],
    ['is white space', ' \n\n', /expected a header|no column for/],
    [
      'has no required column',
      'sourceProductId;name\n1;2',
      /no column for description, productUrl or link or sourceProductUrl, .*productImage or imageUrl or image_link, .*: rename columns, or choose them by the key map \(map=description:COLUMN,productUrl:COLUMN,.*\) or --map description=COLUMN,productUrl=COLUMN,.*; the header has sourceProductId, name$/,
    ],
    [
      'has two columns of one meaning',
      `${HEADER},Title\n${ROW},x`,
      'the columns name and Title are both read as name',
    ],
    [
      'ends within a quote',
      `${HEADER}\n${ROW.replace('Lamps', '"Lamps')}\n${ROW}\n`,
      'line 2, cell 7: the " before it is not closed',
    ],
    [
      'is Latin-1',
      Buffer.from(`${HEADER}\n${ROW.replace('A lamp', 'für')}`, 'latin1'),
      'it is not UTF-8: in line 2, byte 10 is 0xFC (ü in Latin-1); convert it, or say what it is',
    ],
    [
      'has a header in Latin-1',
      Buffer.from(`${HEADER},Größe\n${ROW},1`, 'latin1'),
      `it is not UTF-8: in line 1, byte ${HEADER.length + 4} is 0xF6 (ö in Latin-1); convert it, or say what it is`,
    ],
    [
      'is UTF-16',
      Buffer.from(`\ufeff${HEADER}\n${ROW}`, 'utf16le'),
      'it is not UTF-8: in line 1, byte 1 is 0xFF',
    ],
    ['has too many columns', `${HEADER},${'x,'.repeat(1000)}y\n`, 'more than 1000 columns'],
  ])('%s', async (_, text, message) => {
    const found = await refusal(text, { size: 50 });
    expect(found).toMatch(/^PF_210 /);
    if (typeof message === 'string') expect(found).toContain(message);
    else expect(found).toMatch(message);
  });

  it('has a mapping of a column that is not there, or is for another format', async () => {
    const columns = { map: [{ as: 'name', column: 'Titel' }] };
    expect(await refusal(`${HEADER}\n${ROW}`, { columns })).toContain(
      'map=name:Titel: expected one of its columns: sourceProductId, name',
    );
    expect(await refusal('{"products":[]}', { columns, format: 'json' })).toContain('PF_430 ');
  });
});

describe('rows that were posted before', () => {
  it('are recognised by their bytes, and so are items of XML', async () => {
    const item = (id: string, more = '') =>
      `<item><g:id>${id}</g:id><title>Lamp</title><description>A lamp</description><link>https://shop.example/1</link>
      <g:image_link>https://img.example/1.png</g:image_link><g:price>9 EUR</g:price><g:product_type>x</g:product_type>${more}</item>`;
    const text = (...items: string[]) =>
      `<rss xmlns:g="u"><channel><title>Shop</title>${items.join('\n')}</channel></rss>`;
    const timed =
      '<g:sale_price>8 EUR</g:sale_price><g:sale_price_effective_date>2026-06-01/2026-06-30</g:sale_price_effective_date>';
    const prints = new Fingerprints();
    const { heads } = await read(text(item('p1'), item('p2', timed), item('p3')), { format: 'xml' });
    for (const head of heads) {
      if (head.kind !== 'valid') throw new Error('expected a valid product');
      const product = prints.set(head.sourceProductId, head.content, head.price, 'EUR');
      if (head.posted !== undefined) prints.rememberPosted(product, head.posted);
    }
    const again = await read(text(item('p1'), item('p2', timed), item('p3', '<g:size>L</g:size>')), {
      format: 'xml',
      prints,
    });
    expect(again.heads.map(({ sourceProductId, kind }) => `${sourceProductId} ${kind}`).sort()).toEqual([
      'p1 repeated',
      'p2 valid',
      'p3 valid',
    ]);
  });

  it('are recognised under the same header only, and unless they depend on the time', async () => {
    const text = `${HEADER},sale_price,sale_price_effective_date\n${ROW},,\n${ROW.replace('p1', 'p2')},9.99,2026-06-01/2026-06-30\n`;
    const { heads } = await read(text);
    const prints = new Fingerprints();
    for (const head of heads) {
      if (head.kind !== 'valid') throw new Error('expected a valid product');
      const product = prints.set(head.sourceProductId, head.content, head.price, 'EUR');
      if (head.posted !== undefined) prints.rememberPosted(product, head.posted);
    }
    const kinds = async (body: string): Promise<string[]> =>
      (await read(body, { prints })).heads
        .map(({ sourceProductId, kind }) => `${sourceProductId} ${kind}`)
        .sort();
    expect(await kinds(text)).toEqual(['p1 repeated', 'p2 valid']);
    expect(await kinds(text.replace('name,description', 'description,name'))).toEqual([
      'p1 valid',
      'p2 valid',
    ]);
  });
});
