import { type estypes } from '@elastic/elasticsearch';
import { type CollectionSpec, type Generation, NoGeneration, type Target } from '../../kernel/read-store';
import { type Connection, type Request } from './connection';
import { type Control } from './control';
import { NoSuchIndex, Refused } from './failure';
import { FILLED, Layout } from './layout';
import { type Names } from './names';

/** How a target lies in the server. */
interface Known {
  readonly layout: Layout;
  readonly isFinished: boolean;
}

/** What is looked at of an index. */
const SHOWN = ['*.aliases', '*.mappings._meta.spec', '*.settings.index.refresh_interval'];

/** How long (ms) a dropped index is kept for queries that are under way. */
const GRACE_MS = 10 * 60_000;
/** How long (ms) the live generation's declaration is taken to be the same: what is asked always goes to the live one. */
const STALE_MS = 1_000;

/**
 * Which generations there are: indices, and the aliases they bear. The state of a collection changes by one request
 * for all its aliases, so that nobody ever sees two live generations, or none.
 */
export class Catalogue {
  private readonly known = new Map<string, Known & { readonly until: number }>();

  constructor(
    private readonly connection: Connection,
    private readonly names: Names,
    private readonly control: Control,
    private readonly now: () => number,
  ) {}

  async create(spec: CollectionSpec): Promise<Generation> {
    const layout = new Layout(spec);
    const number = await this.nextNumber(spec.name);
    const index = this.names.index(spec.name, number);
    const aliases = { [this.names.generation(spec.name, number)]: {} };
    try {
      await this.ask((client, options) =>
        client.indices.create({ index, aliases, ...layout.index() }, options),
      );
    } catch (error) {
      // The number is ours alone: it was made by a request whose answer was lost.
      if (!(error instanceof Refused) || error.type !== 'resource_already_exists_exception') throw error;
    }
    return { collection: spec.name, version: spec.version, number, state: 'building' };
  }

  /** Makes it refresh by itself: from now on it takes live writes. That it does is what it is known as finished by. */
  async finish({ collection, number }: Generation): Promise<void> {
    const index = this.names.generation(collection, number);
    await this.ask((client, options) => client.indices.refresh({ index }, options));
    await this.ask((client, options) =>
      client.indices.putSettings({ index, settings: { refresh_interval: '1s' } }, options),
    );
    this.known.clear();
  }

  async swap({ collection, number }: Generation): Promise<void> {
    const { isFinished } = await this.find({ collection, generation: number });
    if (!isFinished) throw new Error('a generation is made live that is not finished');
    const index = this.names.index(collection, number);
    const live = this.names.live(collection);
    await this.change([
      { remove: { index: this.names.all(collection), alias: live, must_exist: false } },
      { add: { index, alias: live } },
      { add: { index, alias: this.names.swapped(collection) } },
    ]);
    this.known.clear();
  }

  /** Takes all its aliases: it cannot be asked any more. The index goes later, when no query is under way on it. */
  async drop({ collection, number }: Generation): Promise<void> {
    const index = this.names.index(collection, number);
    const found = (await this.indices(this.names.all(collection)))[index];
    const aliases = Object.keys(found?.aliases ?? {});
    if (!aliases.includes(this.names.generation(collection, number))) return;
    if (aliases.includes(this.names.live(collection)))
      throw new Error(`generation ${number} of ${collection} is live`);
    await this.change([
      ...aliases.map((alias) => ({ remove: { index, alias, must_exist: false } })),
      { add: { index, alias: this.names.dropped(collection, this.now()) } },
    ]);
    this.known.clear();
  }

  async list(collection: string): Promise<readonly Generation[]> {
    const found = Object.entries(await this.indices(this.names.all(collection))).flatMap(([index, state]) => {
      const number = numberOf(index);
      const aliases = state.aliases ?? {};
      if (!(this.names.generation(collection, number) in aliases)) return [];
      const { version } = specOf(state);
      return { collection, version, number, state: this.stateOf(collection, aliases) };
    });
    return found.sort((a, b) => a.number - b.number);
  }

  /** How a target lies; `NoGeneration` when it is not there. */
  async find(target: Target): Promise<Known> {
    const alias = this.names.of(target);
    const known = this.known.get(alias);
    if (known !== undefined && performance.now() < known.until) return known;
    try {
      const patience = this.connection.patience[known?.isFinished === false ? 'fill' : 'read'];
      const [state] = Object.values(await this.indices(alias, patience));
      if (state === undefined) throw new NoSuchIndex('there is no such index');
      const isFinished = state.settings?.index?.refresh_interval !== FILLED;
      const isSettled = isFinished && target.generation !== undefined;
      const until = isSettled ? Infinity : performance.now() + STALE_MS;
      const found = { layout: new Layout(specOf(state)), isFinished, until };
      this.known.set(alias, found);
      return found;
    } catch (error) {
      throw this.refusal(target, error);
    }
  }

  /** An error of a request to a target as the port raises it. */
  refusal(target: Target, error: unknown): unknown {
    if (!(error instanceof NoSuchIndex)) return error;
    const { collection, generation } = target;
    this.known.delete(this.names.of(target));
    return new NoGeneration(
      generation === undefined
        ? `no generation of ${collection} is live`
        : `${collection} has no generation ${generation}`,
    );
  }

  /** Greater than all there are, even if the index that counts them has been lost. */
  private async nextNumber(collection: string): Promise<number> {
    const taken = Object.keys(await this.indices(this.names.all(collection))).map(numberOf);
    for (;;) {
      const number = await this.control.nextNumber(collection);
      if (taken.every((one) => one < number)) return number;
    }
  }

  private stateOf(collection: string, aliases: Readonly<Record<string, unknown>>): Generation['state'] {
    if (this.names.live(collection) in aliases) return 'live';
    return this.names.swapped(collection) in aliases ? 'retired' : 'building';
  }

  /** Those that have this name, or an alias of this name. */
  private async indices(
    index: string,
    patience = this.connection.patience.read,
  ): Promise<Record<string, estypes.IndicesIndexState>> {
    return await this.connection.ask(
      (client, options) => client.indices.get({ index, filter_path: SHOWN }, options),
      patience,
    );
  }

  /** Removes what was dropped long enough ago, or as long after now: by a clock that was wrong. */
  async sweep(): Promise<void> {
    const due = Object.entries(await this.indices(this.names.all())).filter(([, { aliases = {} }]) =>
      Object.keys(aliases).some((alias) => {
        const at = this.names.droppedAt(alias);
        return at !== undefined && Math.abs(this.now() - at) >= GRACE_MS;
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

  /** For what changes something. */
  private async ask<Answer>(request: Request<Answer>): Promise<Answer> {
    return await this.connection.ask(request, this.connection.patience.write);
  }
}

function specOf({ mappings }: estypes.IndicesIndexState): CollectionSpec {
  return mappings?._meta?.['spec'] as CollectionSpec;
}

function numberOf(index: string): number {
  return Number(index.slice(index.lastIndexOf('.') + 1));
}
