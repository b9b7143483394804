import { tmpdir } from 'node:os';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { ProductIntake, sourceProductIdIn } from '../../../src/services/products/load/ingest/product-intake';
import { Spool } from '../../../src/services/products/load/ingest/spool';
import { read as readBody, refusal as refusalOf } from './read-body';

async function read(format: 'json' | 'xml', text: string | Buffer, size = 7) {
  const { products, faults } = await readBody(text, { format, size });
  return { products, faults };
}

const refusal = async (format: 'json' | 'xml', text: string | Buffer): Promise<string> =>
  await refusalOf(text, { format });

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<products version="3.0" xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common">
  <product sourceProductId="A-1">
    <cm:name>Lamp &amp; <![CDATA[<shade>]]></cm:name>
    <cm:description>A  lamp&#xA0;– ü</cm:description>
    <cm:productUrl>https://shop.example/lamp?a=1&amp;b=2</cm:productUrl>
    <cm:productImage>https://img.example/l.png</cm:productImage>
    <cm:price> 12.50 </cm:price>
    <cm:categories><cm:category name="Lamps" id="11"/><cm:category name="Light &quot;n&quot; shade"/></cm:categories>
    <cm:fields><cm:field name="colour">red</cm:field><cm:field name="empty"/></cm:fields>
    <cm:shippingCost>free</cm:shippingCost><cm:shortDescription>lamp</cm:shortDescription><cm:promoText>now</cm:promoText>
    <cm:warranty>2 years</cm:warranty><cm:inStock>
      5
    </cm:inStock><cm:availability>yes</cm:availability><cm:deliveryTime>2 days</cm:deliveryTime>
    <cm:condition>new</cm:condition><cm:weight>1 kg</cm:weight><cm:size>10</cm:size><cm:model>L1</cm:model>
    <cm:brand>Lux</cm:brand><cm:manufacturer>Lux Ltd</cm:manufacturer><cm:techSpecs>5 W</cm:techSpecs>
    <cm:ean>4006381333931</cm:ean><cm:upc>036000291452</cm:upc><cm:isbn>978-3</cm:isbn><cm:mpn>M</cm:mpn><cm:sku>S</cm:sku>
    <cm:unknown>x</cm:unknown>
  </product>
</products>`;

const JSON_BODY = {
  products: [
    {
      sourceProductId: 'A-1',
      name: 'Lamp & <shade>',
      description: 'A  lamp\u00a0– ü',
      productUrl: 'https://shop.example/lamp?a=1&b=2',
      productImage: { url: 'https://img.example/l.png' },
      price: 12.5,
      categories: [{ name: 'Lamps', id: '11' }, { name: 'Light "n" shade' }],
      fields: [
        { name: 'colour', value: 'red' },
        { name: 'empty', value: '' },
      ],
      shippingCost: 'free',
      shortDescription: 'lamp',
      promoText: 'now',
      warranty: '2 years',
      inStock: 5,
      availability: 'yes',
      deliveryTime: '2 days',
      condition: 'new',
      weight: '1 kg',
      size: '10',
      model: 'L1',
      brand: 'Lux',
      manufacturer: 'Lux Ltd',
      techSpecs: '5 W',
      ean: 4006381333931,
      upc: '036000291452',
      isbn: '978-3',
      mpn: 'M',
      sku: 'S',
    },
  ],
};

describe('a posted body', () => {
  test('has the same product in XML (Document 1, XML body shape) as in JSON, in chunks of any size', async () => {
    const json = await read('json', JSON.stringify(JSON_BODY, undefined, 2));
    expect(json.faults).toEqual([]);
    expect(json.products).toHaveLength(1);
    for (const chunk of [1, 2, 13, 100_000]) {
      expect(await read('xml', XML, chunk)).toEqual(json);
      expect(await read('json', JSON.stringify(JSON_BODY), chunk)).toEqual(json);
    }
  });

  test('in XML is parsed by local names, in any namespace or none (decisions P24)', async () => {
    const bare = XML.replaceAll('cm:', '').replaceAll(/ xmlns\w*(:\w+)?="[^"]*"/g, '');
    expect(await read('xml', bare)).toEqual(await read('xml', XML));
  });

  test('may have no products', async () => {
    expect(await read('json', ' { "products" : [ ] } ')).toEqual({ products: [], faults: [] });
    expect(await read('xml', '<products version="3.0"/>')).toEqual({ products: [], faults: [] });
  });

  test.each([
    ['{}'],
    ['[]'],
    [''],
    ['null'],
    ['{"products":{}}'],
    ['{"products":null}'],
    ['{"products":[1]}'],
    ['{"products":["a"]}'],
    ['{"products":[{}],"more":1}'],
    ['{"product":[{}]}'],
    ['{"products":[{}]}{}'],
    ['{"products":[{"a":01}]}'],
    ['{"products":[{"a":"x]}'],
    [`{"products":[{"a":${'['.repeat(40)}${']'.repeat(40)}}]}`],
    ['{"products":[{"name":"a\\u0000b"}]}'],
    ['{"products":[{"name":"a\\ud800"}]}'],
    ['{"products":[{"name":"a\\b"}]}'],
    ['{"products":[{"name":"\uffff"}]}'],
  ])('is refused as a whole with PF_210 when it is not of the shape: %s (decisions P1)', async (text) => {
    expect(await refusal('json', text)).toMatch(/^PF_210 /);
  });

  test('that is not UTF-8 is refused as a whole (Document 1, Conventions 8)', async () => {
    const bytes = Buffer.from('{"products":[{"name":"\u00fc"}]}', 'latin1');
    expect(await refusal('json', bytes)).toBe('PF_210 the body must be UTF-8');
    expect(await refusal('xml', Buffer.from('<products>\u00fc</products>', 'latin1'))).toMatch(/^PF_210 /);
  });

  test.each([
    ['<product/>'],
    ['<products><item/></products>'],
    ['<products>'],
    ['<products/><products/>'],
    ['<!DOCTYPE products><products/>'],
    ['<!DOCTYPE p [<!ENTITY a "aaaa">]><products><product sourceProductId="&a;"/></products>'],
    ['<products><product sourceProductId="&unknown;"/></products>'],
    ['<products><product a="1" a="2"/></products>'],
    ['<products><product><name>&#0;</name></product></products>'],
    ['<products><product><name>\u0001</name></product></products>'],
    [`${'<products>'.repeat(1)}<product>${'<a>'.repeat(100)}`],
    ['no XML'],
    [''],
  ])('is refused as a whole with PF_210 when it is not of the shape: %s (decisions P1)', async (text) => {
    expect(await refusal('xml', text)).toMatch(/^PF_210 /);
  });

  test('of another major version is refused with PF_430 (decisions P24)', async () => {
    expect(await refusal('xml', '<products version="2.0"/>')).toMatch(/^PF_430 .*version.*'2.0'/);
    expect(await refusal('xml', '<products version="3.1"/>')).not.toMatch(/PF/);
  });

  test('with products over 256 KB has only these refused, by their ids where these are found (decisions P27)', async () => {
    const [good] = JSON_BODY.products;
    const large = { a: { sourceProductId: 'no' }, sourceProductId: 'big', name: 'x'.repeat(300_000) };
    const json = await read(
      'json',
      JSON.stringify({ products: [good, large, { ...good, sourceProductId: 'B' }] }),
      60_000,
    );
    expect(json.products.map(({ sourceProductId }) => sourceProductId)).toEqual(['A-1', 'B']);
    expect(json.faults).toEqual([expect.stringMatching(/^PF_430 big .*256 KB/)]);
    const xml = await read(
      'xml',
      XML.replace(
        '</products>',
        `<product sourceProductId="big"><name>${'x'.repeat(300_000)}</name></product></products>`,
      ),
      60_000,
    );
    expect(xml.products).toHaveLength(1);
    expect(xml.faults).toEqual([expect.stringMatching(/^PF_430 big .*256 KB/)]);
  });

  test('with a product of countless empty elements is refused in little memory (decisions P27)', async () => {
    const added = (elements: string): string =>
      XML.replace('</products>', `<product sourceProductId="big">${elements}</product></products>`);
    const distinct = Array.from({ length: 50_000 }, (_, at) => `<e${at}/>`).join('');
    for (const elements of [
      `<categories>${'<category/>'.repeat(500_000)}</categories>`,
      `<fields>${'<field/>'.repeat(500_000)}</fields>`,
      '<name/>'.repeat(500_000),
      distinct,
      `<name>${'<b/>'.repeat(500_000)}</name>`,
    ]) {
      const { products, faults } = await read('xml', added(elements), 64 * 1024);
      expect(products).toHaveLength(1);
      expect(faults).toEqual([expect.stringMatching(/^PF_430 big .*256 KB/)]);
    }
  });

  test('lists at most 20 faults of a product and counts the others (decisions X23)', async () => {
    const spool = new Spool(SYSTEM_CLOCK, tmpdir());
    const intake = new ProductIntake({
      spool,
      knowsCategory: () => false,
    });
    const fields = Array.from({ length: 1000 }, () => ({}));
    const { faults } = intake;
    intake.addParsed({ product: { ...JSON_BODY.products[0], fields } }, 1);
    expect([faults.products, faults.listed.length, faults.more]).toEqual([1, 20, 980]);
    for (let bad = 0; bad < 500; bad += 1) intake.addParsed({ product: { fields } }, 2 + bad);
    expect(faults.listed).toHaveLength(10_000);
    expect(faults.products).toBe(501);
  });

  test('has texts with elements in them refused, not truncated (decisions X24)', async () => {
    const { products, faults } = await read(
      'xml',
      XML.replace('shade>]]>', 'shade>]]> <b>new</b> here')
        .replace('>red<', '>re<i/>d<')
        .replace('>L1<', '><sub>L</sub><')
        .replace('>4006381333931<', '>400638<b/>1333931<')
        .replace('</cm:brand>', '</cm:brand><other>some <b>where</b> else</other>'),
    );
    expect(products).toEqual([]);
    expect(faults.map((fault) => fault.replace(/^(PF_430) A-1 products\[0\]: (\S+): .*/, '$1 $2'))).toEqual([
      'PF_430 name',
      'PF_430 model',
      'PF_430 ean',
      'PF_430 fields[0].value',
    ]);
  });

  test('ignores unknown elements and the texts in them (decisions X10)', async () => {
    const { products, faults } = await read(
      'xml',
      XML.replace('</cm:brand>', '</cm:brand><other>some <b>where</b> else</other>'),
    );
    expect(faults).toEqual([]);
    expect(products).toEqual((await read('xml', XML)).products);
  });

  test('continues after an oversized product with a character that XML does not allow (decisions X25)', async () => {
    const [good] = JSON_BODY.products;
    const large = `{"sourceProductId":"big","name":"\\u0000${'x'.repeat(300_000)}"}`;
    const { products, faults } = await read(
      'json',
      `{"products":[${large},${JSON.stringify(good)}]}`,
      60_000,
    );
    expect(products).toHaveLength(1);
    expect(faults).toEqual([expect.stringMatching(/^PF_430 big .*256 KB/)]);
  });

  test.each([
    ['{"sourceProductId":"a"', 'a'],
    ['{"x":{"sourceProductId":"b"},"sourceProductId" : "c\\n","y"', 'c\n'],
    ['{"sourceProductId":12,', '12'],
    ['{"y":"sourceProductId","z":"d"', undefined],
    ['{"x":"\\"sourceProductId\\":\\"e\\"', undefined],
    ['{"x":[{"sourceProductId":"f"}]', undefined],
  ])('names its product where only the beginning is known: %s', (head, id) => {
    expect(sourceProductIdIn(head)).toBe(id);
  });
});
