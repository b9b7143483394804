import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type PostedProduct } from '../../../src/demo/products';
import { Fingerprints } from '../../../src/domain/products/fingerprints';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import {
  type ColumnOptions,
  feedBody,
  type FeedFormat,
} from '../../../src/services/products/load/ingest/feed-body';
import { ProductIntake } from '../../../src/services/products/load/ingest/product-intake';
import { Spool, type SpooledProduct } from '../../../src/services/products/load/ingest/spool';
import { csvLines, type CsvSeparators } from '../../../src/wire/csv/rows';
import { anyProducts, toJson } from '../../support/products';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
});
afterAll(() => rm(folder, { recursive: true }));

const NOON = Date.parse('2026-06-15T12:00:00Z');

interface Options {
  readonly format?: FeedFormat;
  readonly columns?: ColumnOptions;
  /** A file, of which this is declared. */
  readonly file?: { readonly encoding: string | undefined };
  readonly now?: number;
  readonly prints?: Fingerprints;
  readonly size?: number;
}

/** Reads a body into a feed whose program has euros. */
async function read(text: string | Buffer, options: Options = {}) {
  const { format = 'csv', columns, file, now = NOON, prints, size = 7 } = options;
  const spool = new Spool(SYSTEM_CLOCK, folder);
  const knowsCategory = (id: string): boolean => id === '221';
  const intake = new ProductIntake({ spool, knowsCategory, ...(prints && { fingerprints: () => prints }) });
  try {
    const body = feedBody({ format, columns, file, terms: { currency: 'EUR', now } }, intake);
    const bytes = Buffer.from(text as string);
    for (let at = 0; at < bytes.length; at += size) {
      body.write(Buffer.from(bytes.subarray(at, at + size)));
      await intake.ready();
    }
    body.end();
    await intake.complete();
    const spooled: SpooledProduct[] = [];
    for await (const some of spool.read()) spooled.push(...some);
    const heads = spooled.map(({ head }) => head);
    return {
      products: spooled.map(({ head, text: content }) => ({
        sourceProductId: head.sourceProductId,
        price: head.kind === 'valid' ? head.price : undefined,
        ...(head.kind === 'valid' ? (JSON.parse(content().toString()) as object) : {}),
      })),
      heads,
      faults: intake.faults.listed.map(
        ({ code, message, sourceProductId }) => `${code} ${sourceProductId ?? '-'} ${message}`,
      ),
      ignored: intake.ignored.listed().map(({ field }) => field),
    };
  } finally {
    await spool.close();
  }
}

/** The code and message that a body is refused with as a whole. */
async function refusal(text: string | Buffer, options?: Options): Promise<string> {
  return await read(text, options).then(
    (found) => JSON.stringify(found),
    (error: unknown) => `${(error as { code?: string }).code ?? ''} ${(error as Error).message}`,
  );
}

const HEADER = 'sourceProductId,name,description,productUrl,price,imageUrl,categories';
const ROW = 'p1,Lamp,A lamp,https://shop.example/1,12.50,https://img.example/1.png,Lamps';
const PRODUCT = {
  sourceProductId: 'p1',
  name: 'Lamp',
  description: 'A lamp',
  productUrl: 'https://shop.example/1',
  price: 1250,
  productImage: { url: 'https://img.example/1.png' },
  categories: [{ name: 'Lamps' }],
};

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

describe('a Google Merchant feed as TSV (decisions P36)', () => {
  const NAMES = ['id', 'title', 'description', 'link', 'image_link', 'price', 'product_type'];
  const CELLS = [
    'p1',
    'Lamp',
    'A lamp',
    'https://shop.example/1',
    'https://img.example/1.png',
    '12.50 EUR',
    'Lamps',
  ];

  function tsv(others: Readonly<Record<string, string>>): string {
    const all: Record<string, string> = {
      ...Object.fromEntries(NAMES.map((name, at) => [name, CELLS[at] ?? ''])),
      ...others,
    };
    return `${Object.keys(all).join('\t')}\n${Object.values(all).join('\t')}\n`;
  }

  it.each([
    ['nothing else', {}, PRODUCT],
    ['an EAN', { gtin: '4006381333931' }, { identifiers: { ean: '4006381333931' } }],
    ['a UPC', { gtin: '036000291452' }, { identifiers: { upc: '036000291452' } }],
    ['a sale price', { sale_price: '9.99 EUR' }, { price: 999 }],
    [
      'one of now',
      { sale_price: '9.99 EUR', sale_price_effective_date: '2026-06-01T00:00+0200/2026-06-30T23:59+0200' },
      { price: 999 },
    ],
    [
      'one of later',
      { sale_price: '9.99 EUR', 'sale price effective date': '2026-07-01T00:00Z/2026-07-30' },
      { price: 1250 },
    ],
    [
      'categories of Google',
      { google_product_category: '594' },
      { categories: [{ name: 'Lamps' }, { name: '594' }] },
    ],
    ['a cost of delivery', { shipping: 'DE::Standard:4.95 EUR' }, { shippingCost: '4.95' }],
    ['several', { shipping: 'DE:::4.95 EUR,AT:::9 EUR' }, { shippingCost: 'DE:::4.95 EUR,AT:::9 EUR' }],
    [
      'attributes without a field',
      { color: 'red', additional_image_link: 'https://img.example/2.png' },
      {
        fields: [
          { name: 'color', value: 'red' },
          { name: 'additional_image_link', value: 'https://img.example/2.png' },
        ],
      },
    ],
    [
      'texts',
      { availability: 'in_stock', brand: 'Lux', mpn: 'M1', condition: 'new', size: 'L' },
      { availability: 'in_stock', brand: 'Lux', identifiers: { mpn: 'M1' }, condition: 'new', size: 'L' },
    ],
  ])('has %s', async (_, others, product) => {
    const { products, faults } = await read(tsv(others), { format: 'tsv' });
    expect({ faults, product: products[0] }).toMatchObject({ faults: [], product });
  });

  it.each([
    [
      { price: '12.50 USD' },
      "PF_280 p1 line 2: column price: expected a price in EUR, the currency of the program, got '12.50 USD'",
    ],
    [
      { sale_price: '9.99 USD' },
      "PF_280 p1 line 2: column sale_price (price): expected a price in EUR, the currency of the program, got '9.99 USD'",
    ],
    [
      { price: '12.50 USD', sale_price: '9.99 EUR' },
      "PF_280 p1 line 2: column price: expected a price in EUR, the currency of the program, got '12.50 USD'",
    ],
    [
      { sale_price: '9.99 USD', 'sale price effective date': '2026-07-01T00:00Z/2026-07-30' },
      "PF_280 p1 line 2: column sale_price: expected a price in EUR, the currency of the program, got '9.99 USD'",
    ],
    [
      { sale_price: '9.99', sale_price_effective_date: 'June' },
      /^PF_430 p1 line 2: column sale_price_effective_date: expected two times/,
    ],
    [{ gtin: '12x' }, "PF_260 p1 line 2: column gtin (ean): expected digits, got '12x'"],
  ])('is refused with %j', async (others, fault) => {
    const { faults } = await read(tsv(others), { format: 'tsv' });
    expect(faults).toEqual([typeof fault === 'string' ? fault : (expect.stringMatching(fault) as unknown)]);
  });
});

describe('a file in another encoding (decisions P42)', () => {
  const declared = (encoding?: string) => ({ file: { encoding } });
  const NAME = 'Für 5 € – “Œuvre”';
  const text = `${HEADER}\n${ROW.replace('A lamp', NAME)}`;
  const xml = (declaration: string, name = NAME) =>
    `<?xml version="1.0" ${declaration}?>\n<products><product sourceProductId="p1"><name>Lamp</name><description>${name}</description>` +
    '<price>12.50</price><productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.png</productImage>' +
    '<category name="Lamps"/></product></products>';
  const CP1252: Readonly<Record<string, number>> = { '€': 0x80, '–': 0x96, '“': 0x93, '”': 0x94, Œ: 0x8c };
  const windows = (of: string) => Buffer.from(Array.from(of, (one) => CP1252[one] ?? one.charCodeAt(0)));
  const utf16 = (of: string) => Buffer.from(of, 'utf16le');
  const swapped = (of: string) => Buffer.from(utf16(of)).swap16();
  const CASES: readonly (readonly [string, Buffer, Options])[] = [
    ['rows that are declared to be windows-1252', windows(text), declared('windows-1252')],
    ['rows of any format', windows(text), { ...declared('windows-1252'), format: 'any' }],
    ['rows in UTF-16 with a byte order mark', utf16(`\ufeff${text}`), declared()],
    ['rows in big-endian UTF-16', swapped(`\ufeff${text}`), { ...declared(), format: 'any' }],
    ['rows in UTF-16 that is declared', utf16(text), declared('utf-16le')],
    [
      'rows whose byte order mark knows better',
      Buffer.from(`\ufeff${text}`),
      { ...declared('windows-1252'), size: 1 },
    ],
    ['XML that declares it', windows(xml('encoding="Windows-1252"')), { ...declared(), format: 'xml' }],
    [
      'XML that declares Latin-1',
      windows(xml("encoding='ISO-8859-1'")),
      { ...declared(), format: 'any', size: 1 },
    ],
    ['XML with a declared charset', windows(xml('')), { format: 'xml', ...declared('windows-1252') }],
    ['XML in UTF-16', utf16(`\ufeff${xml('encoding="UTF-16"')}`), { ...declared(), format: 'xml' }],
    [
      'XML in UTF-16 without a mark',
      swapped(xml('encoding="UTF-16"')),
      { ...declared(), format: 'any', size: 3 },
    ],
  ];
  it.each(CASES)('is read: %s', async (_, bytes, options) => {
    const { products, faults } = await read(bytes, options);
    expect(faults).toEqual([]);
    expect(products).toMatchObject([{ sourceProductId: 'p1', description: NAME }]);
  });

  it('of eight bits has its own characters', async () => {
    const bytes = Buffer.from(text.replace(NAME, 'A\xa4\xa6'), 'latin1');
    const { products } = await read(bytes, declared('iso-8859-15'));
    expect(products).toMatchObject([{ description: 'A€Š' }]);
  });

  it('is recognised by what it is in UTF-8, and its faults name line and column', async () => {
    const { products, faults } = await read(utf16(`\ufeff${text}\n${ROW.replace('12.50', 'é')}`), declared());
    expect(products).toHaveLength(1);
    expect(faults).toEqual([expect.stringMatching(/^PF_280 p1 line 3: column price: .* got 'é'$/)]);
  });

  it('is not what a posted body may be (Document 1, Conventions 8)', async () => {
    for (const [bytes, format] of [
      [utf16(`\ufeff${text}`), 'csv'],
      [windows(xml('encoding="Windows-1252"')), 'xml'],
      [utf16(`\ufeff${xml('encoding="UTF-16"')}`), 'xml'],
    ] as const)
      expect(await refusal(bytes, { format })).toMatch(/^PF_210 /);
  });

  it.each<readonly [string, Buffer, Options, string]>([
    ['is not what it says', Buffer.from([0xd8, 0, 0xd8, 0]), declared('utf-16be'), 'it is not utf-16be'],
    [
      'contradicts its declaration',
      Buffer.from(xml('encoding="ISO-8859-1"')),
      { format: 'xml', ...declared('utf-8') },
      'the XML declaration has the encoding ISO-8859-1: expected UTF-8',
    ],
    [
      'declares what nobody knows',
      Buffer.from(xml('encoding="EBCDIC"')),
      { ...declared(), format: 'xml' },
      'the XML declaration has the encoding EBCDIC',
    ],
  ])('is refused if it %s', async (_, bytes, options, message) => {
    const found = await refusal(bytes, options);
    expect(found).toMatch(/^PF_210 /);
    expect(found).toContain(message);
  });
});

describe('a Google Merchant feed as XML (decisions P36)', () => {
  const ITEM = `<g:id>p1</g:id><title>Not this</title><g:title>Lamp</g:title><description><![CDATA[A lamp]]></description>
    <link>https://shop.example/1</link><g:image_link>https://img.example/1.png</g:image_link>
    <g:price>12.50 EUR</g:price><g:product_type>Lamps</g:product_type>`;
  const rss = (...items: string[]) =>
    `<?xml version="1.0"?><!-- a > b --><rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>
    <link>https://shop.example</link>${items.map((item) => `<item>${item}</item>\n`).join('')}</channel></rss>`;
  const atom = (item: string) =>
    `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><id>feed</id><title>Shop</title>
    <entry>${item}</entry></feed>`;

  it.each([
    ['RSS', rss(ITEM), PRODUCT],
    [
      'Atom',
      atom(
        ITEM.replace(
          '<link>https://shop.example/1</link>',
          '<link rel="alternate" href="https://shop.example/1"/><id>x</id>',
        ).replaceAll('description', 'summary'),
      ),
      PRODUCT,
    ],
    [
      'elements without a prefix',
      rss(ITEM.replace('<title>Not this</title>', '').replaceAll('g:', '')),
      PRODUCT,
    ],
    [
      'details and costs of delivery',
      rss(
        `${ITEM}<g:shipping><g:country>DE</g:country><g:price>4.95 EUR</g:price></g:shipping>
        <g:product_detail><g:attribute_name>Watt</g:attribute_name><g:attribute_value>5</g:attribute_value></g:product_detail>
        <g:color>red</g:color><g:sale_price>9 EUR</g:sale_price><g:additional_image_link>https://a.example/</g:additional_image_link>
        <g:additional_image_link>https://b.example/</g:additional_image_link>`,
      ),
      {
        price: 900,
        shippingCost: '4.95',
        fields: [
          { name: 'Watt', value: '5' },
          { name: 'color', value: 'red' },
          { name: 'additional_image_link', value: 'https://a.example/' },
          { name: 'additional_image_link', value: 'https://b.example/' },
        ],
      },
    ],
  ])('is %s', async (_, text, product) => {
    for (const [format, size] of [
      ['xml', 1],
      ['xml', 100],
      ['any', 10_000],
    ] as const) {
      const { products, faults } = await read(text, { format, size });
      expect({ faults, products }).toMatchObject({ faults: [], products: [product] });
    }
  });

  it('has faults that name the item and the element, and elements that are not read', async () => {
    const { products, faults, ignored } = await read(
      rss(
        ITEM.replace('EUR', 'USD'),
        `${ITEM.replace('p1', 'p2')}<g:colour>red</g:colour>`,
        ITEM.replace('p1', 'p3').replace('<g:price>12.50 EUR</g:price>', ''),
        ITEM.replace('p1', 'p4').replace('A lamp', 'x'.repeat(300_000)),
        `${ITEM.replace('p1', 'p5')}<g:price>1 EUR</g:price>`,
      ),
      { format: 'xml', size: 5000 },
    );
    expect(products).toMatchObject([{ sourceProductId: 'p2' }]);
    expect(faults).toEqual([
      "PF_280 p1 item 1: column g:price (price): expected a price in EUR, the currency of the program, got '12.50 USD'",
      'PF_240 p3 item 3: price must be set',
      'PF_430 p4 item 4: expected a product of at most 256 KB, as JSON',
      'PF_430 p5 item 5: g:price is given more than once: expected one value',
    ]);
    expect(ignored).toEqual(['g:colour']);
  });

  it.each([
    ['cut off', rss(ITEM).slice(0, -20)],
    ['of another shape', '<rss><channel><item></channel></rss>'],
    ['without items', rss()],
    ['malformed within an item', rss(ITEM, ITEM.replace('</g:price>', ''))],
    ['with a DOCTYPE', `<!DOCTYPE rss>${rss(ITEM).replace('<?xml version="1.0"?>', '')}`],
  ])('is refused if it is %s', async (_, text) => {
    expect(await refusal(text, { format: 'xml' })).toMatch(/^PF_210 /);
  });

  it('names the item, and the line and column in it, of what is malformed', async () => {
    const text = rss(ITEM, ITEM.replace('EUR', '&euro;'));
    expect(await refusal(text, { format: 'xml' })).toMatch(/at line 3, column \d+ of item 2$/);
    expect(await refusal(rss(ITEM).replace('</channel>', '</x>'), { format: 'xml' })).toMatch(
      / after item 1$/,
    );
  });

  it.each([
    ['A &quot;lamp&quot; &amp; more', 'A "lamp" & more'],
    ['C:\\lamp', 'C:\\lamp'],
    ['<![CDATA["<b>\n]]>', '"<b>'],
    ['one\n\ttwo', 'one\n\ttwo'],
    ['\n  indented\n', 'indented'],
    ['&#65;&#x1F4A1;', 'A\u{1f4a1}'],
  ])('has the text %j', async (written, name) => {
    const { products, faults } = await read(rss(ITEM.replace('<g:title>Lamp', `<g:title>${written}`)), {
      format: 'xml',
    });
    expect({ faults, products }).toMatchObject({ faults: [], products: [{ name }] });
  });

  it('has the id of our name, if there are both', async () => {
    const { products } = await read(rss(`${ITEM}<TDProductId>ours</TDProductId>`), { format: 'xml' });
    expect(products).toMatchObject([{ sourceProductId: 'ours' }]);
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
