import { type Position, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { NamedError, Refusal } from '../kernel/fault';
import { EVERYTHING } from '../kernel/query';
import {
  createUnlessLive,
  type CollectionSpec,
  NoGeneration,
  type ReadStore,
  type Target,
  targetOf,
} from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { LeaseHolder } from '../runtime/lease-holder';
import { GenerationProjector } from './generation-projector';
import { dropGenerations, type LeaseParts, RebuildUnderWay, TAKEN_OVER, whileBuilding } from './generations';
import { prepareParked } from './parked';
import { ProgressMeter } from './progress-meter';
import { type Projection } from './projection';
import { fillGenerations } from './fill';
import { type RebuildParts } from './rebuild';

/**
 * Read models as of a position of the log, under a name (ADR 44). Each is the live generation of a collection of its
 * own, `products--NAME`, which nothing projects into any more: so neither rebuilds nor runners know of it.
 */
export interface AsOf {
  readonly name: string;
  readonly position: Position;
  /** What queries take for the present (ISO 8601). */
  readonly time: string;
  /** From then on a projector drops it (ISO 8601). */
  readonly expires: string;
  /** Versions of its read models, by collection; some may be unfinished. */
  readonly models: Readonly<Record<string, number>>;
}

/** A request for read models as of a position that cannot be met, with the reason. */
export class AsOfRefused extends Refusal {}

/** There is nothing of this name. */
export class UnknownAsOf extends NamedError {
  constructor(name: string, known: readonly AsOf[]) {
    const names = known.map((one) => one.name).join(', ');
    super(
      `${name}: expected the name of read models as of a time: ${names === '' ? 'there are none' : names}`,
    );
  }
}

const KEEP_MS = 24 * 60 * 60 * 1000;
const SWEEP_MS = 60_000;
const MOST = 10;
/** Names of collections begin with those of projections, end with these, and are file names. */
export const AS_OF_NAME = /^[a-z](?:-?[a-z0-9]){0,29}$/;
const LEASE = { name: 'as-of', ms: 10_000 } as const;
/** Smaller than those of a rebuild: a server may build this beside requests. */
const BATCH = 500;

const COLLECTION: CollectionSpec = { name: 'as-of', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };

/** No name of a collection has two dashes. */
function collectionAsOf(collection: string, name: string): string {
  return `${collection}--${name}`;
}

export interface AsOfParts extends LeaseParts, Pick<RebuildParts, 'code' | 'onProgress'> {
  /** Called once the request is known to be valid, before its position is searched for and the events are folded. */
  readonly onBegin?: (begun: BegunAsOf) => Promise<void>;
}

/** What may not have a position yet. */
export interface BegunAsOf extends Pick<AsOf, 'name' | 'models'> {
  readonly time?: string;
}

/** What is asked for, as far as it is known, and how the rest is found: it may take long. */
interface WantedAsOf extends Moment {
  readonly name: string;
  readonly find: () => Promise<Required<Moment>>;
}

interface Moment {
  readonly position?: Position;
  readonly time?: string;
}

/**
 * Builds read models as of a position; adds to those that the name has already. After an interruption it continues
 * where it was, and what is complete is not built again. Raises `AsOfRefused`, `RebuildUnderWay`.
 */
export async function buildAsOf(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  { name, find, ...known }: WantedAsOf,
  parts: AsOfParts,
): Promise<AsOf> {
  const { clock, code, onProgress, onBegin, signal } = parts;
  return await whileBuilding(store, LEASE, parts, async (lease) => {
    const before = await acceptable(store, name, known);
    await prepareParked(store);
    await createUnlessLive(store, COLLECTION);
    const versions = projections.map(({ collection }) => [collection.name, collection.version] as const);
    const models = { ...before?.models, ...Object.fromEntries(versions) };
    const { time } = known;
    await onBegin?.({ name, models, ...(time === undefined ? {} : { time }) });
    const moment = await find();
    const { position } = moment;
    await acceptable(store, name, moment);
    const asOf = (): AsOf => ({
      name,
      position,
      time: moment.time,
      expires: new Date(clock.wall() + KEEP_MS).toISOString(),
      models,
    });
    await save(store, asOf());
    const projectors: GenerationProjector[] = [];
    for (const projection of projections) {
      const spec = { ...projection.collection, name: collectionAsOf(projection.collection.name, name) };
      const own = await store.generations(spec.name);
      if (own.some(({ state, version }) => state === 'live' && version === spec.version)) continue;
      const begun = own.find(({ state, version }) => state === 'building' && version === spec.version);
      await remove(
        store,
        own.filter((one) => one !== begun),
      );
      const generation = begun ?? (await store.create(spec));
      projectors.push(await GenerationProjector.open(log, store, projection, generation, code));
    }
    const meter = new ProgressMeter(clock);
    const onBatch = async (events: number, at: Position): Promise<void> => {
      meter.count(events);
      onProgress?.({ phase: 'project', ...meter.towards(position, at) });
      signal?.throwIfAborted();
      if (!(await lease.acquire())) throw new RebuildUnderWay(TAKEN_OVER);
    };
    await fillGenerations(log, projectors, { until: position, onBatch, batchSize: BATCH });
    for (const { generation, parked, projection } of projectors) {
      if (parked.size > 0) {
        await remove(store, [generation]);
        throw new AsOfRefused(
          `${parked.size} documents of ${projection.collection.name} could not be folded: see \`affilog parked list\``,
        );
      }
      await store.finish(generation);
      await store.swap(generation);
      await store.refresh(targetOf(generation));
    }
    await save(store, asOf());
    return asOf();
  });
}

/** What the name stands for already. Raises `AsOfRefused`. */
async function acceptable(store: ReadStore, name: string, wanted: Moment): Promise<AsOf | undefined> {
  const known = await listAsOf(store);
  const before = known.find((one) => one.name === name);
  if (before !== undefined) {
    const { time = before.time, position = before.position } = wanted;
    if (before.position !== position || before.time !== time)
      throw new AsOfRefused(
        `${name} is as of ${before.time} (position ${before.position}), not ${time} (${position}): choose another name, or ` +
          `run \`affilog as-of drop ${name}\` first`,
      );
  }
  if (before === undefined && known.length >= MOST)
    throw new AsOfRefused(
      `there are ${MOST} names already, the most: run \`affilog as-of drop NAME\` of one of ` +
        known.map((one) => one.name).join(', '),
    );
  return before;
}

/** All, the first to expire first. */
export async function listAsOf(store: ReadStore): Promise<readonly AsOf[]> {
  const all: AsOf[] = [];
  try {
    await store.refresh(TARGET);
    for await (const page of store.scan(TARGET, EVERYTHING))
      all.push(...page.map(({ body }) => JSON.parse(body) as AsOf));
  } catch (error) {
    if (!(error instanceof NoGeneration)) throw error;
  }
  return all.sort((a, b) => (a.expires < b.expires ? -1 : 1));
}

/** Which of its read models can be read by code of these versions. */
export async function completeModels(
  store: ReadStore,
  { name, models }: AsOf,
  projections: readonly Projection[],
): Promise<readonly string[]> {
  const own = projections.map(({ collection }) => collection).filter((spec) => spec.name in models);
  const generations = await store.generations(...own.map((spec) => collectionAsOf(spec.name, name)));
  return own
    .filter((spec) =>
      generations.some(
        ({ collection, state, version }) =>
          collection === collectionAsOf(spec.name, name) && state === 'live' && version === spec.version,
      ),
    )
    .map((spec) => spec.name);
}

/** Removes what has a name; its disk space is freed by the store. Raises `UnknownAsOf`, `RebuildUnderWay`. */
export async function dropAsOf(store: ReadStore, name: string, parts: LeaseParts): Promise<void> {
  await whileBuilding(store, LEASE, parts, async () => {
    const known = await listAsOf(store);
    const asOf = known.find((one) => one.name === name);
    if (asOf === undefined) throw new UnknownAsOf(name, known);
    await forget(store, asOf);
  });
}

/** Drops all: the store belongs to another log by now. */
export async function dropAllAsOf(store: ReadStore, parts: LeaseParts): Promise<void> {
  if ((await listAsOf(store)).length === 0) return;
  await whileBuilding(store, LEASE, parts, async () => {
    for (const asOf of await listAsOf(store)) await forget(store, asOf);
  });
}

/** Drops what has expired, unless somebody builds or drops. Run by the projector. */
export class AsOfSweeper {
  private sweptAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    private readonly owner: string,
  ) {}

  /** Sweeps, unless the last sweep was less than a minute ago. */
  async sweep(): Promise<void> {
    const { clock, store } = this;
    const now = clock.wall();
    // The absolute difference, since the clock may have been set back.
    if (Math.abs(now - this.sweptAt) < SWEEP_MS) return;
    this.sweptAt = now;
    const isExpired = ({ expires }: AsOf): boolean => Date.parse(expires) <= now;
    if (!(await listAsOf(store)).some(isExpired)) return;
    const lease = new LeaseHolder(clock, store, LEASE.name, `${this.owner} sweeping`, LEASE.ms);
    if (!(await lease.acquire())) return;
    try {
      await lease.renewDuring(async () => {
        for (const asOf of (await listAsOf(store)).filter(isExpired)) await forget(store, asOf);
      });
    } finally {
      await lease.release();
    }
  }
}

/** The store for queries of the read models that have a name: they read these in place of the live ones. */
export function storeAsOf(store: ReadStore, name: string): ReadStore {
  return new Proxy(store, {
    get(own, method) {
      const value: unknown = Reflect.get(own, method);
      if (typeof value !== 'function') return value;
      if (!READING.has(method)) return value.bind(own) as unknown;
      return (target: Target, ...rest: readonly unknown[]): unknown =>
        value.call(
          own,
          { ...target, collection: collectionAsOf(target.collection, name) },
          ...rest,
        ) as unknown;
    },
  });
}

const READING: ReadonlySet<string | symbol> = new Set<keyof ReadStore>([
  ...(['checkpoint', 'refresh', 'get', 'search', 'searchGroups', 'count'] as const),
  ...(['countGroups', 'countValues', 'totals', 'snapshot', 'scan'] as const),
]);

/** The record goes last: after an interruption it is dropped again. */
async function forget(store: ReadStore, { name, models }: AsOf): Promise<void> {
  const collections = Object.keys(models).map((collection) => collectionAsOf(collection, name));
  await remove(store, await store.generations(...collections));
  await store.write(TARGET, [{ version: START, remove: name, forget: true }]);
}

async function remove(store: ReadStore, generations: Parameters<typeof dropGenerations>[1]): Promise<void> {
  for (const generation of generations) if (generation.state === 'live') await store.retire(generation);
  await dropGenerations(store, generations);
}

async function save(store: ReadStore, asOf: AsOf): Promise<void> {
  const put = { id: asOf.name, fields: {}, body: JSON.stringify(asOf) };
  await store.write(TARGET, [{ version: START, put }]);
}
