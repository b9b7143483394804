import { generateProducts } from '../../src/demo/generate';
import { wordsOf } from '../../src/wire/words';
import {
  abandon,
  fill,
  fillVouchers,
  heavyProduct,
  OTHER_PUBLISHER,
  report,
  search,
  take,
  type Taken,
  vouchers,
  watched,
} from './heavy-reads';
import { PUBLISHER, type Server } from './server';

/** What health checks took at most beside an attack (ms), and the answers that were waited for. */
interface Outcome {
  readonly live: number;
  readonly ready: number;
  readonly answers: readonly Taken[];
}

const PAGE = `/1.0/products;fid=22;pageSize=1000?token=${PUBLISHER}`;

/** Asks for pages of large products and does not wait; then somebody else searches. */
export async function abandonSearches(
  server: Server,
  { products, characters, requests }: Readonly<Record<'products' | 'characters' | 'requests', number>>,
): Promise<Outcome> {
  const description = 'x'.repeat(characters);
  await fill(
    server,
    Array.from({ length: products }, (_, n) => heavyProduct(n, { description })),
    100,
  );
  const { result, live, ready } = await watched(server, async () => {
    await abandon(server, PAGE, requests);
    return await search(server, ';fid=22;spId=p0', OTHER_PUBLISHER);
  });
  report(
    `${requests} abandoned searches for ${products} products of ${characters} characters: another token answered ` +
      `${result.status} in ${result.ms} ms, live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: [result] };
}

/** Asks for the same pages and waits for all of them. */
export async function readTogether(server: Server, readers: number): Promise<Outcome> {
  const { result, live, ready } = await watched(server, () =>
    Promise.all(Array.from({ length: readers }, () => take(server, PAGE))),
  );
  const longest = Math.max(...result.map(({ ms }) => ms));
  report(
    `${readers} readers at once: all answered within ${longest} ms, live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

/** Searches for very many words, some of them abandoned; meanwhile somebody else searches. */
export async function searchManyWords(
  server: Server,
  { products, words, requests }: Readonly<Record<'products' | 'words' | 'requests', number>>,
): Promise<Outcome & { readonly slow: readonly Taken[] }> {
  const generated = [...generateProducts({ count: products, categories: [{ id: '1' }] })];
  const known = new Set<string>();
  for (const { name, description } of generated) {
    for (const word of [...wordsOf(name), ...wordsOf(description)]) known.add(word);
    if (known.size >= words) break;
  }
  await fill(
    server,
    generated.map((product, n) => ({ ...product, sourceProductId: `p${n}` })),
    5_000,
  );
  const q = [...known].slice(0, words).map((word) => `;q=${encodeURIComponent(word)}`);
  const path = `;fid=22${q.join('')}`;
  const { result, live, ready } = await watched(server, async () => {
    const slow = Promise.all(Array.from({ length: requests }, () => search(server, path, PUBLISHER)));
    await abandon(server, `/1.0/products${path}?token=${PUBLISHER}`, requests);
    const others = [];
    for (let at = 0; at < 5; at += 1) others.push(await search(server, ';fid=22;spId=p0', OTHER_PUBLISHER));
    return { slow: await slow, others };
  });
  report(
    `${requests} searches for ${words} words in ${products} products, as many abandoned: ${say(result.slow)}; ` +
      `another token: ${say(result.others)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result.others, slow: result.slow };
}

/** Lists vouchers whose texts have to be escaped in XML, in every format. */
export async function listLargeVouchers(server: Server, count: number): Promise<Outcome> {
  await fillVouchers(server, count, '&'.repeat(65_535));
  const { result, live, ready } = await watched(server, async () => [
    await vouchers(server, 'xml', '</voucher>'),
    await vouchers(server, 'json', '"voucherTypeId"'),
    await vouchers(server, 'csv', '\r\n'),
  ]);
  report(
    `${count} vouchers of twice 65,535 "&" in XML, JSON and CSV: ${say(result)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

/** Searches for pages of products of 250 KB, in every format. */
export async function searchLargeProducts(server: Server, count: number): Promise<Outcome> {
  const description = '&'.repeat(250_000);
  await fill(
    server,
    Array.from({ length: count }, (_, n) => heavyProduct(n, { description })),
    20,
  );
  const page = (extension: string, counted: string): Promise<Taken> =>
    search(server, `.${extension};fid=22;pageSize=1000`, PUBLISHER, counted);
  const { result, live, ready } = await watched(server, async () => [
    await page('xml', '</product>'),
    await page('json', '"groupingId"'),
    await page('csv', '\r\n'),
  ]);
  report(
    `${count} products of 250,000 "&" in XML, JSON and CSV: ${say(result)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

function say(taken: readonly Taken[]): string {
  return taken
    .map(({ status, bytes, ms }) => `${status} of ${Math.round(bytes / 1e6)} MB in ${ms} ms`)
    .join(', ');
}
