import { DownloadFailed, type Downloads } from '../../../src/delivery/sending/download';
import { productFaults } from '../../../src/domain/products/feed';
import { BodyBudgets } from '../../../src/http/posted-body';
import { SourceFetcher } from '../../../src/services/products/source-fetcher';
import { FeedSources, type SourceVerb } from '../../../src/services/products/sources';
import { type Posted } from '../../support/feed-model';
import { type Clients, type Command } from '../clients';
import { type ApiParts } from '../host';
import { Random } from '../random';
import { type Process, type Simulation } from '../simulation';
import { type Feed, FEEDS } from './network-file';
import { bodyOf, drawnProducts, loadFeed, noting, shared } from './products';

/** More than a plan has. */
const STEPS = 200;

/** The servers of shops, from which the system fetches feeds by itself. They answer, fail, hang, or change a file. */
export class Shops {
  private readonly files = new Map<string, readonly Posted[]>();
  private readonly random: Random;
  private changes = 0;
  isCalm = false;

  constructor(
    private readonly simulation: Simulation,
    seed: string,
    private readonly clients: Clients,
  ) {
    this.random = new Random(`${seed} shops`);
  }

  /** Fetches what is due, in a process. */
  fetcherIn(process: Process, parts: ApiParts, report: (failure: unknown) => void): SourceFetcher {
    const { clock, engines, follower, book } = parts;
    const { log, store, leases } = engines;
    const fetched = new Map<number, readonly Posted[]>();
    const { loader } = shared(parts);
    const known = noting(loader, (loadId, { feedId }) => {
      const [feed, posted] = [FEEDS.find(({ id }) => id === feedId)!, fetched.get(feedId) ?? []];
      this.clients.note(loadFeed, { feed, mode: ';mode=replace', posted, loads: [loadId] });
    });
    const get: Downloads['get'] = async (url, { etag }, signal) => {
      await this.simulation.pause(this.random.time(1, 5_000), process);
      const fate = this.isCalm
        ? 'answers'
        : this.random.weighted({ answers: 6, fails: 1, hangs: 1, changes: 2 });
      if (fate === 'fails') throw new DownloadFailed('it answers 503');
      if (fate === 'hangs') {
        await clock.pause(PATIENCE_MS, signal).catch(() => undefined);
        throw new DownloadFailed('it does not answer', signal.aborted);
      }
      if (fate === 'changes' || !this.files.has(url)) {
        this.changes += 1;
        this.files.set(url, drawnProducts(this.random, this.clients, STEPS + this.changes));
      }
      const file = this.files.get(url) ?? [];
      const now = JSON.stringify(file);
      if (etag === now) return { is: 'unchanged' };
      fetched.set(Number(new URL(url).pathname.slice(1)), file);
      const bytes = async function* () {
        yield bodyOf(file);
      };
      return { is: 'file', bytes: bytes(), type: 'application/json', etag: now };
    };
    return new SourceFetcher({
      ...{ clock, log, store, leases, follower, book, report, loader: known, downloads: { get } },
      ...{ most: 1_000_000, budgets: new BodyBudgets({ memory: 100_000_000, space: 100_000_000 }) },
    });
  }
}

/** How long a server is waited for (ms). */
const PATIENCE_MS = 30_000;

const sources = ({ clock, engines: { log, store }, book }: ApiParts) =>
  new FeedSources({ clock, log, store, book, addressProblem: () => undefined });

const faults = { notThere: productFaults.illegalValue, notHeld: productFaults.illegalValue };

interface Asked {
  readonly feed: Feed;
  readonly verb: SourceVerb | 'set';
  readonly minutes: number;
}

const streamOf = ({ feed }: Asked): string => `feedsource-${feed.id}`;

/** The source of a feed is set or removed, fetched at once, or accepted although it removes most products. */
export const askSource: Command<Asked> = {
  name: 'ask of a source',
  weight: 3,
  draw: (random) => ({
    feed: random.pick(FEEDS),
    verb: random.weighted({ set: 3, request: 3, accept: 2, remove: 1 }),
    minutes: random.pick([15, 60, 1_440]),
  }),
  run: (api, { feed: { id: feedId }, verb, minutes }) =>
    verb === 'set'
      ? api.of(sources).set({ feedId, url: `https://shop.example/${feedId}`, minutes })
      : api.of(sources).ask(feedId, verb, faults),
  stream: streamOf,
  asksFor: {
    SourceSet: ({ verb, minutes }, { data }) => verb === 'set' && data.minutes === minutes,
    SourceFetchRequested: ({ verb }) => verb === 'request',
    SourceShrinkAccepted: ({ verb }) => verb === 'accept',
    SourceRemoved: ({ verb }) => verb === 'remove',
  },
  happensIn: (what) => (what.verb === 'set' ? [streamOf(what)] : []),
  isNew: () => false,
};
