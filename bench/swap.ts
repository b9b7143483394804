import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { products } from '../projections/products';
import { type StoredOffer } from '../src/domain/products/offer';
import { type Engines, openEngines } from '../src/engines/open';
import { EVERYTHING } from '../src/kernel/query';
import { type Write } from '../src/kernel/read-store';
import { directoryAt } from '../src/network/directory';
import { swapProjections } from '../src/operations/rebuild';
import { readNotes } from '../src/projector/notes';
import { ownStore } from './es-server';
import { type Bench, type Figure, quantile, timed } from './harness';
import { OTHER_PUBLISHER_TOKENS, PUBLISHER_TOKEN } from './network';
import { bodyOf } from './products';
import { ended, launch } from './program';
import { Server } from './server';

/** Events, with 100,000 as the count: a million. */
const TIMES = 10;
/** What most products are in, what is searched, and what is posted to. */
const [LARGE, SEARCHED, POSTED] = [1, 2, 3] as const;
/** Searches a second, and how many may be under way. */
const RATE = { perSecond: 100, atOnce: 16 } as const;
const ROLLBACKS = 10;
/**
 * Hundreds of searches before the rebuild: until engines and code are as fast as they get, and
 * then those that are measured.
 */
const BEFORE = { warm: 60, measured: 5 } as const;
/** With fewer, nothing is measured that needs to be warm. */
const WARM_COUNT = 10_000;
const POST_MS = 500;
/** Of a client that has no other search under way. */
const POSTED_SEARCH = `/1.0/products;fid=${POSTED};pageSize=1?token=${PUBLISHER_TOKEN}`;
const LOOK_MS = 100;
/** Errors of the estimated end are measured after this share of the whole time. */
const FIRST_TENTH = 0.1;
/** The brand of products in the generation that is replaced. */
const OLD = 'Old';

const LIMITS = { lag: 1_000, rollback: 1_000, estimate: 20 } as const;

/**
 * Rebuilds the read model of a million events by `affilog rebuild` beside a server that answers a hundred searches a
 * second and is posted to. Documents of the live generation are marked before, so each answer shows which generation it
 * is from; raises if any failed, or had parts of both. Then rolls back and forth.
 *
 * Measures how long a posted product took to be found, by how much of the whole time the estimated end was wrong after
 * the first tenth, and how long rollbacks took.
 */
export function swap(bench: Bench): AsyncGenerator<Figure> {
  return measured(bench, 'swap', 'sqlite:');
}

export function esSwap(bench: Bench): AsyncGenerator<Figure> {
  return measured(bench, 'es-swap', ownStore().url);
}

async function* measured(bench: Bench, name: string, readStore: string): AsyncGenerator<Figure> {
  const dataDir = join(bench.folder, name);
  const server = await Server.start(dataDir, 'api,projector', { READ_STORE: readStore });
  try {
    const searched = Math.ceil(bench.count / 5);
    await fillFeeds(server, bench.count * TIMES - searched, searched);
    const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore, threads: false });
    try {
      await markLive(engines);
      const load = new Load(server);
      const running = load.run();
      try {
        const warm = Math.ceil((BEFORE.warm * Math.min(bench.count, WARM_COUNT)) / WARM_COUNT);
        for (let at = 0; at < warm; at += 1) await load.answered();
        load.lags.length = 0;
        load.perSecond();
        for (let at = 0; at < BEFORE.measured; at += 1) await load.answered();
        yield {
          ...atMost(`${name} lag before`, quantile(load.lags.splice(0), 1), LIMITS.lag, 'ms'),
          goal: null,
        };
        yield searches(`${name} searches before`, load.perSecond());
        const wrong = await watched(engines, () => rebuiltBy(dataDir, readStore));
        yield atMost(`${name} lag`, quantile(load.lags, 1), LIMITS.lag, 'ms');
        yield searches(`${name} searches`, load.perSecond());
        yield atMost(`${name} estimate`, wrong, LIMITS.estimate, '%');
        const rollbacks: number[] = [];
        for (let at = 0; at < ROLLBACKS; at += 1) {
          rollbacks.push(await timed(() => swapProjections(engines, ['products'], 'kept')));
          await load.answered();
        }
        yield atMost(`${name} rollback`, quantile(rollbacks, 1), LIMITS.rollback, 'ms');
      } finally {
        load.stop();
        await running;
      }
      load.check();
      const left = (await engines.store.generations(products.collection.name)).map(({ state }) => state);
      if (left.sort().join() !== 'live,retired') throw new Error(`generations are left: ${left.join()}`);
    } finally {
      await engines.close();
    }
  } finally {
    await server.stop();
  }
}

function searches(figure: string, perSecond: number): Figure {
  const ratio = perSecond / RATE.perSecond;
  return { figure, measured: perSecond, limit: RATE.perSecond, ratio, goal: null, unit: 'searches/s' };
}

function atMost(figure: string, value: number, limit: number, unit: string): Figure {
  const measured = Math.max(value, 0.1);
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit };
}

async function fillFeeds(server: Server, large: number, searched: number): Promise<void> {
  await server.post(LARGE, 'json', Readable.from(bodyOf('json', large)));
  await server.shows(await server.post(SEARCHED, 'json', Readable.from(bodyOf('json', searched))));
}

/** Gives the products of a feed another brand, in the live generation only. */
async function markLive({ log, store }: Engines): Promise<void> {
  const target = { collection: products.collection.name };
  const directory = await directoryAt(log, await log.head());
  const wanted = { field: 'feedId', in: [SEARCHED] };
  for await (const found of store.scan(target, wanted)) {
    const writes = found.map(({ id, version, body }): Write => {
      const offer = JSON.parse(body) as StoredOffer;
      const marked = { ...offer, product: { ...offer.product, brand: OLD } };
      const { fields, document } = products.describe(marked, id, directory);
      return { version, put: { id, fields, body: JSON.stringify(document) } };
    });
    await store.write(target, writes);
  }
  await store.refresh(target);
  if ((await store.count(target, EVERYTHING)) === 0) throw new Error('there are no products');
}

/** `affilog rebuild`, whose progress is not shown. */
async function rebuiltBy(dataDir: string, readStore: string): Promise<void> {
  const args = ['rebuild', products.collection.name, '--force'];
  const child = launch(dataDir, args, { READ_STORE: readStore }, ['ignore', 'ignore', 'pipe']);
  child.stderr?.resume();
  await ended(child);
}

/** Percent of its whole time by which the estimated end of a rebuild was wrong at most after the first tenth. */
async function watched({ store }: Engines, rebuild: () => Promise<void>): Promise<number> {
  const { name } = products.collection;
  const seen = new Map<string, { readonly at: number; readonly end: number }>();
  const ending = new AbortController();
  const looking = (async () => {
    while (!ending.signal.aborted) {
      const note = (await readNotes(store, 'rebuild', [name])).get(name);
      // Until an end is expected, that is now.
      if (note !== undefined)
        seen.set(note.at, { at: Date.parse(note.at), end: Date.parse(note.end ?? note.at) });
      await pause(LOOK_MS);
    }
  })();
  await rebuild().finally(() => ending.abort());
  const over = Date.now();
  await looking;
  const notes = [...seen.values()];
  const began = notes[0]?.at ?? over;
  const whole = over - began;
  const late = notes.filter(({ at }) => at - began >= FIRST_TENTH * whole);
  return Math.max(0, ...late.map(({ end }) => (100 * Math.abs(end - over)) / whole));
}

interface Found {
  readonly productHeader: {
    readonly totalHits: number;
    readonly facets?: { readonly brand: readonly { readonly value: string }[] };
  };
  readonly products: readonly { readonly brand: string }[];
}

/** Small pages, facets, groups, and pages that are read in parts. */
const SEARCHES: readonly string[] = [
  'pageSize=20',
  'pageSize=20;orderBy=priceAsc;facets=brand',
  'pageSize=20;groupOffersByProduct=true;facets=brand',
  'pageSize=20;page=5',
  'pageSize=200;facets=brand',
  'pageSize=50;suggest=a;facets=brand',
];
/** One in so many is a page that is read in parts. */
const RARE = 100;
const LARGE_PAGE = 'pageSize=8000;facets=brand';

/** Searches and posts, until it is stopped. */
class Load {
  /** How long posted products took to be found (ms). */
  readonly lags: number[] = [];
  private asked = 0;
  private readonly underWay = new Set<Promise<void>>();
  private readonly faults: string[] = [];
  private readonly began = performance.now();
  private done = 0;
  private counted = { at: performance.now(), done: 0 };
  private readonly seen = new Set<string>();
  private total: number | undefined;
  private isOver = false;

  constructor(private readonly server: Server) {}

  async run(): Promise<void> {
    const posting = this.post();
    while (!this.isOver) {
      const due = ((performance.now() - this.began) * RATE.perSecond) / 1000;
      if (this.asked < due && this.underWay.size < RATE.atOnce) this.begin();
      else await pause(1000 / RATE.perSecond);
      if (this.asked < due - RATE.perSecond) this.asked = Math.floor(due - RATE.perSecond);
    }
    await Promise.all([posting, ...this.underWay]);
  }

  stop(): void {
    this.isOver = true;
  }

  /** Resolves once searches that begin now have been answered. */
  async answered(): Promise<void> {
    const until = this.done + RATE.perSecond;
    while (this.done < until) await pause(LOOK_MS);
  }

  /** Searches answered a second since the last call. */
  perSecond(): number {
    const { at, done } = this.counted;
    this.counted = { at: performance.now(), done: this.done };
    return (1000 * (this.done - done)) / (this.counted.at - at);
  }

  /** Raises if an answer failed or was mixed, or if no swap was seen. */
  check(): void {
    if (this.faults.length > 0)
      throw new Error(
        `${this.faults.length} of ${this.done} answers failed or were mixed: ${this.faults[0]}`,
      );
    if (this.seen.size !== 2) throw new Error('no swap was seen');
  }

  private begin(): void {
    const kind = this.asked % RARE === 0 ? LARGE_PAGE : (SEARCHES[this.asked % SEARCHES.length] ?? '');
    this.asked += 1;
    const asking = this.ask(kind)
      .catch((error: unknown) => void this.faults.push(String(error)))
      .finally(() => {
        this.done += 1;
        this.underWay.delete(asking);
      });
    this.underWay.add(asking);
  }

  private async ask(keys: string): Promise<void> {
    const token = OTHER_PUBLISHER_TOKENS[this.asked % OTHER_PUBLISHER_TOKENS.length];
    const text = await this.server.get(`/1.0/products.json;fid=${SEARCHED};${keys}?token=${token}`);
    const { productHeader, products: page } = JSON.parse(text) as Found;
    const brands = [
      ...page.map(({ brand }) => brand),
      ...(productHeader.facets?.brand ?? []).map(({ value }) => value),
    ];
    const marks = new Set(brands.map((brand) => (brand.toLowerCase() === OLD.toLowerCase() ? 'old' : 'new')));
    const [mark] = marks;
    if (marks.size !== 1) throw new Error(`${keys}: ${[...marks].join(' and ')}`);
    this.seen.add(String(mark));
    if (keys !== SEARCHES[0]) return;
    this.total ??= productHeader.totalHits;
    if (productHeader.totalHits !== this.total || page.length === 0)
      throw new Error(`${keys}: ${productHeader.totalHits} products, expected ${this.total}`);
  }

  private async post(): Promise<void> {
    for (let seed = 1; !this.isOver; seed += 1) {
      const body = [...bodyOf('json', 1, seed)].join('');
      this.lags.push(
        await timed(async () =>
          this.server.shows(await this.server.post(POSTED, 'json', Readable.from([body])), POSTED_SEARCH),
        ),
      );
      await pause(POST_MS);
    }
  }
}
