import { type operations } from './openapi.js';
import {
  type Answered,
  type Changes,
  jsonOf,
  type Keys,
  PAGE,
  type Posted,
  type Rest,
  type Schemas,
} from './rest.js';
import { AffilogError, type ListedError } from './transport.js';

export type Product = Schemas['Product'];
export type PostedProduct = Schemas['PostedProduct'];
export type Feed = Schemas['FeedList']['feeds'][number];
export type FeedSource = Schemas['FeedSource'];

/** What a load of products has done. */
export interface Load {
  /** Its id in the load report; absent if nothing was stored. */
  readonly loadId: string | undefined;
  /** `new`, `revised`, `repriced`, `unchanged`, `removed`, `refused`, `unmapped`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Why products were refused; the others are stored. */
  readonly errors: readonly ListedError[];
}

/** A file with its media type, such as `text/csv`. */
export interface ProductFile {
  readonly content: Blob | ReadableStream<Uint8Array>;
  readonly type: string;
}

interface FileKeys extends Omit<Keys<'loadProducts'>, 'fid'> {
  /** Columns that are read as if they had another name: `name:title`. */
  readonly map?: readonly string[];
  readonly csvSeparators?: string;
  readonly csvEmbrace?: string;
}

const SOURCES = '/1.0/products/sources';

/** Feeds and their products. */
export class Products {
  constructor(private readonly rest: Rest) {}

  /** All products that match, however many. */
  async *search(keys: Keys<'searchProducts'>): AsyncGenerator<Product, void, void> {
    for (let cursor: string | undefined = '*'; cursor !== undefined;) {
      const page: Answered<'searchProducts'> = await this.searchPage({ ...keys, cursor, pageSize: PAGE });
      yield* page.products;
      cursor = page.productHeader.nextCursor;
    }
  }

  /** One page, with the number of all, facets and suggestions. */
  async searchPage(
    keys: NonNullable<operations['searchProducts']['parameters']['query']>,
  ): Promise<Answered<'searchProducts'>> {
    return await this.rest.get('/1.0/products', keys);
  }

  /**
   * Adds and updates products of a feed, or replaces all. What is no array is sent as it comes, in constant memory, and
   * not repeated.
   */
  async load(
    feedId: number,
    products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
    keys: Omit<Keys<'loadProducts'>, 'fid'> = {},
  ): Promise<Load> {
    const body = Array.isArray(products) ? { body: { products } } : { stream: streamOf(products) };
    const query = { ...keys, fid: feedId };
    return await loadOf(this.rest.send('POST', '/1.0/products', { query, isIdempotent: true, ...body }));
  }

  /**
   * Loads a shop's export as it is: CSV, TSV, XML or a Google Merchant feed, compressed or not. A stream is not
   * repeated.
   */
  async loadFile(feedId: number, file: ProductFile, keys: FileKeys = {}): Promise<Load> {
    const { content, type } = file;
    const body = content instanceof ReadableStream ? { stream: content } : { body: content };
    const query = { ...keys, fid: feedId };
    return await loadOf(
      this.rest.send('POST', '/1.0/products', { query, isIdempotent: true, type, ...body }),
    );
  }

  /** Removes products from a feed. */
  async delete(feedId: number, sourceProductIds: readonly string[]): Promise<Load> {
    const query = { fid: feedId, spId: sourceProductIds };
    return await loadOf(this.rest.send('DELETE', '/1.0/products', { query }));
  }

  /** A feed, or with `since` what has changed in it since an earlier answer. */
  async download(
    feedId: number,
    since?: string,
  ): Promise<Answered<'downloadFeed'> & { readonly since: string | undefined }> {
    const answer = await this.rest.send('GET', '/1.0/productsUnlimited', { query: { fid: feedId, since } });
    const content = await jsonOf<Answered<'downloadFeed'>>(answer);
    return { ...content, since: answer.headers.get('X-Next-Since') ?? undefined };
  }

  /**
   * What a copy of a feed lacks since an earlier call; by default everything. Removed are products by their
   * `sourceProductId`.
   */
  async *follow(feedId: number, since = '*'): AsyncGenerator<Changes<Product>, void, void> {
    const reset = since === '*';
    const answer = await this.download(feedId, reset ? undefined : since);
    yield { reset, removed: answer.removed ?? [], changed: answer.products, since: answer.since ?? since };
  }

  /** The last loads of a feed with their faults, the latest first. */
  async imports(feedId: number): Promise<Answered<'listImports'>['imports']> {
    const { imports } = await this.rest.get<Answered<'listImports'>>('/1.0/products/imports', {
      fid: feedId,
    });
    return imports;
  }

  /** Whether publishers see a product of the caller's, and why not. */
  async visibility(feedId: number, sourceProductId: string): Promise<Answered<'getVisibility'>> {
    return await this.rest.get('/1.0/products/visibility', { fid: feedId, spId: sourceProductId });
  }

  /** The files that the caller's feeds are fetched from. */
  async sources(): Promise<readonly FeedSource[]> {
    return await this.rest.get<Answered<'listSources'>>(SOURCES);
  }

  /** Has a feed fetched from a URL: now, and then regularly. */
  async setSource(source: Posted<'setSource'>): Promise<void> {
    await this.rest.send('POST', SOURCES, { body: source });
  }

  async removeSource(feedId: number): Promise<void> {
    await this.rest.send('DELETE', SOURCES, { query: { fid: feedId } });
  }

  /** Has a feed fetched now. */
  async fetchSource(feedId: number): Promise<void> {
    await this.rest.send('POST', `${SOURCES}/fetch`, { query: { fid: feedId } });
  }

  /** Accepts that the file that is held removes more than half of its feed. */
  async acceptSource(feedId: number): Promise<void> {
    await this.rest.send('POST', `${SOURCES}/accept`, { query: { fid: feedId } });
  }

  /** The feeds that the token is connected to. */
  async feeds(): Promise<readonly Feed[]> {
    const { feeds } = await this.rest.get<Answered<'listFeeds'>>('/1.0/productFeeds');
    return feeds;
  }

  /** The category trees, with names in a language. */
  async categories(language?: string): Promise<Answered<'getCategoryTree'>> {
    return await this.rest.get('/1.0/productCategories', { language });
  }
}

/** A load that has refused some products is no failure: the others are stored. */
async function loadOf(answer: Promise<Response>): Promise<Load> {
  try {
    return { ...loadIn((await answer).headers), errors: [] };
  } catch (error) {
    if (!(error instanceof AffilogError) || !error.headers.has('X-Load-Counts')) throw error;
    return { ...loadIn(error.headers), errors: error.errors };
  }
}

function loadIn(headers: Headers): Omit<Load, 'errors'> {
  const counts = [...(headers.get('X-Load-Counts') ?? '').matchAll(/(\w+)=(\d+)/g)];
  return {
    loadId: headers.get('X-Load-Id') ?? undefined,
    counts: Object.fromEntries(counts.map(([, name = '', count]) => [name, Number(count)])),
  };
}

/** `{"products":[…]}`, in parts. */
function streamOf(
  products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
): ReadableStream<Uint8Array> {
  const pieces = piecesOf(products);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const piece = await pieces.next();
      if (piece.done === true) controller.close();
      else controller.enqueue(encoder.encode(piece.value));
    },
    async cancel() {
      await pieces.return();
    },
  });
}

/** Characters of a part, at least. */
const PIECE = 64 * 1024;

async function* piecesOf(
  products: Iterable<PostedProduct> | AsyncIterable<PostedProduct>,
): AsyncGenerator<string, void, void> {
  let piece = '{"products":[';
  let separator = '';
  for await (const product of products) {
    piece += separator + JSON.stringify(product);
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}
