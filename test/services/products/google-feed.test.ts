import { PRODUCT, read, refusal } from './read-body';

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
