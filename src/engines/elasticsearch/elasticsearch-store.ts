import { type Position, START } from '../../kernel/event';
import {
  type Filter,
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  type QueryOptions,
  type Results,
  type Search,
  type Totals,
  type TotalsSearch,
} from '../../kernel/query';
import { type Lease } from '../../kernel/leases';
import {
  type CollectionSpec,
  type Generation,
  ReadStore,
  type SnapshotBatch,
  type Target,
  targetOf,
  type Write,
} from '../../kernel/read-store';
import { type Catalogue } from './catalogue';
import { Checkpoints } from './checkpoints';
import { type Connection, type IndexContext } from './connection';
import { type Control } from './control';
import { countGroups } from './count-groups';
import { get } from './get';
import { searchGroups } from './groups';
import { type Names } from './names';
import { queryOf } from './query';
import { scan } from './scan';
import { search } from './search';
import { Snapshot } from './snapshot';
import { totals } from './totals';
import { writeBatch } from './writer';

/** A read store in Elasticsearch. Each generation is an index. */
export class ElasticsearchStore extends ReadStore {
  private readonly checkpoints: Checkpoints;

  constructor(
    private readonly connection: Connection,
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

  async generations(collection: string): Promise<readonly Generation[]> {
    return await this.catalogue.list(collection);
  }

  async write(target: Target, writes: readonly Write[], checkpoint?: Position): Promise<void> {
    await this.at(target, (context) => writeBatch(context, writes, checkpoint), 'write');
  }

  async checkpoint(target: Target): Promise<Position> {
    return await this.at(target, async (context) => (await this.checkpoints.of(context)) ?? START);
  }

  async refresh(target: Target): Promise<void> {
    await this.at(target, ({ alias, retryMs }) =>
      this.connection.ask((client, options) => client.indices.refresh({ index: alias }, options), retryMs),
    );
  }

  async get(target: Target, ids: readonly string[], options: QueryOptions = {}): Promise<readonly Found[]> {
    return await this.query(target, options, (context) => get(context, ids, options.bodyLimit));
  }

  async search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    return await this.query(target, options, async (context) => {
      await this.requireFinished(target);
      return await search(context, wanted, options.bodyLimit);
    });
  }

  async searchGroups(target: Target, wanted: GroupSearch, options: QueryOptions = {}): Promise<GroupResults> {
    return await this.query(target, options, async (context) => {
      await this.requireFinished(target);
      return await searchGroups(context, wanted, options.bodyLimit);
    });
  }

  async count(target: Target, filter: Filter): Promise<number> {
    return await this.atFinished(target, async ({ alias, layout, retryMs }) => {
      const query = queryOf(filter, layout);
      const { count } = await this.connection.ask(
        (client, options) => client.count({ index: alias, query }, options),
        retryMs,
      );
      return count;
    });
  }

  async countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts> {
    return await this.atFinished(target, (context) => countGroups(context, wanted));
  }

  async totals(target: Target, wanted: TotalsSearch, options: QueryOptions = {}): Promise<readonly Totals[]> {
    return await this.query(target, options, async (context) => {
      await this.requireFinished(target);
      return await totals(context, wanted);
    });
  }

  async *snapshot(target: Target, filter: Filter, samplesOf?: string): AsyncGenerator<SnapshotBatch> {
    // In this order, so that the snapshot includes everything up to the checkpoint.
    const checkpoint = await this.checkpoint(target);
    await this.refresh(target);
    const { snapshot, layout } = await this.atFinished(target, async ({ alias, layout, retryMs }) => ({
      snapshot: await Snapshot.open(this.connection, alias, retryMs),
      layout,
    }));
    try {
      yield* scan(snapshot, filter, layout, checkpoint, samplesOf);
    } finally {
      await snapshot.close();
    }
  }

  async lease(name: string, owner: string, now: number, ttl: number): Promise<Lease | undefined> {
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
  ): Promise<Result> {
    return await this.connection.query(options, (connection) =>
      this.at(target, (context) => work({ ...context, connection })),
    );
  }

  /** Like `at`, but requires a finished generation. */
  private async atFinished<Result>(
    target: Target,
    work: (context: IndexContext) => Promise<Result>,
  ): Promise<Result> {
    return await this.at(target, async (context) => {
      await this.requireFinished(target);
      return await work(context);
    });
  }

  private async requireFinished(target: Target): Promise<void> {
    const { isFinished } = await this.catalogue.find(target);
    if (!isFinished) throw new Error('the generation is not finished: finish it before searching it');
  }

  /** Runs `work` on a target. Requests that fill a generation are retried for longest, as a failed rebuild has to restart. */
  private async at<Result>(
    target: Target,
    work: (context: IndexContext) => Promise<Result>,
    kind: 'read' | 'write' = 'read',
  ): Promise<Result> {
    const { layout, isFinished } = await this.catalogue.find(target);
    const { connection } = this;
    const alias = this.names.of(target);
    try {
      const retryMs = connection.retryMs[isFinished ? kind : 'fill'];
      return await work({ connection, alias, layout, retryMs });
    } catch (error) {
      throw this.catalogue.translate(target, error);
    }
  }
}
