import { type DirectoryEvent } from '../../src/network/events';
import { type PostedCategory } from '../../src/network/categories/mapped-category';
import { type Product } from '../../src/domain/products/feed';
import { offerId } from '../../src/domain/products/offer';
import { foldCase } from '../../src/wire/words';
import { type OfferEvent, products } from '../../projections/products';
import {
  defined,
  delisted,
  directoryOf,
  FEED_ID,
  listed,
  mapped,
  product,
  project,
  removed,
  repriced,
  revised,
  unmapped,
} from '../projector/sample-events';

const fieldsOf = (over: Partial<Product>, ...directory: readonly DirectoryEvent[]) =>
  project(products, [listed('a', 1000, over)] as OfferEvent[], directoryOf(...directory))?.fields;

describe('an offer', () => {
  test('has the content of the posted product', () => {
    const described = project(products, [listed('a', 1250)]);
    expect(described?.document).toEqual({
      feedId: FEED_ID,
      sourceProductId: 'a',
      price: 1250,
      // The feed of the sample has no program.
      currency: '',
      modified: Date.parse('2026-04-17T15:57:00.000Z'),
      changed: 1,
      mapped: [null],
      remapped: null,
      product: product(),
    });
  });

  test('is completely replaced by a revision', () => {
    const events = [listed('a', 1, { brand: 'Old' }), revised('a', 2, { model: 'M1' })] as OfferEvent[];
    const described = project(products, events);
    expect(described?.document.product).toEqual(product({ model: 'M1' }));
    expect(described?.fields).toMatchObject({ price: 2, model: 'm1' });
    expect(described?.fields).not.toHaveProperty('brand');
  });

  test('keeps its content when repriced, which counts as a modification', () => {
    const events = [listed('a', 1), repriced('a', 2, '2026-05-01T00:00:00.000Z')] as OfferEvent[];
    expect(project(products, events)).toMatchObject({
      fields: { price: 2, modified: Date.parse('2026-05-01T00:00:00.000Z') },
      document: { price: 2, product: product() },
    });
  });

  test('is removed when delisted, and new when listed again', () => {
    const gone = [listed('a'), delisted('a')] as OfferEvent[];
    expect(project(products, gone)).toBeUndefined();
    expect(project(products, [...gone, listed('a', 7)] as OfferEvent[])?.fields.price).toBe(7);
  });

  test('is identified by feed and sourceProductId (decisions P11)', () => {
    const parsed = { ...listed('a'), stream: 'feed-7', revision: 0, position: '1' };
    expect(products.idOf(parsed)).toBe('666a0e5f-e33c-5ae5-be6d-99918385b23f');
  });
});

describe('the search fields of an offer', () => {
  test('cover every search key of Document 1, with whole values, ignoring case but not marks (decisions P5)', () => {
    const posted = {
      brand: 'Ünder Tön',
      availability: 'In Stock',
      condition: 'NEW',
      model: 'X-1',
      manufacturer: 'Tön AG',
      shippingCost: 'Free',
      promoText: 'Now!',
      warranty: '2 Years',
      deliveryTime: '1-2 Days',
      weight: '300 G',
      size: 'XL',
      techSpecs: '32 Ohm',
      inStock: 4,
      fields: [
        { name: 'Colour', value: 'Red' },
        { name: 'a=b', value: 'C' },
      ],
    };
    expect(fieldsOf(posted)).toMatchObject({
      feedId: FEED_ID,
      price: 1000,
      inStock: 4,
      spId: 'a',
      category: ['audio'],
      brand: foldCase('ünder tön'),
      availability: 'in stock',
      condition: 'new',
      model: 'x-1',
      manufacturer: foldCase('TÖN AG'),
      shippingCost: 'free',
      promoText: 'now!',
      warranty: '2 years',
      deliveryTime: '1-2 days',
      weight: '300 g',
      size: 'xl',
      techSpec: '32 ohm',
      field: ['colour=red', 'a=b=c'],
    });
  });

  test('contain each identifier exactly (decisions P5)', () => {
    const identifiers = { ean: '0401', mpn: 'Mp', sku: 'sK', upc: '12', isbn: '978-X' };
    expect(fieldsOf({ identifiers })).toMatchObject(identifiers);
  });

  test('contain each word of title and description (decisions P4)', () => {
    expect(fieldsOf({ name: 'Große Höhe', description: 'x_1, y' })).toMatchObject({
      title: ['grosse', 'hohe', 'hoehe'],
      description: ['x_1', 'y'],
    });
  });

  test('omit what was not posted: without inStock no bound matches (decisions P5)', () => {
    const fields = fieldsOf({});
    for (const key of ['inStock', 'brand', 'ean', 'field']) expect(fields).not.toHaveProperty(key);
  });

  test.each([
    ['its ean, to 14 digits', { ean: '4012345678901' }, 'ean04012345678901'],
    ['its upc, without an ean', { upc: '012345678905' }, 'ean00012345678905'],
    ['its ean rather than its upc', { ean: '17', upc: '18' }, 'ean00000000000017'],
    ['the same, leading zeros or not', { ean: '00012345678905' }, 'ean00012345678905'],
    ['itself, when no number is a GTIN', { ean: '000', upc: '12-3', sku: '5' }, offerId(FEED_ID, 'a')],
    ['itself, when a number is too long', { ean: '123456789012345' }, offerId(FEED_ID, 'a')],
    ['itself, without identifiers', undefined, offerId(FEED_ID, 'a')],
  ] as const)('is grouped by %s (decisions P8)', (_, identifiers, groupId) => {
    expect(fieldsOf(identifiers === undefined ? {} : { identifiers })).toMatchObject({ groupId });
  });
});

describe('a posted category is mapped (decisions P13)', () => {
  const headphones = defined('11', 'Headphones', { de: 'Kopfhörer' });
  test.each<[string, PostedCategory, readonly DirectoryEvent[], string | null]>([
    ['by the id of a category that there is', { id: '11' }, [headphones], '11'],
    ['not by an unknown id', { id: '12', name: 'Audio' }, [headphones], null],
    ['not by the id of a category removed', { id: '11' }, [headphones, removed('11')], null],
    ['by a name, in English', { name: 'x', tdCategoryName: 'Headphones' }, [headphones], '11'],
    ['by a name, in any language', { name: 'x', tdCategoryName: 'Kopfhörer' }, [headphones], '11'],
    [
      'not by a name that two categories have',
      { name: 'x', tdCategoryName: 'Headphones' },
      [headphones, defined('12', 'Headphones')],
      null,
    ],
    [
      'by what the feed maps its own name to',
      { name: 'Audio' },
      [headphones, mapped(FEED_ID, 'Audio', '11')],
      '11',
    ],
    ['not by what another feed maps', { name: 'Audio' }, [headphones, mapped(7, 'Audio', '11')], null],
    [
      'no more by what the feed has unmapped',
      { name: 'Audio' },
      [headphones, mapped(FEED_ID, 'Audio', '11'), unmapped(FEED_ID, 'Audio')],
      null,
    ],
    ['not to an unknown category', { name: 'Audio' }, [mapped(FEED_ID, 'Audio', '11')], null],
    [
      'by its id before its names',
      { id: '11', name: 'Audio', tdCategoryName: 'Speakers' },
      [headphones, defined('12', 'Speakers'), mapped(FEED_ID, 'Audio', '12')],
      '11',
    ],
    [
      'by its platform name before its own',
      { name: 'Audio', tdCategoryName: 'Speakers' },
      [headphones, defined('12', 'Speakers'), mapped(FEED_ID, 'Audio', '11')],
      '12',
    ],
  ])('%s', (_, category, directory, expected) => {
    const described = project(
      products,
      [listed('a', 1, { categories: [category] })] as OfferEvent[],
      directoryOf(...directory),
    );
    expect(described?.document.mapped).toEqual([expected]);
    expect(described?.fields).toMatchObject({
      visible: expected === null ? 0 : 1,
      tdCategoryId: expected === null ? [] : [expected],
    });
  });

  test('one of several is enough, and each category counts once', () => {
    const categories = [{ name: 'x' }, { id: '11' }, { id: '11', name: 'y' }];
    expect(fieldsOf({ categories }, headphones)).toMatchObject({ visible: 1, tdCategoryId: ['11'] });
  });

  test('repeated changes are queried once', () => {
    const changes = [
      { posted: 'id', value: '11' },
      { posted: 'name', feedId: FEED_ID, value: 'Audio' },
      { posted: 'name', feedId: 7, value: 'Audio' },
    ] as const;
    const filter = products.fanOut?.affectedBy([...changes, ...changes]);
    expect(filter).toEqual(products.fanOut?.affectedBy(changes));
    expect(filter).toHaveProperty('any.length', 3);
  });
});
