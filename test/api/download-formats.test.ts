import { parse as parseCsv } from 'csv-parse/sync';
import { generateProducts } from '../../bench/generate';
import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, product } from './posted';
import { parse } from './xml-elements';

const { german } = FEEDS;

/** Columns of CSV that hold one value each, and where JSON has them. */
const ON_PRODUCT = [
  ...[
    'name',
    'description',
    'shortDescription',
    'brand',
    'manufacturer',
    'model',
    'size',
    'weight',
    'warranty',
  ],
  ...['techSpecs', 'promoText', 'inStock'],
];
const ON_OFFER = [
  'feedId',
  'productUrl',
  'programName',
  'availability',
  'deliveryTime',
  'condition',
  'shippingCost',
];
const IDENTIFIERS = ['ean', 'upc', 'isbn', 'mpn', 'sku'];

/** A product of one offer as texts, whatever the format it came in; what is missing is an empty text. */
type Row = Readonly<Record<string, string>>;

const texts = (names: readonly string[], valueOf: (name: string) => unknown): Row =>
  Object.fromEntries(
    names.map((name) => {
      const value = valueOf(name);
      return [name, typeof value === 'number' ? String(value) : typeof value === 'string' ? value : ''];
    }),
  );

let app: TestApp;
const { post } = clientOf(() => app);

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  const odd = [
    product('a;b', {
      name: 'Lamp; "red", <small> & co: \r\n\tNo. 1',
      inStock: -3,
      categories: [{ id: '1' }, { name: 'x' }],
    }),
    product("'", { description: '\'\';:,""', brand: '=1+1', ean: '0' }),
  ];
  await post(german, [...generateProducts({ count: 400, categories: [{ id: '11' }] }), FULL, ...odd]);
});
afterAll(() => app.close());

const download = async (keys: string): Promise<string> =>
  (await app.get(`/1.0/productsUnlimited${keys};fid=${german}`, { token: TOKENS.preisblick })).body;

type Json = Readonly<Record<string, unknown>>;

async function ofJson(): Promise<readonly Row[]> {
  const { products } = JSON.parse(await download('')) as {
    products: (Json & { identifiers?: Json; productImage: Json; offers: Json[] })[];
  };
  return products.map((one) => {
    const [offer = {}] = one.offers;
    return {
      ...texts(ON_PRODUCT, (name) => one[name]),
      ...texts(ON_OFFER, (name) => offer[name]),
      ...texts(IDENTIFIERS, (name) => one.identifiers?.[name]),
      ...texts(['url', 'width', 'height'], (name) => one.productImage[name]),
      ...texts(['id', 'sourceProductId', 'modified'], (name) => offer[name]),
      price: Number(offer.price).toFixed(2),
      language: String(one.language),
    };
  });
}

async function ofXml(): Promise<readonly Row[]> {
  const [, products] = (await parse(await download('.xml'))).children;
  return products!.children.map(({ attributes, children }) => {
    const own = new Map(children.map((child) => [child.name.replace('common ', ''), child]));
    const offer = own.get('offers')!.children[0]!;
    const ofOffer = new Map(offer.children.map((child) => [child.name.replace('common ', ''), child.text]));
    const image = own.get('productImage')!;
    return {
      ...texts([...ON_PRODUCT, ...IDENTIFIERS], (name) => own.get(name)?.text),
      ...texts(ON_OFFER, (name) => ofOffer.get(name)),
      ...texts(['width', 'height'], (name) => image.attributes[name]),
      ...texts(['id', 'sourceProductId'], (name) => offer.attributes[name]),
      url: image.text,
      modified: offer.attributes.modifiedDate!,
      price: ofOffer.get('price')!,
      language: attributes.language!,
    };
  });
}

async function ofCsv(): Promise<readonly Row[]> {
  const rows: Row[] = parseCsv(await download('.csv'), { columns: true });
  return rows.map((row) => ({
    ...texts(
      [...ON_PRODUCT, ...ON_OFFER, ...IDENTIFIERS, 'id', 'modified', 'price', 'language'],
      (name) => row[name],
    ),
    ...texts(['width', 'height'], (name) => row[name]),
    url: row.imageUrl!,
    sourceProductId: row.TDProductId!,
  }));
}

it('JSON, XML and CSV of a feed hold the same data (Document 1, Bulk download of a feed; decisions P14, P17)', async () => {
  const [json, xml, csv] = [await ofJson(), await ofXml(), await ofCsv()];
  expect(json).toHaveLength(403);
  expect(xml).toEqual(json);
  expect(csv).toEqual(json);
});
