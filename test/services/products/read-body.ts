import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fingerprints } from '../../../src/domain/products/fingerprints';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import {
  type ColumnOptions,
  type FeedBody,
  feedBody,
  type FeedFormat,
} from '../../../src/services/products/load/ingest/feed-body';
import { ProductIntake } from '../../../src/services/products/load/ingest/product-intake';
import { Spool, type SpooledProduct } from '../../../src/services/products/load/ingest/spool';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
});
afterAll(() => rm(folder, { recursive: true }));

const NOON = Date.parse('2026-06-15T12:00:00Z');

export interface Options {
  readonly format?: FeedFormat;
  readonly columns?: ColumnOptions;
  /** A file, of which this is declared. */
  readonly file?: { readonly encoding: string | undefined };
  readonly now?: number;
  readonly prints?: Fingerprints;
  readonly size?: number;
}

/** Feeds a body in pieces of `size` bytes. Returns its intake, and what was spooled. */
export async function spooledFrom(
  bytes: Buffer,
  size: number,
  bodyOf: (intake: ProductIntake) => FeedBody,
  parts: Omit<ConstructorParameters<typeof ProductIntake>[0], 'spool'>,
): Promise<{ readonly intake: ProductIntake; readonly spooled: readonly SpooledProduct[] }> {
  const spool = new Spool(SYSTEM_CLOCK, folder);
  const intake = new ProductIntake({ ...parts, spool });
  try {
    const body = bodyOf(intake);
    for (let at = 0; at < bytes.length; at += size) {
      body.write(Buffer.from(bytes.subarray(at, at + size)));
      await intake.ready();
    }
    body.end();
    await intake.complete();
    const spooled: SpooledProduct[] = [];
    for await (const some of spool.read()) spooled.push(...some);
    return { intake, spooled };
  } finally {
    await spool.close();
  }
}

/** Reads a body into a feed whose program has euros. */
export async function read(text: string | Buffer, options: Options = {}) {
  const { format = 'csv', columns, file, now = NOON, prints, size = 7 } = options;
  const { intake, spooled } = await spooledFrom(
    Buffer.from(text as string),
    size,
    (own) => feedBody({ format, columns, file, terms: { currency: 'EUR', now } }, own),
    { knowsCategory: (id) => id === '221', ...(prints && { fingerprints: () => prints }) },
  );
  return {
    products: spooled.map(({ head, text: content }) => ({
      sourceProductId: head.sourceProductId,
      price: head.kind === 'valid' ? head.price : undefined,
      ...(head.kind === 'valid' ? (JSON.parse(content().toString()) as object) : {}),
    })),
    heads: spooled.map(({ head }) => head),
    faults: intake.faults.listed.map(
      ({ code, message, sourceProductId }) => `${code} ${sourceProductId ?? '-'} ${message}`,
    ),
    ignored: intake.ignored.listed().map(({ field }) => field),
  };
}

/** The code and message that a body is refused with as a whole. */
export async function refusal(text: string | Buffer, options?: Options): Promise<string> {
  return await read(text, options).then(
    (found) => JSON.stringify(found),
    (error: unknown) => `${(error as { code?: string }).code ?? ''} ${(error as Error).message}`,
  );
}

export const HEADER = 'sourceProductId,name,description,productUrl,price,imageUrl,categories';
export const ROW = 'p1,Lamp,A lamp,https://shop.example/1,12.50,https://img.example/1.png,Lamps';
export const PRODUCT = {
  sourceProductId: 'p1',
  name: 'Lamp',
  description: 'A lamp',
  productUrl: 'https://shop.example/1',
  price: 1250,
  productImage: { url: 'https://img.example/1.png' },
  categories: [{ name: 'Lamps' }],
};
