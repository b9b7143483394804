import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type Engines } from '../engines/open';
import { type EventLog } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { EVERYTHING } from '../kernel/query';
import { type ReadStore, targetOf } from '../kernel/read-store';
import { defined } from '../kernel/values';
import { dropAllAsOf } from '../projector/as-of';
import { discardBeside, liveGenerations } from '../projector/generations';
import { readNotes, readNotesOf, removeNote, type Verification, writeNote } from '../projector/notes';
import { isOfOtherLog, recordOrigin, refuseOtherLog } from '../projector/origin';
import { DELIVERY_LOG, DOMAIN_LOG, type Projection, type Source } from '../projector/projection';
import { rebuild, type RebuildParts, type RebuildProgress, type Rebuilt } from '../projector/rebuild';
import { type Swapped, swapStandby } from '../projector/standby';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { isAbort, reasonOf } from '../runtime/unavailable';
import { NothingThere, UsageError } from './command-error';
import { runningCode } from '../projector/parked';

export interface ProjectedEngines extends Pick<Engines, 'log' | 'store'> {
  readonly deliveries: () => Promise<EventLog>;
}

/** The read models of a log. */
interface Projected {
  readonly name: string;
  readonly source: Source;
  readonly projections: readonly Projection[];
  readonly log: (engines: ProjectedEngines) => Promise<EventLog>;
}

export const PROJECTED: readonly Projected[] = [
  { name: 'event log', source: DOMAIN_LOG, projections: PROJECTIONS, log: async ({ log }) => log },
  {
    name: 'delivery log',
    source: DELIVERY_LOG,
    projections: DELIVERY_PROJECTIONS,
    log: async ({ deliveries }) => await deliveries(),
  },
];

type ProjectOptions = Pick<
  RebuildParts,
  'onProgress' | 'signal' | 'force' | 'keepMs' | 'retainMs' | 'then' | 'samples' | 'batchSize'
>;

/**
 * Rebuilds read models, or `all`, in one pass over each log, and swaps them in; what is found different from the live
 * ones can be read afterwards. Raises `UsageError`, `RebuildUnderWay`,
 * `RebuildRefused`, and `OtherLog` unless all of a log are rebuilt with `force`.
 */
export async function rebuildProjections(
  engines: ProjectedEngines,
  names: string | readonly string[],
  options: ProjectOptions = {},
): Promise<readonly Rebuilt[]> {
  const rebuilt: Rebuilt[] = [];
  const what = options.then === 'drop' ? 'comparison' : 'rebuild';
  for (const [chosen, own] of partsOf(chosenOf([names].flat()), options))
    rebuilt.push(...(await noting(engines.store, chosen.own, what, () => project(engines, chosen, own))));
  return rebuilt;
}

/** Each log has a pass of its own: its progress says which part of the whole it is of. */
function partsOf<Options extends Pick<RebuildParts, 'onProgress'>>(
  all: readonly Chosen[],
  options: Options,
): readonly (readonly [Chosen, Options])[] {
  const { onProgress } = options;
  if (onProgress === undefined || all.length === 1) return all.map((chosen) => [chosen, options]);
  return all.map((chosen, at) => {
    const part = `part ${at + 1} of ${all.length}, the ${chosen.name}`;
    return [chosen, { ...options, onProgress: (one: RebuildProgress) => onProgress({ ...one, part }) }];
  });
}

/** Raises as `rebuildProjections`. */
async function project(
  engines: ProjectedEngines,
  { source, projections, own, log: open }: Chosen,
  options: ProjectOptions,
): Promise<readonly Rebuilt[]> {
  const { store } = engines;
  options.signal?.throwIfAborted();
  const log = await open(engines);
  const isWhole =
    options.force === true && own.length === projections.length && (options.then ?? 'swap') === 'swap';
  const isOther = isWhole && (await isOfOtherLog(log, store, projections, source));
  if (!isWhole) await refuseOtherLog(log, store, projections, source);
  const parts = {
    ...options,
    ...{ clock: SYSTEM_CLOCK, source, owner: SYSTEM_CLOCK.uuid(), code: await runningCode() },
    beside: projections,
    // What belongs to another log is neither continued, nor swapped in, nor kept.
    ...(isOther ? { retainMs: 0 } : {}),
  };
  if (isOther) for (const { collection } of own) await discardBeside(store, collection.name, parts);
  const rebuilt = await rebuild(log, store, own, parts);
  if (isWhole) await recordOrigin(log, store, projections, source);
  // They may be of the log that was there before.
  if (isWhole && source === DOMAIN_LOG) await dropAllAsOf(store, parts);
  return rebuilt;
}

/** What was asked for of a log. */
interface Chosen extends Projected {
  readonly own: readonly Projection[];
}

/** What was asked for of each log. Raises `UsageError`. */
function chosenOf(names: readonly string[]): readonly Chosen[] {
  const chosen = projectionsNamed(...names);
  return PROJECTED.map((projected) => ({
    ...projected,
    own: projected.projections.filter((projection) => chosen.includes(projection)),
  })).filter(({ own }) => own.length > 0);
}

/** Leaves a note of why it failed, until it succeeds. */
async function noting<Result>(
  store: ReadStore,
  projections: readonly Projection[],
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const names = projections.map(({ collection }) => collection.name);
  try {
    const result = await work();
    const failures = await readNotes(store, 'failure', names);
    for (const name of failures.keys()) await removeNote(store, 'failure', name);
    return result;
  } catch (error) {
    if (isAbort(error)) throw error;
    const reason = error instanceof NamedError ? error.message : reasonOf(error);
    const note = { what, reason, at: SYSTEM_CLOCK.now().toISOString() };
    // The read store itself may have failed.
    for (const name of names) await writeNote(store, 'failure', name, note).catch(() => undefined);
    throw error;
  }
}

/** What a comparison has found, of each read model. */
export interface Verified extends Verification {
  readonly name: string;
  /** Bytes of the new generation. */
  readonly bytes: number;
}

type VerifyOptions = Omit<ProjectOptions, 'then' | 'samples' | 'force'> & {
  readonly most?: number | undefined;
};

/**
 * Projects the log into new generations and compares each document with the live ones, at the same position; then drops
 * them. With `most`, of about so many documents of each: what a rebuild would find is found in less time. What was
 * found can be read again. Raises as `rebuildProjections`.
 */
export async function verifyProjections(
  engines: ProjectedEngines,
  names: readonly string[],
  { most, ...options }: VerifyOptions = {},
): Promise<readonly Verified[]> {
  const { store } = engines;
  const found: Verified[] = [];
  for (const [chosen, own] of partsOf(chosenOf(names), options))
    found.push(
      ...(await noting(store, chosen.own, 'comparison', () => verify(engines, chosen, { ...own, most }))),
    );
  return found;
}

async function verify(
  engines: ProjectedEngines,
  chosen: Chosen,
  { most, ...options }: VerifyOptions,
): Promise<readonly Verified[]> {
  const { store } = engines;
  const live = await liveGenerations(store, chosen.own);
  const samples = new Map<string, number>();
  for (const generation of most === undefined ? [] : live) {
    if (generation === undefined) continue;
    const count = await store.count(targetOf(generation), EVERYTHING);
    samples.set(generation.collection, Math.max(1, Math.floor(count / Math.max(1, most ?? 1))));
  }
  const rebuilt = await project(engines, chosen, { ...options, then: 'drop', samples });
  return rebuilt.map(({ generation: { collection: name }, bytes, verification }) => ({
    ...{ name, bytes },
    ...verification,
  }));
}

/**
 * What the last comparison of all documents of a read model has found, by `verify` or a rebuild, or that of a sample.
 * Raises `UsageError`, and `NothingThere` if there was none.
 */
export async function lastVerification(
  { store }: Pick<ProjectedEngines, 'store'>,
  name: string,
  isOfSample = false,
): Promise<Verification> {
  projectionsNamed(name);
  const notes = await readNotesOf(store, ['verification', 'sampled'], [name]);
  const [found, other] = [notes('verification'), notes('sampled')].map((all) => all.get(name));
  const wanted = isOfSample ? other : found;
  if (wanted !== undefined) return wanted;
  const ofSample = !isOfSample && other !== undefined ? ', a sample of it has: --sample, or sample=true' : '';
  throw new NothingThere(`${name} has not been compared yet${ofSample}`);
}

export interface SwapOptions {
  readonly force?: boolean | undefined;
  readonly retainMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes generations live that are `ready`, or those that were live before (`kept`). Raises `UsageError`, `SwapRefused`,
 * `OtherLog`.
 */
export async function swapProjections(
  engines: ProjectedEngines,
  names: readonly string[],
  kind: 'ready' | 'kept',
  options: SwapOptions = {},
): Promise<readonly Swapped[]> {
  const swapped: Swapped[] = [];
  const code = await runningCode();
  for (const { source, projections, own, log: open } of chosenOf(names)) {
    const log = await open(engines);
    await refuseOtherLog(log, engines.store, projections, source);
    const parts = { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid(), code, source, ...defined(options) };
    for (const projection of own)
      swapped.push(await swapStandby(log, engines.store, projection, kind, parts));
  }
  return swapped;
}

/**
 * Drops what is beside the live generations: what is kept, ready, or left by an interrupted rebuild. Returns their
 * names. Raises `UsageError`, `RebuildUnderWay`.
 */
export async function discardGenerations(
  engines: ProjectedEngines,
  names: readonly string[],
): Promise<readonly string[]> {
  const { store } = engines;
  const discarded: string[] = [];
  for (const { source, own } of chosenOf(names)) {
    const parts = { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid(), source };
    for (const { collection } of own) discarded.push(...(await discardBeside(store, collection.name, parts)));
  }
  return discarded;
}

/** The log that a read model is projected from. Raises `OtherLog` if the read store belongs to another one. */
export async function logOf(engines: ProjectedEngines, projection: string): Promise<EventLog> {
  for (const { source, projections, log: open } of PROJECTED) {
    if (!projections.some(({ collection }) => collection.name === projection)) continue;
    const log = await open(engines);
    await refuseOtherLog(log, engines.store, projections, source);
    return log;
  }
  return engines.log;
}

/** The projections of these names, or all of them for `all`. Raises `UsageError`. */
export function projectionsNamed(...names: readonly string[]): readonly Projection[] {
  const all = PROJECTED.flatMap(({ projections }) => projections);
  const known = all.map(({ collection }) => collection.name);
  for (const name of names)
    if (name !== 'all' && !known.includes(name))
      throw new UsageError(`${name}: expected the name of a projection: ${known.join(', ')} or all`);
  return all.filter(({ collection }) => names.includes('all') || names.includes(collection.name));
}
