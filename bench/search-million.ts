import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import {
  correctionsOf,
  countProducts,
  type FacetName,
  type FoundProducts,
  searchGroupedProducts,
  searchProducts,
  type WantedFacets,
} from '../projections/product-search';
import { products } from '../projections/products';
import { seededRandom } from '../src/demo/catalogue';
import { type Engines, openEngines } from '../src/engines/open';
import { directoryAt } from '../src/network/directory';
import { CatalogueScan, type FoundInCatalogue } from './bare/scan-catalogue';
import { Catalogue } from './catalogue';
import { type CatalogueSearch, criteriaOf, KINDS, keysOf, PRICE_BOUNDS } from './catalogue-searches';
import { fill } from './filled';
import { type Bench, compareLatencies, type Figure, quantile, timed } from './harness';
import { networkFile, PUBLISHER_TOKEN } from './network';
import { writeBody } from './products';
import { Server } from './server';

/** With 100,000 products as the count: a million. */
const TIMES = 10;

/** A data folder with some feeds, which are all searched together. */
interface Scenario {
  readonly name: string;
  /** The sizes of the feeds, from feed 1 on. */
  readonly feeds: readonly number[];
  /** Most ms until an answer over HTTP: with one connection, and with eight. */
  readonly goals: { readonly p50: number; readonly p99: number; readonly together: number };
}

/** One feed of ten times the count. */
export function searchMillion(bench: Bench): AsyncGenerator<Figure> {
  const feeds = [bench.count * TIMES];
  return searches(bench, { name: 'search-million', feeds, goals: { p50: 4, p99: 15, together: 25 } });
}

/** Twenty feeds of the count each. */
export function search20Feeds(bench: Bench): AsyncGenerator<Figure> {
  const feeds = Array.from({ length: 20 }, () => bench.count);
  return searches(bench, { name: 'search-20-feeds', feeds, goals: { p50: 10, p99: 30, together: 65 } });
}

/** 200 feeds of a hundredth to half of the count: small ones are more frequent. */
export function search200Feeds(bench: Bench): AsyncGenerator<Figure> {
  const feeds = Array.from({ length: 200 }, (_, at) => Math.ceil((bench.count / 100) * 50 ** (at / 199)));
  return searches(bench, { name: 'search-200-feeds', feeds, goals: { p50: 20, p99: 60, together: 125 } });
}

/** Searches of each kind: different ones, and how many are measured. */
const DIFFERENT = 25;
const COUNTED = 100;
/** Connections. */
const TOGETHER = 8;
/** Slowdown (p99) while a load runs. */
const SLOWDOWN = 3;

/** Memory in MB: per million products, and the cache. */
const MEMORY = { million: 40, cache: 32, building: 150 } as const;
/** Products per second of filling the read model, and bytes per product of its search index. */
const BUILD = { rate: 10_000, bytes: 290 } as const;

/**
 * Twenty-two kinds of search: the read model's query in this process, through HTTP with one and with eight connections,
 * and, with one connection, while products are loaded into another feed, again and again. The read model is filled
 * directly, without events.
 *
 * Bare: a plain computation over the same products in memory, which visits each of them. All answers must be equal to
 * its own: the number of results and the page.
 */
async function* searches(bench: Bench, scenario: Scenario): AsyncGenerator<Figure> {
  const { name, feeds, goals } = scenario;
  const catalogue = new Catalogue(feeds);
  const dataDir = join(bench.kept ?? bench.folder, `${name}-${catalogue.size}`);
  if (!existsSync(dataDir)) yield* build(dataDir, scenario, catalogue);
  const scan = new CatalogueScan(catalogue);
  const server = await Server.start(dataDir, 'api,projector');
  const engines = await openEngines({ dataDir, ...EMBEDDED, threads: false });
  try {
    let growth: (() => number) | undefined;
    const idle = new Map<string, readonly number[]>();
    for (const [kind, wanted] of kindsOf(catalogue)) {
      const compared = new ComparedSearches(scenario, catalogue, wanted);
      yield* compareLatencies(`${name} ${kind}, called`, ...(await compared.calls(engines, scan)));
      const alone = await compared.requests(server, 1);
      idle.set(kind, alone);
      yield atMost(`${name} ${kind} p50`, quantile(alone, 0.5), goals.p50);
      yield atMost(`${name} ${kind} p99`, quantile(alone, 0.99), goals.p99);
      const together = await compared.requests(server, TOGETHER);
      yield atMost(`${name} ${kind}, ${TOGETHER} at once p50`, quantile(together, 0.5), goals.together);
      // Without what any requests take, of the first kind.
      growth ??= server.memoryGrowth();
    }
    const most = MEMORY.cache + (MEMORY.million * catalogue.size) / 1e6;
    yield { ...atMost(`${name} memory`, Math.max(1, growth?.() ?? 0), most), unit: 'MB' };
    yield atMost(`${name} post of ${POSTED}, processor`, await postTime(engines, catalogue), POST_MS);
    yield* whileLoading(bench, scenario, catalogue, server, idle);
  } finally {
    await engines.close();
    await server.stop();
  }
}

/** Products of a post into the read model, most ms of processor time that it may take, and how many are measured. */
const POSTED = 500;
const POST_MS = 50;
const POSTS = 11;

/** Processor time (ms, median) of writing new products to the read model, which are removed again. */
async function postTime({ log, store }: Engines, catalogue: Catalogue): Promise<number> {
  const version = await log.head();
  const directory = await directoryAt(log, version);
  const target = { collection: products.collection.name };
  const times: number[] = [];
  for (let post = 0; post < POSTS; post += 1) {
    const put = Array.from({ length: POSTED }, (_, at) => {
      const document = catalogue.documentOf((post * POSTED + at) % catalogue.size, directory);
      // Never written before, as a data folder may be kept.
      const id = `${document.id} ${randomUUID()}`;
      // One without an EAN is a group of its own.
      const { groupId } = document.fields;
      return {
        ...document,
        id,
        fields: { ...document.fields, ...(groupId === document.id && { groupId: id }) },
      };
    });
    const before = process.cpuUsage();
    await store.write(
      target,
      put.map((document) => ({ version, put: document })),
    );
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
    await store.write(
      target,
      put.map(({ id }) => ({ version, remove: id })),
    );
  }
  return quantile(times, 0.5);
}

const EMBEDDED = { eventLog: 'sqlite:', readStore: 'sqlite:' } as const;

/** The searches of each kind, the same in every run. */
function* kindsOf(catalogue: Catalogue): Generator<[kind: string, wanted: readonly CatalogueSearch[]]> {
  for (const [kind, one] of Object.entries(KINDS)) {
    const random = seededRandom(kind.length * 31 + 7);
    yield [kind, Array.from({ length: DIFFERENT }, () => one(random, catalogue))];
  }
}

async function* whileLoading(
  bench: Bench,
  scenario: Scenario,
  catalogue: Catalogue,
  server: Server,
  idle: ReadonlyMap<string, readonly number[]>,
): AsyncGenerator<Figure> {
  const feed = scenario.feeds.length + 1;
  let ends = false;
  let position = '';
  // Files, since whoever makes bodies while it measures delays what it measures. Two in turn, so that each changes the
  // products of the other one; different ones in each run, as a data folder may be kept.
  const first = Date.now() % 2 ** 31;
  const bodies = [first, first + 1].map((seed) => join(bench.folder, `${scenario.name}-${seed}.json`));
  for (const [at, body] of bodies.entries()) await writeBody(body, 'json', bench.count, first + at);
  const load = async (): Promise<void> => {
    for (let at = 0; !ends; at += 1) position = await server.post(feed, 'json', bodies[at % 2] ?? '');
  };
  const loading = load();
  // Awaited below, where failures are raised.
  loading.catch(() => undefined);
  try {
    for (const [kind, wanted] of kindsOf(catalogue)) {
      const times = await new ComparedSearches(scenario, catalogue, wanted).requests(server, 1);
      const figure = `${scenario.name} ${kind}, loading`;
      const before = idle.get(kind) ?? [];
      yield { ...atMost(`${figure} p50`, quantile(times, 0.5), quantile(before, 0.5)), goal: null };
      yield atMost(`${figure} p99`, quantile(times, 0.99), SLOWDOWN * quantile(before, 0.99));
    }
  } finally {
    ends = true;
    await loading;
    // A later run with the same folder begins at rest.
    await server.shows(position);
  }
}

/** Searches of one kind. The answers are compared. */
class ComparedSearches {
  private readonly feedIds: readonly number[];
  /** What each finds, as texts. */
  private readonly expected: string[] = [];

  constructor(
    { feeds }: Scenario,
    private readonly catalogue: Catalogue,
    private readonly wanted: readonly CatalogueSearch[],
  ) {
    this.feedIds = feeds.map((_, at) => at + 1);
  }

  /** ms of the read model's query, and of the plain computation. */
  async calls({ store }: Engines, scan: CatalogueScan): Promise<[ours: number[], bare: number[]]> {
    const times: [ours: number[], bare: number[]] = [[], []];
    for (const wanted of this.wanted) {
      let found: FoundInCatalogue = { total: NaN, page: [] };
      times[1].push(await timed(() => (found = scan.run(wanted))));
      this.expected.push(this.textOf(found));
    }
    for (let at = 0; at < COUNTED + DIFFERENT; at += 1) {
      const wanted = this.wanted[at % DIFFERENT] ?? {};
      const criteria = { ...criteriaOf(wanted, this.catalogue), feedIds: this.feedIds };
      const search = wanted.isGrouped === true ? searchGroupedProducts : searchProducts;
      let found: FoundProducts | undefined;
      let counts: readonly (readonly number[])[] | undefined;
      const ms = await timed(async () => {
        const corrections = wanted.typed === undefined ? [] : await correctionsOf(store, criteria);
        found = await search(store, { ...criteria, corrections });
        if (wanted.hasFacets !== true) return;
        const facets = await countProducts(store, criteria, FACETS);
        counts = FACETS.names.map((name) => (facets.get(name) ?? []).map(({ count }) => count));
      });
      if (at >= DIFFERENT) times[0].push(ms);
      else if (found !== undefined) this.compare(at, await textOfOffers(found, counts));
    }
    return times;
  }

  /** ms of requests over some connections. */
  async requests(server: Server, connections: number): Promise<readonly number[]> {
    const times: number[] = [];
    let next = 0;
    const connection = async (): Promise<void> => {
      while (next < COUNTED + DIFFERENT) {
        const at = next;
        next += 1;
        const keys = keysOf(this.wanted[at % DIFFERENT] ?? {}, this.catalogue);
        const path = `/1.0/products.json;fid=${this.feedIds.join(',')};${keys}?token=${PUBLISHER_TOKEN}`;
        let answer = '';
        const ms = await timed(async () => (answer = await server.get(path)));
        if (at >= DIFFERENT) times.push(ms);
        this.compare(at % DIFFERENT, textOfAnswer(answer));
      }
    };
    await Promise.all(Array.from({ length: connections }, connection));
    return times;
  }

  private textOf({ total, page, counts }: FoundInCatalogue): string {
    return textOfPage(
      total,
      page.map((group) => group.map((product) => this.catalogue.nameOf(product))),
      counts,
    );
  }

  private compare(at: number, found: string): void {
    const expected = this.expected[at];
    if (expected === undefined || found === expected) return;
    const wanted = keysOf(this.wanted[at] ?? {}, this.catalogue);
    throw new Error(`${wanted}: found ${found}, expected ${expected}`);
  }
}

const FACETS: WantedFacets = { names: ['brand', 'category', 'priceRange'], priceBounds: PRICE_BOUNDS };

async function textOfOffers(
  { total, groups }: FoundProducts,
  counts?: readonly (readonly number[])[],
): Promise<string> {
  const page: (readonly string[])[] = [];
  for await (const batch of groups)
    for (const offers of batch) page.push(offers.map(({ sourceProductId }) => sourceProductId));
  return textOfPage(total, page, counts);
}

interface Answer {
  readonly productHeader: {
    readonly totalHits: number;
    readonly facets?: Readonly<Partial<Record<FacetName, readonly { readonly count: number }[]>>>;
  };
  readonly products: readonly { readonly offers: readonly { readonly sourceProductId: string }[] }[];
}

function textOfAnswer(text: string): string {
  const { productHeader, products: found } = JSON.parse(text) as Answer;
  const { totalHits, facets } = productHeader;
  return textOfPage(
    totalHits,
    found.map(({ offers }) => offers.map(({ sourceProductId }) => sourceProductId)),
    facets && FACETS.names.map((name) => (facets[name] ?? []).map(({ count }) => count)),
  );
}

function textOfPage(
  total: number,
  groups: readonly (readonly string[])[],
  counts: readonly (readonly number[])[] = [],
): string {
  const counted = counts.map((facet) => ` [${facet.join()}]`).join('');
  return `${total}: ${groups.map((names) => names.join('+')).join(' ')}${counted}`;
}

/** Fills a new data folder, which appears when it is complete. */
async function* build(
  dataDir: string,
  { name, feeds }: Scenario,
  catalogue: Catalogue,
): AsyncGenerator<Figure> {
  const unfinished = `${dataDir}.unfinished`;
  const { writing, finishing, memory, file } = await fill(
    unfinished,
    catalogue,
    networkFile(feeds.length + 1),
  );
  const most = MEMORY.building + MEMORY.cache + (MEMORY.million * catalogue.size) / 1e6;
  const rate = (catalogue.size / (writing + finishing)) * 1000;
  const figures: readonly Figure[] = [
    {
      figure: `${name} build`,
      measured: rate,
      limit: BUILD.rate,
      ratio: rate / BUILD.rate,
      goal: null,
      unit: 'products/s',
    },
    { ...atMost(`${name} finish`, finishing / 1000, (writing + finishing) / 1000), unit: 's', goal: null },
    { ...atMost(`${name} build memory`, Math.max(1, memory), most), unit: 'MB' },
    { ...atMost(`${name} index`, indexBytes(file) / catalogue.size, BUILD.bytes), unit: 'B/product' },
    {
      ...atMost(`${name} file`, (await stat(file)).size / catalogue.size, 2_000),
      unit: 'B/product',
      goal: null,
    },
  ];
  await rename(unfinished, dataDir);
  yield* figures;
}

function indexBytes(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true, returnArrays: true });
  const statement = database.prepare('SELECT sum(length(bytes) + length(name)) FROM blobs');
  const [bytes] = statement.get() as [number];
  database.close();
  return bytes;
}

function atMost(figure: string, measured: number, limit: number): Figure {
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit: 'ms' };
}
