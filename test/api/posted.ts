import { type Response, type TestApp } from '../support/app';
import { type Client, TOKENS } from './network';

export const JSON_UTF8 = { 'content-type': 'application/json; charset=utf-8' } as const;
export const XML_UTF8 = { 'content-type': 'application/xml; charset=utf-8' } as const;

/** A product that is taken and mapped, with these changes; a field that is undefined is not posted. */
export function product(sourceProductId: string, changes: object = {}): object {
  return {
    sourceProductId,
    name: `Product ${sourceProductId}`,
    description: 'As good as any.',
    productUrl: `https://shop.example/${encodeURIComponent(sourceProductId)}`,
    price: 10,
    productImage: { url: 'https://img.example/1.jpg' },
    categories: [{ id: '1' }],
    ...changes,
  };
}

/** A product with every field that may be posted (Document 1, Product posted by an advertiser). */
export const FULL = {
  sourceProductId: 'full (1)',
  name: 'Hovedtelefon Ørsted <X> & co.',
  description: 'Lukket, 38 Ω.\n"Let"',
  productUrl: 'https://shop.example/p?a=1&b=(2)',
  price: 1249.5,
  productImage: { url: 'https://img.example/1.jpg?x=1&y=2', width: 500, height: 300 },
  categories: [{ id: '11', name: 'Over-Ear', tdCategoryName: 'Whatever' }, { name: 'Nowhere' }],
  availability: 'in stock',
  brand: 'Ørsted',
  condition: 'new',
  deliveryTime: '1-2 days',
  ean: '0012345678905',
  sku: 'SKU-1',
  upc: '012345678905',
  isbn: '978-3-16-148410-0',
  mpn: 'MPN/1',
  inStock: 7,
  manufacturer: 'Ørsted A/S',
  model: 'HT 1',
  promoText: 'Two for one',
  shippingCost: '4.95',
  shortDescription: 'Closed headphones',
  size: '20 x 18 cm',
  techSpecs: '38 Ω; 20 Hz',
  warranty: '2 years',
  weight: '250 g',
  fields: [
    { name: 'Colour', value: 'Black' },
    { name: 'Cable', value: '' },
  ],
} as const;

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly sourceProductId?: string;
}

/** The error list of a JSON answer; what is none has no errors. */
export function refusals(response: Response): readonly Refusal[] {
  return response.json<{ errors?: readonly Refusal[] }>().errors ?? [];
}

/** `PF_240 a`: what was refused and why, without the messages. */
export function refused(response: Response): string[] {
  return refusals(response).map(({ code, sourceProductId = '' }) => `${code} ${sourceProductId}`.trim());
}

/** `400 PF_240`: the status and the codes of an answer. */
export function outcome(response: Response): string {
  return [response.statusCode, ...refusals(response).map(({ code }) => code)].join(' ');
}

/** A product as searches answer it, as far as most tests look. */
export interface FoundProduct {
  readonly name: string;
  readonly groupingId: string;
  readonly offers: readonly {
    readonly id: string;
    readonly feedId: number;
    readonly sourceProductId: string;
    readonly productUrl: string;
    readonly price: number;
    readonly modified: number | string;
  }[];
  readonly [field: string]: unknown;
}

export interface Found {
  readonly totalHits: number;
  readonly products: readonly FoundProduct[];
  /** `sourceProductId` of all offers, in their order. */
  readonly ids: readonly string[];
  readonly facets?: Facets | undefined;
}

/** Counts by the names of facets. */
export type Facets = Readonly<Record<string, readonly object[]>>;

/** The requests that most tests make of an application. */
export function clientOf(app: () => TestApp) {
  return {
    /** Posts products to a feed, by its owner unless named otherwise. */
    post: (
      fid: number,
      products: readonly object[],
      { keys = '', by = 'nord' }: { keys?: string; by?: Client } = {},
    ) =>
      app().post(`/1.0/products;fid=${fid}${keys}`, {
        token: TOKENS[by],
        body: JSON.stringify({ products }),
      }),
    /** Searches by matrix keys (`;q=lamp`), by an advertiser unless named otherwise; fails if that is refused. */
    search: async (keys: string, by: Client = 'nord'): Promise<Found> => {
      const response = await app().get(`/1.0/products${keys}`, { token: TOKENS[by] });
      if (response.statusCode !== 200) throw new Error(`${keys}: ${response.statusCode} ${response.body}`);
      const { productHeader, products } = response.json<{
        productHeader: { totalHits: number; facets?: Facets };
        products: FoundProduct[];
      }>();
      const ids = products.flatMap(({ offers }) => offers.map(({ sourceProductId }) => sourceProductId));
      return { totalHits: productHeader.totalHits, products, ids, facets: productHeader.facets };
    },
  };
}
