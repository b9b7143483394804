import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { Refusal } from '../kernel/fault';
import { type Generation, NoGeneration, type ReadStore, targetOf } from '../kernel/read-store';
import { defined } from '../kernel/values';
import { nameOf, standbysAmong } from '../projector/generations';
import {
  type Notes,
  pausedText,
  type ProjectorNote,
  readNotes,
  readNotesOf,
  removeNote,
  writeNote,
} from '../projector/notes';
import { countParked } from '../projector/parked';
import { DOMAIN_LOG, type Projection, type Source } from '../projector/projection';
import { type BegunAsOf } from '../projector/as-of';
import { type RebuildParts } from '../projector/rebuild';
import { type Clock } from '../runtime/clock';
import { type LeaseKind } from '../runtime/lease-holder';
import { type AsOfRequest, rebuildAsOf } from './as-of';
import { timeOf } from './log-events';
import {
  PROJECTED,
  type ProjectedEngines,
  projectionsNamed,
  rebuildProjections,
  verifyProjections,
} from './rebuild';

/** How a read model does, as every process sees it (`docs/decisions.md#x122`). */
export interface ReadModelState {
  readonly name: string;
  readonly state: 'building' | 'catching up' | 'live' | 'paused' | 'degraded' | 'failed';
  /** What it is waiting for, or suffers from, and what helps. */
  readonly reason?: string;
  /** Since when an operator has paused it, and who, as operators' actions are listed. */
  readonly paused?: Notes['paused'];
  /** Of the code. */
  readonly version: number;
  /** The live generation. */
  readonly generation?: number;
  /** Up to where it has the log. */
  readonly position?: Position;
  /** Events of its streams that it lacks: estimated beyond `MOST_COUNTED`. */
  readonly lagEvents?: number;
  /** Age of the first of them. */
  readonly lagSeconds?: number;
  /** Events per second: of its build, or of all read models of its log together. */
  readonly rate: number;
  /** When the build, or catching up, is expected to end (ISO 8601). */
  readonly end?: string;
  /** Bytes of all its generations. */
  readonly bytes: number;
  readonly parked: number;
  readonly generations: readonly GenerationState[];
  /** A rebuild that is under way or was interrupted, or a comparison. */
  readonly rebuild?: RebuildState;
  /** Why the last rebuild or comparison failed. */
  readonly failure?: Notes['failure'];
}

type Unshown = 'code' | 'owner' | 'readModels' | 'skipped' | 'until';

export interface RebuildState extends Omit<Notes['rebuild'], Unshown> {
  /** How many are built in the same pass: events, rate and end are of all of them together. */
  readonly readModels: number;
  /** It is only compared with the live one. */
  readonly isComparison: boolean;
  readonly isRunning: boolean;
}

export interface GenerationState {
  readonly number: number;
  readonly version: number;
  /**
   * `kept`: it was live, and may be again. `ready`: it may be swapped in. `unfinished`: it is being built, or a rebuild
   * was interrupted. `old`: it is dropped by the next rebuild.
   */
  readonly state: 'live' | 'kept' | 'ready' | 'unfinished' | 'old';
  readonly position: Position;
  readonly bytes: number;
  /** When it is dropped (ISO 8601). */
  readonly until?: string;
}

/** Lacking events are counted up to so many, which takes a moment; more are estimated by the positions. */
const MOST_COUNTED = 10_000;
const COUNT_BATCH = 1_000;
/** A read model that is further behind is catching up (s). */
const CATCHING_UP_S = 2;
/** What a projector has noted is at most so old (s). */
const NOTED_S = 2;

/** All read models, or those that are named. Raises `UsageError`. */
export async function readModelStates(
  engines: ProjectedEngines,
  clock: Clock,
  names: readonly string[] = [],
): Promise<readonly ReadModelState[]> {
  const { store } = engines;
  const chosen = projectionsNamed(...(names.length === 0 ? ['all'] : names));
  const states: ReadModelState[] = [];
  for (const { source, projections, log: open } of PROJECTED) {
    const own = projections.filter((projection) => chosen.includes(projection));
    if (own.length === 0) continue;
    states.push(...(await statesOf(own, source, { log: await open(engines), store, now: clock.wall() })));
  }
  return states;
}

/** The state of a read model of the domain log. Raises `UsageError`. */
export async function readModelState(
  { log, store }: Pick<ProjectedEngines, 'log' | 'store'>,
  clock: Clock,
  name: string,
): Promise<ReadModelState> {
  const [state] = await statesOf(projectionsNamed(name), DOMAIN_LOG, { log, store, now: clock.wall() });
  if (state === undefined) throw new Error(`no read model ${name}`);
  return state;
}

async function statesOf(
  projections: readonly Projection[],
  { projectorLease, rebuildLease }: Source,
  { log, store, now }: Pick<StateParts, 'log' | 'now' | 'store'>,
): Promise<readonly ReadModelState[]> {
  const collections = projections.map(({ collection }) => collection.name);
  const kinds = ['paused', 'kept', 'ready', 'rebuild', 'comparison', 'failure'] as const;
  const notesOf = await readNotesOf(store, kinds, collections);
  const notes = {
    projector: await projectorNote(store, projectorLease),
    ...{ paused: notesOf('paused'), kept: notesOf('kept'), ready: notesOf('ready') },
    ...{ rebuild: notesOf('rebuild'), comparison: notesOf('comparison'), failure: notesOf('failure') },
  };
  const around: StateParts = {
    ...{ log, store, now, notes },
    isProjected: (await store.holder(projectorLease.name, now, projectorLease.ms)) !== undefined,
    rebuilder: await store.holder(rebuildLease.name, now, rebuildLease.ms),
    generations: await store.generations(...collections),
  };
  const states: ReadModelState[] = [];
  for (const projection of projections) states.push(await stateOf(projection, around));
  return states;
}

async function projectorNote(store: ReadStore, { name }: LeaseKind): Promise<ProjectorNote | undefined> {
  return (await readNotes(store, 'projector', [name])).get(name);
}

interface StateParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly now: number;
  readonly isProjected: boolean;
  /** Who has the lease of rebuilds. */
  readonly rebuilder: string | undefined;
  readonly generations: readonly Generation[];
  readonly notes: {
    readonly projector: ProjectorNote | undefined;
  } & {
    readonly [Kind in 'paused' | 'kept' | 'ready' | 'rebuild' | 'comparison' | 'failure']: ReadonlyMap<
      string,
      Notes[Kind]
    >;
  };
}

async function stateOf(projection: Projection, around: StateParts): Promise<ReadModelState> {
  const { log, store, now, notes, rebuilder } = around;
  const { name, version } = projection.collection;
  const all = around.generations.filter(({ collection }) => collection === name);
  const generations: GenerationState[] = [];
  for (const generation of all) {
    const state = await generationState(generation, around);
    if (state !== undefined) generations.push(state);
  }
  const live = generations.find((one) => one.state === 'live' && one.version === version);
  const parked =
    live === undefined ? 0 : await countParked(store, [nameOf({ collection: name, number: live.number })]);
  const isRunning = (one: Notes['rebuild'] | undefined): boolean =>
    one?.owner !== undefined && one.owner === rebuilder;
  const [note, compared] = [notes.rebuild.get(name), notes.comparison.get(name)];
  const comparison = isRunning(compared) ? compared : undefined;
  const isBuilding = isRunning(note);
  // What was interrupted can be continued as long as there is something left of it.
  const isLeft =
    isBuilding || all.some(({ number, state }) => state === 'building' && number === note?.generation);
  const rebuild = comparison ?? (isLeft ? note : undefined);
  const failure = notes.failure.get(name);
  const lag = live && (await lagOf(log, projection, live.position, around));
  const [state, reason] = judged(name, { around, live, parked, lag, isBuilding });
  const rate = state === 'building' ? (note?.rate ?? 0) : (notes.projector?.rate ?? 0);
  const isCatchingUp = state === 'catching up' && lag !== undefined && rate > 0;
  const end = isCatchingUp ? new Date(now + (1000 * lag.events) / rate).toISOString() : undefined;
  const ends = state === 'building' ? note?.end : end;
  return {
    name,
    state,
    ...defined({ reason, paused: notes.paused.get(name) }),
    version,
    ...(live === undefined ? {} : { generation: live.number, position: live.position }),
    ...(lag === undefined ? {} : { lagEvents: lag.events, lagSeconds: lag.seconds }),
    rate,
    ...(ends === undefined ? {} : { end: ends }),
    bytes: generations.reduce((sum, { bytes }) => sum + bytes, 0),
    parked,
    generations,
    ...(rebuild && { rebuild: shownRebuild(rebuild, rebuild === comparison, isRunning(rebuild)) }),
    ...(failure === undefined ? {} : { failure }),
  };
}

function shownRebuild(
  { generation, phase, readModels = 1, events, total, rate, end, at }: Notes['rebuild'],
  isComparison: boolean,
  isRunning: boolean,
): RebuildState {
  return {
    ...{ generation, isComparison, phase, readModels, events, total, rate, at, isRunning },
    ...defined({ end }),
  };
}

interface Judged {
  readonly around: StateParts;
  readonly live: GenerationState | undefined;
  readonly parked: number;
  readonly lag: Lag | undefined;
  readonly isBuilding: boolean;
}

const NO_PROJECTOR = 'no process with the role projector runs: start `affilog serve`';

function judged(
  name: string,
  { around: { notes, isProjected }, live, parked, lag, isBuilding }: Judged,
): readonly [ReadModelState['state'], string?] {
  const stopped = `too many of its documents are parked: see \`affilog parked list ${name}\``;
  const isStopped = isProjected && notes.projector?.stopped.includes(name) === true;
  const trouble = isProjected ? notes.projector?.trouble : undefined;
  if (live === undefined) {
    if (isBuilding) return ['building'];
    if (isStopped) return ['failed', stopped];
    if (trouble !== undefined) return ['failed', trouble];
    return isProjected ? ['building', 'it is about to be built'] : ['failed', NO_PROJECTOR];
  }
  const paused = notes.paused.get(name);
  if (paused !== undefined)
    return ['paused', `${pausedText(paused)}: \`affilog projections resume ${name}\` continues it`];
  if (isStopped) return ['failed', stopped];
  if (trouble !== undefined) return ['degraded', trouble];
  if (!isProjected) return ['degraded', NO_PROJECTOR];
  if (parked > 0) return ['degraded', `documents are parked: see \`affilog parked list ${name}\``];
  return [(lag?.seconds ?? 0) > CATCHING_UP_S ? 'catching up' : 'live'];
}

/** Undefined if it was dropped meanwhile. */
async function generationState(
  generation: Generation,
  { store, notes }: StateParts,
): Promise<GenerationState | undefined> {
  const { collection, number, version } = generation;
  const [standby] = (['kept', 'ready'] as const).flatMap((state) =>
    standbysAmong([generation], state, notes[state].get(collection)).map(({ until }) => ({ state, until })),
  );
  const state =
    standby?.state ?? ({ live: 'live', building: 'unfinished', retired: 'old' } as const)[generation.state];
  try {
    return {
      ...{ number, version, state },
      position: await store.checkpoint(targetOf(generation)),
      bytes: await store.size(generation),
      ...(standby && { until: standby.until }),
    };
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}

interface Lag {
  readonly events: number;
  readonly seconds: number;
}

/**
 * The events of its streams that a read model lacks, and the age of the first one. Reference data and imports may have
 * times of the past: the age is no greater than the time since the projector had everything.
 */
async function lagOf(
  log: EventLog,
  { streams: prefixes, handles, collection: { name } }: Projection,
  position: Position,
  { now, notes, isProjected }: StateParts,
): Promise<Lag> {
  const head = await log.head();
  if (position >= head) return { events: 0, seconds: 0 };
  const types = new Set(handles);
  let [events, read, reached] = [0, 0, position];
  let first: number | undefined;
  for await (const batch of log.readAll({ after: position, prefixes, batchSize: COUNT_BATCH })) {
    const own = batch.events.filter(({ type }) => types.has(type));
    first ??= own[0] && Date.parse(timeOf(own[0]) ?? new Date(now).toISOString());
    events += own.length;
    read += batch.events.length;
    reached = batch.position;
    if (batch.caughtUp || read >= MOST_COUNTED) break;
  }
  if (reached < head && reached > position) {
    const [from, to, end] = [position, reached, head].map(Number) as [number, number, number];
    events = Math.round((events * (end - from)) / (to - from));
  }
  const { behindSince } = notes.projector ?? {};
  const behind = behindSince === undefined ? NOTED_S : (now - Date.parse(behindSince)) / 1000;
  const most = isProjected && !notes.paused.has(name) ? behind : Infinity;
  const seconds = first === undefined ? 0 : Math.max(0, Math.min((now - first) / 1000, most));
  return { events, seconds: Math.round(10 * seconds) / 10 };
}

/** The projector still follows a read model that was paused, and will stop. */
export class PauseNotSeen extends Refusal {}

/** How long a projector may take to see that read models are paused, and to complete what it has begun (ms). */
const SEEN_MS = 10_000;
const LOOK_MS = 50;

/**
 * Read models stay as they are, also after restarts, until they are resumed; searches continue with what is there.
 * Returns those that were not paused, once the projector does not follow them any longer. `by`: who asks for it, as
 * operators' actions are listed. Raises `UsageError`, and `PauseNotSeen` if the projector takes too long.
 */
export async function pauseReadModels(
  { store }: Pick<ProjectedEngines, 'store'>,
  names: readonly string[],
  clock: Clock,
  by?: string,
): Promise<readonly string[]> {
  const chosen = projectionsNamed(...names).map(({ collection }) => collection.name);
  const paused = await readNotes(store, 'paused', chosen);
  const others = chosen.filter((name) => !paused.has(name));
  const note = defined({ since: clock.now().toISOString(), by });
  for (const name of others) await writeNote(store, 'paused', name, note);
  const end = clock.monotonic() + SEEN_MS;
  for (const { source, projections } of PROJECTED) {
    const own = others.filter((name) => projections.some(({ collection }) => collection.name === name));
    while (own.length > 0 && !(await isSeen(store, source, own, clock))) {
      if (clock.monotonic() > end)
        throw new PauseNotSeen(
          `${own.join(', ')}: the projector will stop, but has not done so within ${SEEN_MS / 1000} s: \`affilog projections\` ` +
            'says how it does',
        );
      await clock.pause(LOOK_MS);
    }
  }
  return others;
}

/** Whether the projector of a log knows that these are paused, or there is none. */
async function isSeen(
  store: ReadStore,
  { projectorLease }: Source,
  names: readonly string[],
  clock: Clock,
): Promise<boolean> {
  if ((await store.holder(projectorLease.name, clock.wall(), projectorLease.ms)) === undefined) return true;
  const { paused = [] } = (await projectorNote(store, projectorLease)) ?? {};
  return names.every((name) => paused.includes(name));
}

/** They follow the log again. Returns those that were paused. Raises `UsageError`. */
export async function resumeReadModels(
  { store }: Pick<ProjectedEngines, 'store'>,
  names: readonly string[],
): Promise<readonly string[]> {
  const chosen = projectionsNamed(...names).map(({ collection }) => collection.name);
  const paused = [...(await readNotes(store, 'paused', chosen)).keys()];
  for (const name of paused) await removeNote(store, 'paused', name);
  return paused;
}

/** What a server builds for its operators, in one thread or another. Methods raise as the functions do. */
export class Rebuilder {
  constructor(
    private readonly engines: ProjectedEngines,
    private readonly clock: Clock,
  ) {}

  async rebuild(
    names: readonly string[],
    options: Pick<RebuildParts, 'force' | 'keepMs' | 'retainMs' | 'then'>,
    signal: AbortSignal,
  ): Promise<void> {
    await rebuildProjections(this.engines, names, { ...options, signal });
  }

  async verify(
    names: readonly string[],
    options: Pick<RebuildParts, 'keepMs'> & { readonly most?: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    await verifyProjections(this.engines, names, { ...options, signal });
  }

  async buildAsOf(
    asked: AsOfRequest,
    onBegin: (begun: BegunAsOf) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this;
    await rebuildAsOf(this.engines, asked, { clock, owner: clock.uuid(), onBegin, signal });
  }
}

export type Rebuilding = Pick<Rebuilder, 'buildAsOf' | 'rebuild' | 'verify'>;
