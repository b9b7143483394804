import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type Engines } from '../engines/open';
import { type EventLog } from '../kernel/event-log';
import { dropAllAsOf } from '../projector/as-of';
import { DELIVERY_LOG, DOMAIN_LOG, type Projection, type Source } from '../projector/projection';
import { recordOrigin, refuseOtherLog } from '../projector/origin';
import { rebuild, type RebuildParts, type Rebuilt } from '../projector/rebuild';
import { runningCode } from '../projector/running-code';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { UsageError } from './command-error';

export interface ProjectedEngines extends Pick<Engines, 'log' | 'store'> {
  readonly deliveries: () => Promise<EventLog>;
}

/** The read models of a log. */
interface Projected {
  readonly source: Source;
  readonly projections: readonly Projection[];
  readonly log: (engines: ProjectedEngines) => Promise<EventLog>;
}

export const PROJECTED: readonly Projected[] = [
  { source: DOMAIN_LOG, projections: PROJECTIONS, log: async ({ log }) => log },
  {
    source: DELIVERY_LOG,
    projections: DELIVERY_PROJECTIONS,
    log: async ({ deliveries }) => await deliveries(),
  },
];

type ProjectOptions = Pick<RebuildParts, 'onProgress' | 'signal' | 'force' | 'keepMs'>;

/**
 * Rebuilds a read model, or `all` of them in one pass over each log, and swaps it in. Raises `UsageError`,
 * `RebuildUnderWay`, `RebuildRefused`, and `OtherLog` unless all of a log are rebuilt with `force`.
 */
export async function rebuildProjections(
  engines: ProjectedEngines,
  name: string,
  options: ProjectOptions = {},
): Promise<readonly Rebuilt[]> {
  const { store } = engines;
  const chosen = projectionsNamed(name);
  const code = await runningCode();
  const rebuilt: Rebuilt[] = [];
  for (const { source, projections, log: open } of PROJECTED) {
    const own = projections.filter((projection) => chosen.includes(projection));
    if (own.length === 0) continue;
    const log = await open(engines);
    const isWhole = options.force === true && own.length === projections.length;
    if (!isWhole) await refuseOtherLog(log, store, projections, source);
    const whole = { ...options, clock: SYSTEM_CLOCK, source, owner: SYSTEM_CLOCK.uuid(), code };
    rebuilt.push(...(await rebuild(log, store, own, whole)));
    if (isWhole) await recordOrigin(log, store, projections, source);
    // They may be of the log that was there before.
    if (isWhole && source === DOMAIN_LOG) await dropAllAsOf(store, whole);
  }
  return rebuilt;
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
