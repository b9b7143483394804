import { Client, type estypes } from '@elastic/elasticsearch';
import { type Position, START } from '../../kernel/event';
import { type Lease } from '../../kernel/leases';
import {
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  oneAnswer,
  type QueryOptions,
  type Results,
  type Search,
  type Totals,
  type TotalsSearch,
  type ValueCount,
  type ValuesSearch,
} from '../../kernel/query';
import {
  type CollectionSpec,
  type Generation,
  pinned,
  ReadStore,
  type SnapshotBatch,
  type Target,
  targetOf,
  type Write,
} from '../../kernel/read-store';
import { type Clock, SYSTEM_CLOCK } from '../../runtime/clock';
import { UnusableUrl } from '../../runtime/unavailable';
import { Catalogue } from './catalogue';
import { ElasticConnection, failureOf, type IndexContext, type Notices, type RetryTimes } from './connection';
import { Checkpoints, Control, writeBatch } from './control';
import { countGroups, groupPages, searchGroups } from './groups';
import { foundOf, ID, type IndexLayout, type IndexTarget, nameOf, Names } from './layout';
import { nextPageSize, queryOf, Snapshot, type SnapshotPage } from './query';
import { search } from './search';
import { countValues, totals } from './values';
import { defined, without } from '../../kernel/values';

export interface ElasticsearchOptions {
  /** Used instead of a user and password: the encoded form, as issued by the server. */
  readonly apiKey?: string;
  /** By default 1 s, 4 s and 2 minutes. */
  readonly retryMs?: Partial<RetryTimes>;
  /** Time-out (ms) of one request, by default 10,000. */
  readonly timeoutMs?: number;
  /** Without them, failures that are retried are not reported. */
  readonly notices?: Notices;
  readonly clock?: Clock;
}

/** The default prefix of index names. */
const PREFIX = 'affilog';
const RETRY_MS: RetryTimes = { read: 1_000, write: 4_000, fill: 120_000 };
const TIMEOUT_MS = 10_000;

/**
 * Opens a read store in Elasticsearch 8.19 or 9: `https://user:password@host:9200/prefix`. The names of all its indices
 * start with the prefix, so that several stores can share a cluster. Sends no request: the server may be started later.
 * Raises `UnusableUrl`.
 */
export function openElasticsearch(url: string, options: ElasticsearchOptions = {}): ReadStore {
  const { node, prefix, username, password } = addressOf(url);
  const { apiKey, retryMs, timeoutMs = TIMEOUT_MS, notices, clock = SYSTEM_CLOCK } = options;
  const auth = apiKey !== undefined ? { apiKey } : username !== '' ? { username, password } : undefined;
  const client = new Client(
    defined({ node, auth, maxRetries: 0, requestTimeout: timeoutMs, agent: { connections: 32 } }),
  );
  const connection = new ElasticConnection(client, { ...RETRY_MS, ...retryMs }, notices);
  const names = new Names(prefix);
  const control = new Control(connection, names.control, clock);
  return new ElasticsearchStore(connection, names, control, new Catalogue(connection, names, control, clock));
}

function addressOf(text: string): { node: string; prefix: string; username: string; password: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UnusableUrl('the URL is malformed; expected http://… or https://…');
  const prefix = url.pathname.replace(/^\/|\/$/g, '') || PREFIX;
  if (!/^[a-z0-9][a-z0-9_-]{0,99}$/.test(prefix))
    throw new UnusableUrl(
      `"${prefix}" in the URL is not a valid index prefix; expected up to 100 lower-case letters, digits, "-" and "_"`,
    );
  return {
    node: url.origin,
    prefix,
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

/** How a target is accessed: by default it is read, over the connection of the store. */
interface TargetAccess {
  readonly kind?: 'read' | 'write';
  readonly mustBeFinished?: boolean;
  readonly connection?: ElasticConnection;
}

const FINISHED: TargetAccess = { mustBeFinished: true };

/** A read store in Elasticsearch. Each generation is an index. */
class ElasticsearchStore extends ReadStore {
  private readonly checkpoints: Checkpoints;

  constructor(
    private readonly connection: ElasticConnection,
    private readonly names: Names,
    private readonly control: Control,
    private readonly catalogue: Catalogue,
  ) {
    super();
    this.checkpoints = new Checkpoints(connection);
  }

  async create(spec: CollectionSpec): Promise<Generation> {
    return await this.catalogue.create(spec);
  }

  async finish(generation: Generation): Promise<void> {
    await this.at(targetOf(generation), () => this.catalogue.finish(generation));
  }

  async swap(generation: Generation): Promise<void> {
    await this.at(targetOf(generation), () => this.catalogue.swap(generation));
  }

  async retire(generation: Generation): Promise<void> {
    await this.catalogue.retire(generation);
  }

  async drop(generation: Generation): Promise<void> {
    await this.catalogue.drop(generation);
  }

  async sweep(): Promise<void> {
    await this.catalogue.sweep();
  }

  async generations(...collections: readonly string[]): Promise<readonly Generation[]> {
    return await this.catalogue.list(...collections);
  }

  async size(generation: Generation): Promise<number> {
    return await this.catalogue.size(generation);
  }

  async write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void> {
    const writing = async (context: IndexContext): Promise<void> => {
      if (writes.length > 0) this.checkpoints.writesDocuments(context);
      await writeBatch(context, writes);
      // In a request of its own: in one with documents, it could be stored although one of them is not.
      if (checkpoint !== undefined) await this.checkpoints.write(context, checkpoint, writes.length === 0);
    };
    await this.at(target, writing, { kind: 'write' });
  }

  async checkpoint(target: Target): Promise<Position> {
    return await this.at(target, async (context) => (await this.checkpoints.of(context)) ?? START);
  }

  async refresh(target: Target, upTo?: Position): Promise<void> {
    await this.at(target, (context) => this.checkpoints.refresh(context, upTo));
  }

  async get(target: Target, ids: readonly string[], options: QueryOptions = {}): Promise<readonly Found[]> {
    return await this.query(target, without(oneAnswer(options), 'spent'), (context) =>
      get(context, ids, options.bodyLimit),
    );
  }

  async removals(target: Target, ids: readonly string[]): Promise<ReadonlyMap<string, Position>> {
    return await this.at(target, (context) => removals(context, ids));
  }

  async search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    const work = (context: IndexContext): Promise<Results> => search(context, wanted, options.bodyLimit);
    return await this.query(target, options, work, FINISHED);
  }

  async searchGroups(target: Target, wanted: GroupSearch, options: QueryOptions = {}): Promise<GroupResults> {
    const work = (context: IndexContext): Promise<GroupResults> =>
      searchGroups(context, wanted, options.bodyLimit);
    return await this.query(target, options, work, FINISHED);
  }

  async count(target: Target, filter: Filter): Promise<number> {
    const counting = async ({ alias, layout, ask }: IndexContext): Promise<number> => {
      const query = queryOf(filter, layout);
      return (await ask((client, options) => client.count({ index: alias, query }, options))).count;
    };
    return await this.at(target, counting, FINISHED);
  }

  async countGroups(target: Target, wanted: GroupCount, options: QueryOptions = {}): Promise<GroupCounts> {
    const work = (context: IndexContext): Promise<GroupCounts> => countGroups(context, wanted);
    return await this.query(target, oneAnswer(options), work, FINISHED);
  }

  async totals(target: Target, wanted: TotalsSearch, options: QueryOptions = {}): Promise<readonly Totals[]> {
    return await this.query(target, oneAnswer(options), (context) => totals(context, wanted), FINISHED);
  }

  async countValues(
    target: Target,
    wanted: ValuesSearch,
    options: QueryOptions = {},
  ): Promise<readonly (readonly ValueCount[])[]> {
    return await this.query(target, oneAnswer(options), (context) => countValues(context, wanted), FINISHED);
  }

  async *snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncGenerator<SnapshotBatch> {
    yield* this.read(target, { filter, samplesOf });
  }

  async *scan(target: Target, filter: Filter, after?: string): AsyncGenerator<readonly Found[]> {
    for await (const { found } of this.read(target, { filter, after })) if (found.length > 0) yield found;
  }

  private async *read(asked: Target, wanted: ScanReading): AsyncGenerator<SnapshotBatch> {
    const target = await this.pinned(asked, oneAnswer(), this.connection);
    // In this order, so that the snapshot includes everything up to the checkpoint.
    const checkpoint = await this.checkpoint(target);
    await this.refresh(target);
    const opening = async (context: IndexContext) => ({
      snapshot: await Snapshot.open(context),
      layout: context.layout,
    });
    const { snapshot, layout } = await this.at(target, opening, FINISHED);
    try {
      yield* scan(snapshot, wanted, layout, checkpoint);
    } finally {
      await snapshot.close();
    }
  }

  async lease(name: string, owner: string, now: () => number, ttl: number): Promise<Lease | undefined> {
    return await this.control.lease(name, owner, now, ttl);
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    return await this.control.holder(name, now, ttl);
  }

  async release(lease: Lease): Promise<void> {
    await this.control.release(lease);
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Like `at`, within the limits of a query. */
  private async query<Result>(
    target: Target,
    options: QueryOptions,
    work: (context: IndexContext) => Promise<Result>,
    access: TargetAccess = {},
  ): Promise<Result> {
    return await this.connection.query(options, async (connection) =>
      this.at(await this.pinned(target, options, connection), work, { ...access, connection }),
    );
  }

  /**
   * The generation that a query reads (`QueryOptions.generations`), by the name of its index, which is there for a
   * while after it is dropped.
   */
  private async pinned(
    target: Target,
    options: QueryOptions,
    connection: ElasticConnection,
  ): Promise<IndexTarget> {
    const { collection } = target;
    const { generations } = options;
    if (generations === undefined || target.generation !== undefined) return target;
    const live = generations.has(collection) ? 0 : await this.catalogue.live(collection, connection);
    // A query at the same time may have been faster.
    return { ...pinned(target, options, () => live), byIndex: true };
  }

  /** Runs `work` on a target. Requests that fill a generation are retried for longest: a failed rebuild restarts. */
  private async at<Result>(
    target: IndexTarget,
    work: (context: IndexContext) => Promise<Result>,
    { kind = 'read', mustBeFinished = false, connection = this.connection }: TargetAccess = {},
  ): Promise<Result> {
    const { layout, isFinished } = await this.catalogue.find(target, connection);
    if (mustBeFinished && !isFinished)
      throw new Error('the generation is not finished: finish it before searching it');
    const alias = this.names.of(target);
    try {
      const retryMs = connection.retryMs[isFinished ? kind : 'fill'];
      const ask: IndexContext['ask'] = (request) => connection.ask(request, retryMs);
      return await work({ connection, alias, layout, retryMs, ask });
    } catch (error) {
      throw this.catalogue.translate(target, error);
    }
  }
}

/** Documents per request, with and without a body limit. */
const BATCH_SIZE = { limited: 100, unlimited: 1_000 } as const;

/** The existing documents with these ids. Sees writes that are not refreshed yet. */
async function get(
  context: IndexContext,
  ids: readonly string[],
  bodyLimit?: number,
): Promise<readonly Found[]> {
  const names = [...new Set(ids.map(nameOf))];
  const size = bodyLimit === undefined ? BATCH_SIZE.unlimited : BATCH_SIZE.limited;
  const found: Found[] = [];
  let characters = 0;
  for (let from = 0; from < names.length && characters < (bodyLimit ?? Infinity); from += size) {
    const stored = await entries(context, names.slice(from, from + size), 'docs._source');
    const some = stored.flatMap(({ _source: one }) => (one !== undefined && 'id' in one ? foundOf(one) : []));
    found.push(...some);
    for (const { body } of some) characters += body.length;
  }
  return found;
}

/** The versions of the removals of these ids. */
async function removals(
  context: IndexContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Position>> {
  const names = new Map(ids.map((id) => [nameOf(id), id]));
  const all = [...names.keys()];
  const found = new Map<string, Position>();
  for (let from = 0; from < all.length; from += BATCH_SIZE.unlimited) {
    const some = all.slice(from, from + BATCH_SIZE.unlimited);
    const fields = ['docs._id', 'docs._source.id', 'docs._source.version'];
    for (const { _id: name, _source: one } of await entries(context, some, ...fields))
      if (one !== undefined && !('id' in one)) found.set(names.get(name) ?? '', one.version);
  }
  return found;
}

/** The entries with these names, or some fields of each: documents, and for removed documents just the version. */
async function entries(
  { alias, ask }: IndexContext,
  names: readonly string[],
  ...fields: readonly string[]
): Promise<readonly estypes.GetGetResult<Found | Pick<Found, 'version'>>[]> {
  const request = { index: alias, ids: [...names], filter_path: [...fields, 'docs.error'] };
  return await ask(async (client, options) => {
    const { docs } = await client.mget<Found | Pick<Found, 'version'>>(request, options);
    // The server omits an empty list.
    return ((docs as typeof docs | undefined) ?? []).map((entry) => {
      if ('error' in entry) throw failureOf({ status: 500, type: entry.error.type, reason: '' });
      return entry;
    });
  });
}

interface ScanReading {
  readonly filter: Filter;
  readonly samplesOf?: string | undefined;
  /** Only documents with greater ids. */
  readonly after?: string | undefined;
}

/** The matching documents of a snapshot by id, after samples per value of a field and an empty batch. */
async function* scan(
  snapshot: Snapshot,
  { filter, samplesOf, after }: ScanReading,
  layout: IndexLayout,
  checkpoint: Position,
): AsyncGenerator<SnapshotBatch> {
  const all = queryOf(filter, layout);
  const query = after === undefined ? all : { bool: { filter: [all, { range: { [ID]: { gt: after } } }] } };
  const total = await snapshot.count(query);
  if (samplesOf !== undefined)
    for await (const groups of groupPages(
      (request) => snapshot.search(request),
      { filter, groupBy: samplesOf },
      layout,
    ))
      yield { found: [], samples: groups.map(({ one }) => one), total, checkpoint };
  yield { found: [], total, checkpoint };
  const request: SnapshotPage = { query, sort: { [ID]: 'asc' }, size: nextPageSize([]) };
  const pages = snapshot.pages<Found>(request, (hits) =>
    nextPageSize(hits.map(({ _source }) => _source?.body ?? '')),
  );
  for await (const hits of pages)
    yield { found: hits.flatMap(({ _source }) => foundOf(_source)), total, checkpoint };
}
