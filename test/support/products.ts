import fc from 'fast-check';
import { ean13 } from '../../src/demo/catalogue';
import { type PostedProduct } from '../../src/demo/products';
import { type PostedCategory } from '../../src/network/categories/mapped-category';
import { anyCharacters } from './any-characters';

/** The posted body of Document 1 in JSON. */
export function toJson(
  products: Iterable<PostedProduct>,
  options: { readonly spaces?: number } = {},
): string {
  return JSON.stringify({ products: [...products] }, undefined, options.spaces);
}

/** The children of an XML product that are plain text (Document 1, XML body shape). */
const SIMPLE = [
  'shippingCost',
  'shortDescription',
  'promoText',
  'warranty',
  'inStock',
  'availability',
  'deliveryTime',
  'condition',
  'weight',
  'size',
  'model',
  'brand',
  'manufacturer',
  'techSpecs',
  'ean',
  'upc',
  'isbn',
  'mpn',
  'sku',
] as const;

/**
 * The posted body of Document 1 in XML. The size of an image and a category's `tdCategoryName`, which have no element,
 * are attributes (`docs/decisions.md#x5`).
 */
export function toXml(products: Iterable<PostedProduct>, options: { readonly vendor?: string } = {}): string {
  const model = `urn:com:${options.vendor ?? 'affilog'}:pf:model:xml`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<products xmlns="${model}:input" xmlns:cm="${model}:common" version="3.0">`,
    ...Array.from(products, productXml),
    '</products>',
  ].join('\n');
}

function productXml(product: PostedProduct): string {
  const { sourceProductId, name, description, productUrl, productImage, price, categories, fields } = product;
  return [
    `<product sourceProductId="${escaped(sourceProductId)}">`,
    element('name', name),
    element('description', description),
    element('productUrl', productUrl),
    `<cm:productImage${attribute('width', productImage.width)}${attribute('height', productImage.height)}>`,
    `${escaped(productImage.url)}</cm:productImage>`,
    element('price', price.toFixed(2)),
    '<cm:categories>',
    ...categories.map(categoryXml),
    '</cm:categories>',
    ...(fields === undefined ? [] : ['<cm:fields>', ...fields.map(fieldXml), '</cm:fields>']),
    ...SIMPLE.map((child) => (product[child] === undefined ? '' : element(child, String(product[child])))),
    '</product>',
  ].join('');
}

function categoryXml({ name, id, tdCategoryName }: PostedCategory): string {
  return `<cm:category${attribute('name', name)}${attribute('id', id)}${attribute('tdCategoryName', tdCategoryName)}/>`;
}

function fieldXml({ name, value }: { readonly name: string; readonly value: string }): string {
  return `<cm:field${attribute('name', name)}>${escaped(value)}</cm:field>`;
}

function element(name: string, text: string): string {
  return `<cm:${name}>${escaped(text)}</cm:${name}>`;
}

function attribute(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : ` ${name}="${escaped(String(value))}"`;
}

/** Line ends and tabs as references, since XML processors normalise them. */
function escaped(text: string): string {
  return text.replace(/[&<>"\t\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}

// Arbitrary products ------------------------------------------------------------------------------------------

/** Strings that are difficult for formats. */
const NASTY = [
  ...[
    '&amp;',
    '&#39;',
    '&lt;b&gt;',
    '<![CDATA[',
    ']]>',
    '<!--',
    '</products>',
    '<?xml?>',
    '\u00a0',
    '\u2028',
    '\u2029',
  ],
  ...[
    '"',
    "'",
    '\\',
    '\\u0000',
    '\t',
    '\n',
    '\r',
    '\r\n',
    '  ',
    ';',
    ',',
    ':',
    '=',
    '%2C',
    '+',
    '$&',
    '__proto__',
  ],
  ...[
    '😀',
    '👩‍👩‍👧',
    '𝒳',
    'e\u0301',
    'ß',
    'ſ',
    'İ',
    'ﬁ',
    'שלום',
    '\u202eabc\u202c',
    'مرحبا',
    '日本語',
    '\u0085',
    '\ufeff',
    '\ufffd',
  ],
];

/** A non-empty string of characters that XML allows: words, or anything. */
const anyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { arbitrary: fc.constantFrom('lamp', 'Lampe', 'grün', 'blue', '42', 'x_y', ' '), weight: 3 },
      { arbitrary: fc.constantFrom(...NASTY), weight: 2 },
      { arbitrary: anyCharacters({ maxLength: 5 }).map(onlyAllowed), weight: 1 },
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) => parts.join(''))
  .filter((text) => text !== '');

/** In XML an identifier loses the white space at its ends (decisions A11). */
const anyIdentifier: fc.Arbitrary<string> = anyText
  .map((text) => text.replace(/^[ \t\n\r]+|[ \t\n\r]+$/g, ''))
  .filter((text) => text !== '');

function onlyAllowed(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '');
}

const anyEan = fc
  .bigInt({ min: 1n, max: 999_999_999_999n })
  .map((number) => ean13(String(number).padStart(12, '0')));

const anyCategory = fc.record(
  // An unknown id needs a name beside it.
  { name: anyText, id: fc.nat({ max: 9999 }).map(String), tdCategoryName: anyText },
  { requiredKeys: ['name'] },
);

/** An amount in whole cents. */
export const anyPrice: fc.Arbitrary<number> = fc.nat({ max: 10_000_000 }).map((cents) => cents / 100);

/** A valid product with any fields, the same in JSON and in XML. */
export function anyProduct(ids: fc.Arbitrary<string> = anyText): fc.Arbitrary<PostedProduct> {
  const anyUrl = fc.webUrl({ withQueryParameters: true, validSchemes: ['http', 'https'] });
  return fc.record(
    {
      sourceProductId: ids,
      name: anyText,
      description: anyText,
      productUrl: anyUrl,
      productImage: fc.record(
        { url: anyUrl, width: fc.nat({ max: 5000 }), height: fc.nat({ max: 5000 }) },
        { requiredKeys: ['url'] },
      ),
      price: anyPrice,
      categories: fc.array(anyCategory, { minLength: 1, maxLength: 3 }),
      availability: anyText,
      brand: anyText,
      condition: anyText,
      deliveryTime: anyText,
      inStock: fc.integer({ min: -5, max: 1_000_000 }),
      manufacturer: anyText,
      model: anyText,
      promoText: anyText,
      shippingCost: anyText,
      shortDescription: anyText,
      size: anyText,
      techSpecs: anyText,
      warranty: anyText,
      weight: anyText,
      ean: anyEan,
      upc: fc
        .bigInt({ min: 1n, max: 99_999_999_999n })
        .map((number) => ean13(String(number).padStart(12, '0')).slice(1)),
      isbn: anyIdentifier,
      mpn: anyIdentifier,
      sku: anyIdentifier,
      fields: fc.array(fc.record({ name: anyText, value: fc.oneof(anyText, fc.constant('')) }), {
        minLength: 1,
        maxLength: 4,
      }),
    },
    {
      requiredKeys: [
        'sourceProductId',
        'name',
        'description',
        'productUrl',
        'productImage',
        'price',
        'categories',
      ],
    },
  );
}

/** Products of one body with unique ids. */
export function anyProducts(maxLength = 10): fc.Arbitrary<PostedProduct[]> {
  return fc.uniqueArray(anyProduct(), { maxLength, selector: ({ sourceProductId }) => sourceProductId });
}
