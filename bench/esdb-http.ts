import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { CLAIM } from '../src/domain/claims/claim';
import { FEED } from '../src/domain/products/feed';
import { TRANSACTION } from '../src/domain/transactions/transaction';
import { VOUCHER } from '../src/domain/vouchers/voucher';
import { inParallel } from '../src/runtime/concurrency';
import { BareClient, toProposed } from './bare/esdb-client';
import { type EventTexts, streamsIn } from './bare/log';
import { postedClaim } from './claims-create';
import { startEsdbServer } from './esdb-server';
import { type Bench, compareRates, type Figure } from './harness';
import { CLAIM_TOKENS, CONVERSION_TOKENS, networkFile, VOUCHER_TOKENS } from './network';
import { bodyOf } from './products';
import { Server } from './server';
import { postedTransaction } from './transactions';
import { postedVoucher } from './voucher-posts';

/** Callers, and the ratio to be reached with so many. */
const CALLERS = { 1: null, 8: null, 64: 0.6 } as const;
/** Products of a post, and events of an append. */
const [PRODUCTS, BATCH] = [500, 499] as const;
/** Rounds of a number of callers. */
const ROUNDS = 3;

/** Something that is posted, each in streams of its own. */
interface Kind {
  /** Posts for each so many of the count. */
  readonly share: number;
  /** Categories of the streams that a post appends to, once each. */
  readonly streams: readonly string[];
  readonly post: (server: Server, number: number) => Promise<unknown>;
}

const KINDS = {
  claims: {
    share: 100,
    streams: ['claimkey', CLAIM],
    post: (server: Server, number: number) =>
      server.postJson(`/1.0/claims?token=${CLAIM_TOKENS.publisher}`, {
        claims: [postedClaim(`C${number}`, number)],
      }),
  },
  vouchers: {
    share: 100,
    streams: ['voucherkey', VOUCHER],
    post: (server: Server, number: number) =>
      server.postJson(
        `/1.0/vouchers?token=${VOUCHER_TOKENS.advertiser}`,
        postedVoucher(number, `voucher ${number}`),
      ),
  },
  transactions: {
    share: 100,
    streams: [TRANSACTION],
    post: (server: Server, number: number) =>
      server.postJson(
        `/1.0/conversions/transactions?token=${CONVERSION_TOKENS.advertiser}`,
        postedTransaction(`T${number}`, number),
      ),
  },
  products: {
    share: 2_000,
    streams: [FEED],
    post: (server: Server, number: number) =>
      server.post(number, 'json', Readable.from(bodyOf('json', PRODUCTS, number))),
  },
} satisfies Readonly<Record<string, Kind>>;

/**
 * Posts to a server whose log is our own EventStoreDB server, over an embedded log in a thread of this process: claims,
 * vouchers and transactions one by one, and 500 products into a feed of each post.
 *
 * Ours: over HTTP, with a number of callers; each post is found when it is answered. Bare: the official client
 * alone appends the same events to as many new streams with as many callers; a caller appends to the streams of a
 * post one after the other.
 */
export async function* esdbHttp(bench: Bench): AsyncGenerator<Figure> {
  const countOf = (share: number, callers: number): number =>
    Math.max(callers, Math.ceil((bench.count * Math.min(callers, 8)) / 8 / share));
  const feeds = Object.keys(CALLERS).reduce(
    (sum, callers) => sum + ROUNDS * countOf(KINDS.products.share, Number(callers)),
    0,
  );
  const file = join(bench.folder, 'esdb-http.sqlite');
  const esdb = await startEsdbServer(file);
  const settings = { EVENT_LOG: esdb.url };
  const server = await Server.start(
    join(bench.folder, 'esdb-http'),
    'api,projector',
    settings,
    networkFile(feeds, 0),
  );
  const bare = new BareClient(esdb.url);
  try {
    for (const [name, kind] of Object.entries(KINDS)) {
      let posted = 0;
      for (const [text, goal] of Object.entries(CALLERS)) {
        const callers = Number(text);
        const count = countOf(kind.share, callers);
        const figure = await compareRates(
          { figure: `esdb-http ${name}, ${callers} at once`, goal, count, rounds: ROUNDS },
          async () => {
            const numbers = Array.from({ length: count }, () => (posted += 1));
            const start = performance.now();
            await inParallel(numbers, callers, async (number) => {
              await kind.post(server, number);
            });
            return performance.now() - start;
          },
          async () => {
            const appended = appendsOf(file, kind, count);
            const start = performance.now();
            await inParallel(appended, callers, async (streams) => {
              for (const batches of streams) await bare.append(`bare-${randomUUID()}`, batches);
            });
            return performance.now() - start;
          },
        );
        yield { ...figure, unit: 'posts/s' };
      }
    }
  } finally {
    await bare.close();
    await server.stop();
    await esdb.stop();
  }
}

type Appends = Parameters<BareClient['append']>[1];

/** What each of the last posts has appended: the batches of each of its streams, with new ids. */
function appendsOf(file: string, { streams }: Kind, count: number): readonly (readonly Appends[])[] {
  const found = streams.map((category) => {
    const appended = [...streamsIn(file, category).values()].slice(-count);
    if (appended.length !== count) throw new Error(`${appended.length} of ${count} have a ${category}`);
    return appended.map(batchesOf);
  });
  return Array.from({ length: count }, (_, at) => found.map((own) => own[at] ?? []));
}

function batchesOf(events: readonly EventTexts[]): Appends {
  const proposed = toProposed(events.map(([, type, data, meta]) => ({ id: randomUUID(), type, data, meta })));
  return Array.from({ length: Math.ceil(proposed.length / BATCH) }, (_, at) =>
    proposed.slice(at * BATCH, (at + 1) * BATCH),
  );
}
