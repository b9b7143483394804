import { generateProducts } from '../../bench/generate';
import { tokensOf } from '../../src/wire/words';
import { report } from './attack-run';
import {
  abandon,
  fill,
  fillVouchers,
  heavyProduct,
  OTHER_PUBLISHER,
  type ReadSummary,
  readToEnd,
  search,
  vouchers,
  whileHealthChecked,
} from './heavy-reads';
import { PUBLISHER, type Server } from './server';

/** The slowest health checks during an attack (ms), and the answers that were waited for. */
interface Outcome {
  readonly live: number;
  readonly ready: number;
  readonly answers: readonly ReadSummary[];
}

const PAGE = `/1.0/products;fid=22;pageSize=1000?token=${PUBLISHER}`;

/** Requests pages of large products and abandons them; then another client searches. */
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
  const { result, live, ready } = await whileHealthChecked(server, async () => {
    await abandon(server, PAGE, requests);
    return await search(server, ';fid=22;spId=p0', OTHER_PUBLISHER);
  });
  report(
    `${requests} abandoned searches for ${products} products of ${characters} characters: another token answered ` +
      `${result.status} in ${result.ms} ms, live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: [result] };
}

/** Requests the same page many times at once and reads every answer. */
export async function readTogether(server: Server, readers: number): Promise<Outcome> {
  const { result, live, ready } = await whileHealthChecked(server, () =>
    Promise.all(Array.from({ length: readers }, () => readToEnd(server, PAGE))),
  );
  const longest = Math.max(...result.map(({ ms }) => ms));
  report(
    `${readers} readers at once: all answered within ${longest} ms, live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

/** Searches for very many words and abandons some of the searches; meanwhile another client searches. */
export async function searchManyWords(
  server: Server,
  { products, words, requests }: Readonly<Record<'products' | 'words' | 'requests', number>>,
): Promise<Outcome & { readonly slow: readonly ReadSummary[] }> {
  const generated = [...generateProducts({ count: products, categories: [{ id: '1' }] })];
  const vocabulary = new Set<string>();
  for (const { name, description } of generated) {
    for (const word of [...tokensOf(name), ...tokensOf(description)]) vocabulary.add(word);
    if (vocabulary.size >= words) break;
  }
  await fill(
    server,
    generated.map((product, n) => ({ ...product, sourceProductId: `p${n}` })),
    5_000,
  );
  const q = [...vocabulary].slice(0, words).map((word) => `;q=${encodeURIComponent(word)}`);
  const path = `;fid=22${q.join('')}`;
  const { result, live, ready } = await whileHealthChecked(server, async () => {
    const slow = Promise.all(Array.from({ length: requests }, () => search(server, path, PUBLISHER)));
    await abandon(server, `/1.0/products${path}?token=${PUBLISHER}`, requests);
    const others = [];
    for (let at = 0; at < 5; at += 1) others.push(await search(server, ';fid=22;spId=p0', OTHER_PUBLISHER));
    return { slow: await slow, others };
  });
  report(
    `${requests} searches for ${words} words in ${products} products, as many abandoned: ${summary(result.slow)}; ` +
      `another token: ${summary(result.others)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result.others, slow: result.slow };
}

/** Lists vouchers full of characters that XML must escape, in every format. */
export async function listLargeVouchers(server: Server, count: number): Promise<Outcome> {
  await fillVouchers(server, count, '&'.repeat(65_535));
  const { result, live, ready } = await whileHealthChecked(server, async () => [
    await vouchers(server, 'xml', '</voucher>'),
    await vouchers(server, 'json', '"voucherTypeId"'),
    await vouchers(server, 'csv', '\r\n'),
  ]);
  report(
    `${count} vouchers of twice 65,535 "&" in XML, JSON and CSV: ${summary(result)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

/** Searches for pages of 250 KB products, in every format. */
export async function searchLargeProducts(server: Server, count: number): Promise<Outcome> {
  const description = '&'.repeat(250_000);
  await fill(
    server,
    Array.from({ length: count }, (_, n) => heavyProduct(n, { description })),
    20,
  );
  const page = (extension: string, counted: string): Promise<ReadSummary> =>
    search(server, `.${extension};fid=22;pageSize=1000`, PUBLISHER, counted);
  const { result, live, ready } = await whileHealthChecked(server, async () => [
    await page('xml', '</product>'),
    await page('json', '"groupingId"'),
    await page('csv', '\r\n'),
  ]);
  report(
    `${count} products of 250,000 "&" in XML, JSON and CSV: ${summary(result)}; live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}

function summary(answers: readonly ReadSummary[]): string {
  return answers
    .map(({ status, bytes, ms }) => `${status} of ${Math.round(bytes / 1e6)} MB in ${ms} ms`)
    .join(', ');
}
