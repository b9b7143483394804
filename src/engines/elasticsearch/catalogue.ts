import { type estypes } from '@elastic/elasticsearch';
import { type Clock } from '../../runtime/clock';
import { type CollectionSpec, type Generation, NoGeneration } from '../../kernel/read-store';
import { type ElasticConnection, NoSuchIndex, type Request } from './connection';
import { type Control } from './control';
import { IndexLayout, type IndexTarget, type Names, NO_REFRESH } from './layout';

interface TargetState {
  readonly layout: IndexLayout;
  readonly isFinished: boolean;
}

/** The parts of an index's description that are read. */
const FILTER_PATH = ['*.aliases', '*.mappings._meta.spec', '*.settings.index.refresh_interval'];

/** How long (ms) a dropped index is retained for queries in progress. */
const GRACE_MS = 10 * 60_000;
/** How long (ms) the layout of the live generation is cached. Requests use the alias, so they reach the live one. */
const STALE_MS = 1_000;

/**
 * Manages generations: each is an index, whose aliases record its state. One request changes all aliases of a
 * collection atomically, so nobody ever sees two live generations, or none.
 */
export class Catalogue {
  private readonly cache = new Map<string, TargetState & { readonly until: number }>();

  constructor(
    private readonly connection: ElasticConnection,
    private readonly names: Names,
    private readonly control: Control,
    private readonly clock: Clock,
  ) {}

  async create(spec: CollectionSpec): Promise<Generation> {
    const layout = new IndexLayout(spec);
    const number = await this.nextNumber(spec.name);
    const index = this.names.index(spec.name, number);
    const aliases = { [this.names.generation(spec.name, number)]: {} };
    const { retryMs } = this.connection;
    await this.connection.createIndex({ index, aliases, ...layout.index() }, retryMs.write);
    return { collection: spec.name, version: spec.version, number, state: 'building' };
  }

  /** Turns on automatic refresh, which live writes need. This setting also marks the generation as finished. */
  async finish({ collection, number }: Generation): Promise<void> {
    const index = this.names.generation(collection, number);
    await this.ask((client, options) => client.indices.refresh({ index }, options));
    await this.ask((client, options) =>
      client.indices.putSettings({ index, settings: { refresh_interval: '1s' } }, options),
    );
    this.cache.clear();
  }

  async swap({ collection, number }: Generation): Promise<void> {
    const { isFinished } = await this.find({ collection, generation: number });
    if (!isFinished) throw new Error('a generation must be finished before it is made live');
    const index = this.names.index(collection, number);
    const live = this.names.live(collection);
    await this.change([
      { remove: { index: this.names.all(collection), alias: live, must_exist: false } },
      { add: { index, alias: live } },
      { add: { index, alias: this.names.swapped(collection) } },
    ]);
    this.cache.clear();
  }

  async retire({ collection, number }: Generation): Promise<void> {
    const found = (await this.list(collection)).find((one) => one.number === number);
    if (found?.state !== 'live') return;
    const index = this.names.index(collection, number);
    await this.change([{ remove: { index, alias: this.names.live(collection), must_exist: false } }]);
    this.cache.clear();
  }

  /**
   * Removes its aliases unless it is live: no new query reaches it. `sweep` deletes the index when no query uses it.
   */
  async drop({ collection, number }: Generation): Promise<void> {
    const index = this.names.index(collection, number);
    const found = (await this.indices(this.names.all(collection)))[index];
    const aliases = Object.keys(found?.aliases ?? {});
    if (!aliases.includes(this.names.generation(collection, number))) return;
    if (aliases.includes(this.names.live(collection))) return;
    await this.change([
      ...aliases.map((alias) => ({ remove: { index, alias, must_exist: false } })),
      { add: { index, alias: this.names.dropped(collection, this.clock.wall()) } },
    ]);
    this.cache.clear();
  }

  /** The number of the live generation; `connection` is that of a query. Raises `NoGeneration`. */
  async live(collection: string, connection: ElasticConnection): Promise<number> {
    const alias = this.names.live(collection);
    try {
      const found = await connection.ask((client, options) =>
        client.indices.getAlias({ index: alias, filter_path: ['*.aliases'] }, options),
      );
      const [index] = Object.keys(found);
      if (index === undefined) throw new NoSuchIndex('the index does not exist');
      return numberOf(index);
    } catch (error) {
      throw this.translate({ collection }, error);
    }
  }

  async list(...collections: readonly string[]): Promise<readonly Generation[]> {
    if (collections.length === 0) return [];
    const names = collections.map((collection) => this.names.all(collection)).join();
    const found = Object.entries(await this.indices(names)).flatMap(([index, state]) => {
      const [collection, number] = [collectionOf(index), numberOf(index)];
      const aliases = state.aliases ?? {};
      if (!(this.names.generation(collection, number) in aliases)) return [];
      const { version } = specOf(state);
      return { collection, version, number, state: this.stateOf(collection, aliases) };
    });
    return found.sort((a, b) => a.number - b.number);
  }

  /** Of all copies of its index. */
  async size({ collection, number }: Generation): Promise<number> {
    const request: Request<estypes.IndicesStatsResponse> = (client, options) =>
      client.indices.stats(
        {
          index: this.names.generation(collection, number),
          metric: 'store',
          filter_path: '_all.total.store.size_in_bytes',
        },
        options,
      );
    try {
      const { _all: all } = await this.connection.ask(request);
      return (all as typeof all | undefined)?.total?.store?.size_in_bytes ?? 0;
    } catch (error) {
      if (error instanceof NoSuchIndex) return 0;
      throw error;
    }
  }

  /** The state of a target; `connection` may be that of a query. Raises `NoGeneration`. */
  async find(target: IndexTarget, connection = this.connection): Promise<TargetState> {
    const alias = this.names.of(target);
    const cached = this.cache.get(alias);
    if (cached !== undefined && performance.now() < cached.until) return cached;
    try {
      const retryMs = connection.retryMs[cached?.isFinished === false ? 'fill' : 'read'];
      const [state] = Object.values(await this.indices(alias, retryMs, connection));
      if (state === undefined) throw new NoSuchIndex('the index does not exist');
      const isFinished = state.settings?.index?.refresh_interval !== NO_REFRESH;
      const isSettled = isFinished && target.generation !== undefined;
      const until = isSettled ? Infinity : performance.now() + STALE_MS;
      const found = { layout: new IndexLayout(specOf(state)), isFinished, until };
      this.cache.set(alias, found);
      return found;
    } catch (error) {
      throw this.translate(target, error);
    }
  }

  /** Translates an error of a request to a target into that of the port. */
  translate(target: IndexTarget, error: unknown): unknown {
    if (!(error instanceof NoSuchIndex)) return error;
    this.cache.delete(this.names.of(target));
    return new NoGeneration(target);
  }

  /** Greater than all existing numbers, even if the control index was lost. */
  private async nextNumber(collection: string): Promise<number> {
    const existing = Object.keys(await this.indices(this.names.all(collection))).map(numberOf);
    for (;;) {
      const number = await this.control.nextNumber(collection);
      if (existing.every((one) => one < number)) return number;
    }
  }

  private stateOf(collection: string, aliases: Readonly<Record<string, unknown>>): Generation['state'] {
    if (this.names.live(collection) in aliases) return 'live';
    return this.names.swapped(collection) in aliases ? 'retired' : 'building';
  }

  /** The indices that have this name or alias. */
  private async indices(
    index: string,
    retryMs = this.connection.retryMs.read,
    connection = this.connection,
  ): Promise<Record<string, estypes.IndicesIndexState>> {
    return await connection.ask(
      (client, options) => client.indices.get({ index, filter_path: FILTER_PATH }, options),
      retryMs,
    );
  }

  /** Deletes indices that were dropped long enough ago, or that far in the future, by a wrong clock. */
  async sweep(): Promise<void> {
    const due = Object.entries(await this.indices(this.names.all())).filter(([, { aliases = {} }]) =>
      Object.keys(aliases).some((alias) => {
        const at = this.names.droppedAt(alias);
        return at !== undefined && Math.abs(this.clock.wall() - at) >= GRACE_MS;
      }),
    );
    for (const [index] of due)
      await this.ask((client, options) =>
        client.indices.delete({ index, ignore_unavailable: true }, options),
      );
  }

  private async change(actions: estypes.IndicesUpdateAliasesAction[]): Promise<void> {
    await this.ask((client, options) => client.indices.updateAliases({ actions }, options));
  }

  /** For requests that change something: retried as long as writes. */
  private async ask<Answer>(request: Request<Answer>): Promise<Answer> {
    return await this.connection.ask(request, this.connection.retryMs.write);
  }
}

function specOf({ mappings }: estypes.IndicesIndexState): CollectionSpec {
  return mappings?._meta?.['spec'] as CollectionSpec;
}

/** `Names.index` */
function collectionOf(index: string): string {
  return index.split('.').at(-2) ?? '';
}

function numberOf(index: string): number {
  return Number(index.slice(index.lastIndexOf('.') + 1));
}
