import { checkProduct, holdsForbiddenCharacter } from '../../../src/services/products/product-check';

const good = {
  sourceProductId: 'A-1',
  name: 'Lamp',
  description: 'A lamp for the table',
  productUrl: 'https://shop.example/lamp?a=1',
  price: 12.5,
  productImage: { url: 'http://img.example/lamp.png' },
  categories: [{ name: 'Lamps' }],
};

const knows = (id: string): boolean => id === '11';

function faultsOf(change: object): string[] {
  const checked = checkProduct({ ...good, ...change }, knows);
  return 'faults' in checked ? checked.faults.map(({ code, message }) => `${code} ${message}`) : [];
}

describe('a posted product (Document 1, Product posted by an advertiser)', () => {
  test('is taken with the required fields alone, its price in minor units', () => {
    const { sourceProductId, price, ...content } = good;
    expect(checkProduct(good, knows)).toEqual({ sourceProductId: 'A-1', price: 1250, product: content });
    expect([sourceProductId, price]).toEqual(['A-1', 12.5]);
  });

  test('is taken with every field of the table', () => {
    const optional = {
      availability: 'in stock',
      brand: 'Lux',
      condition: 'new',
      deliveryTime: '2 days',
      manufacturer: 'Lux Ltd',
      model: 'L1',
      promoText: 'now!',
      shippingCost: 'free',
      shortDescription: 'lamp',
      size: '10x20',
      techSpecs: '5 W',
      warranty: '2 years',
      weight: '1 kg',
    };
    const posted = {
      ...good,
      ...optional,
      inStock: 5,
      productImage: { url: 'https://img.example/l.png', width: 500, height: '300' },
      categories: [{ id: '11', name: 'Lamps', tdCategoryName: 'Lighting' }, { id: 11 }],
      identifiers: { ean: 4006381333931, sku: 'S', upc: '036000291452', isbn: '978-3', mpn: 'M' },
      fields: [
        { name: 'colour', value: 'red' },
        { name: 'note', value: '' },
      ],
    };
    expect(checkProduct(posted, knows)).toMatchObject({
      product: {
        ...optional,
        inStock: 5,
        productImage: { url: 'https://img.example/l.png', width: 500, height: 300 },
        categories: [{ id: '11', name: 'Lamps', tdCategoryName: 'Lighting' }, { id: '11' }],
        identifiers: { ean: '4006381333931', sku: 'S', upc: '036000291452', isbn: '978-3', mpn: 'M' },
        fields: posted.fields,
      },
    });
  });

  test('has its identifiers on the product or grouped (decisions P9), and the same content either way', () => {
    const direct = checkProduct({ ...good, ean: '0012', sku: 7, mpn: 'M' }, knows);
    const grouped = checkProduct({ ...good, identifiers: { mpn: 'M', ean: '0012', sku: '7' } }, knows);
    expect(JSON.stringify(direct)).toBe(JSON.stringify(grouped));
    expect(direct).toMatchObject({ product: { identifiers: { ean: '0012', sku: '7', mpn: 'M' } } });
  });

  test('keeps its strings to the letter (decisions A11)', () => {
    const name = '  a  &amp; b\u00a0\n';
    expect(checkProduct({ ...good, name }, knows)).toMatchObject({ product: { name } });
  });

  test('has no field that was posted empty or null, nor one that the document does not name', () => {
    const posted = {
      ...good,
      brand: '',
      model: null,
      fields: [],
      identifiers: {},
      inStock: '',
      colour: 'red',
    };
    const checked = checkProduct(posted, knows);
    expect(JSON.stringify(checked)).toBe(JSON.stringify(checkProduct(good, knows)));
  });

  test.each([
    ['sourceProductId', { sourceProductId: undefined }],
    ['sourceProductId', { sourceProductId: '' }],
    ['name', { name: undefined }],
    ['name', { name: '' }],
    ['description', { description: null }],
    ['productUrl', { productUrl: undefined }],
    ['price', { price: undefined }],
    ['price', { price: '' }],
    ['productImage', { productImage: undefined }],
    ['productImage.url', { productImage: {} }],
    ['categories', { categories: undefined }],
    ['categories', { categories: [] }],
    ['categories[0].id or categories[0].name', { categories: [{ tdCategoryName: 'x' }] }],
    ['fields[1].name', { fields: [{ name: 'a', value: 'b' }, { value: 'c' }] }],
  ])('without %s is refused with PF_240, a value is not set (Document 1, Errors)', (field, change) => {
    const faults = faultsOf(change);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(`PF_240 ${field} must be set`);
  });

  test.each([
    ['PF_260 inStock: expected an integer', { inStock: 'many' }],
    ['PF_260 inStock: expected an integer', { inStock: 1.5 }],
    [
      'PF_260 productImage.width: expected an integer',
      { productImage: { url: 'http://a.example', width: 'w' } },
    ],
    ['PF_260 ean: expected digits', { ean: '40-06' }],
    ['PF_280 price: expected an amount', { price: '12.5' }],
    ['PF_280 price: expected an amount such as 12 or 12.50: not negative', { price: -1 }],
    ['PF_391 productUrl: expected an absolute http or https URL', { productUrl: 'ftp://shop.example/' }],
    ['PF_391 productUrl: expected an absolute http or https URL', { productUrl: 'shop.example/lamp' }],
    ['PF_391 productImage.url: expected an absolute http or https URL', { productImage: { url: 'http://' } }],
    ['PF_430 name: expected a string', { name: 5 }],
    ['PF_430 sourceProductId: expected a string', { sourceProductId: { id: 1 } }],
    ['PF_430 brand: expected a string', { brand: ['Lux'] }],
    ['PF_430 productImage: expected an object with a url', { productImage: 'http://img.example/' }],
    [
      'PF_430 productImage.width: expected a number of pixels',
      { productImage: { url: 'http://a.example', width: -1 } },
    ],
    ['PF_430 categories: expected a list of objects', { categories: 'Lamps' }],
    ['PF_430 categories: expected a list of objects', { categories: ['Lamps'] }],
    ['PF_430 categories[0].id: expected the id of a platform category', { categories: [{ id: '99' }] }],
    ['PF_430 identifiers: expected an object', { identifiers: 'x' }],
    ['PF_430 identifiers.sku: expected the same value as sku', { sku: 'a', identifiers: { sku: 'b' } }],
    ['PF_430 fields: expected a list of objects', { fields: { colour: 'red' } }],
  ])('is refused: %s', (message, change) => {
    const faults = faultsOf(change);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(message);
  });

  test('with an unknown platform category id is taken if there is a name beside it (decisions P13)', () => {
    expect(faultsOf({ categories: [{ id: '99', name: 'Lamps' }] })).toEqual([]);
  });

  test('is told everything that is wrong with it, each with its sourceProductId (Document 1, Errors)', () => {
    const checked = checkProduct({ sourceProductId: 'A-1', price: 'x', productUrl: 'y' }, knows);
    const faults = 'faults' in checked ? checked.faults : [];
    expect(faults.map(({ code }) => code)).toEqual([
      'PF_240',
      'PF_240',
      'PF_391',
      'PF_280',
      'PF_240',
      'PF_240',
    ]);
    expect(new Set(faults.map(({ details }) => details.sourceProductId))).toEqual(new Set(['A-1']));
    expect(faults[2]?.message).toContain("'y'");
  });

  test('has an id of at most 1,000 bytes; a longer one is not said again (decisions X23)', () => {
    expect(checkProduct({ ...good, sourceProductId: 'ü'.repeat(500) }, knows)).toMatchObject({
      sourceProductId: 'ü'.repeat(500),
    });
    for (const sourceProductId of ['ü'.repeat(501), 'x'.repeat(100_000)]) {
      const refused = checkProduct({ ...good, sourceProductId }, knows);
      expect(refused).toMatchObject({
        sourceProductId: undefined,
        faults: [{ code: 'PF_430', details: {} }],
      });
      expect(JSON.stringify(refused).length).toBeLessThan(1000);
    }
  });
});

describe('characters that XML does not allow (Document 1, Conventions 9)', () => {
  test.each([['\u0000'], ['\u0008'], ['\u000b'], ['\ufffe'], ['\uffff'], ['\ud800'], ['\udc00x']])(
    '%j',
    (text) => {
      expect(holdsForbiddenCharacter({ a: [{ b: `x${text}y` }] })).toBe(true);
      expect(holdsForbiddenCharacter({ [text]: 1 })).toBe(true);
    },
  );

  test('are no others', () => {
    expect(
      holdsForbiddenCharacter(['\t\n\r \u0085\ud7ff\ue000\ufffd\u{10000}\u{10ffff}😀', 1, null, true]),
    ).toBe(false);
  });
});
