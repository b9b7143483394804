import { randomUUID } from 'node:crypto';
import { PROJECTIONS } from '../../projections/index';
import { type Projection } from '../projector/projection';
import { recordOrigin, refuseOtherLog } from '../projector/origin';
import { rebuild, type Rebuilt, type RebuildOptions } from '../projector/rebuild';
import { type Engines } from '../engines/open';
import { runningCode } from '../projector/running-code';

/**
 * Rebuilds a read model, or `all` of them in one pass, and swaps it in. Raises `UnknownProjection`, `RebuildUnderWay`,
 * `RebuildRefused`, and `OtherLog` unless all of them are rebuilt with `force`.
 */
export async function rebuildProjections(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  name: string,
  options: Pick<RebuildOptions, 'onProgress' | 'signal' | 'force'> = {},
): Promise<readonly Rebuilt[]> {
  const chosen = projectionsNamed(name);
  const isWhole = options.force === true && chosen.length === PROJECTIONS.length;
  if (!isWhole) await refuseOtherLog(log, store, PROJECTIONS);
  const rebuilt = await rebuild(log, store, chosen, {
    ...options,
    owner: randomUUID(),
    code: await runningCode(),
  });
  if (isWhole) await recordOrigin(log, store, PROJECTIONS);
  return rebuilt;
}

class UnknownProjection extends Error {
  override readonly name = 'UnknownProjection';
}

/** The projection of this name, or all of them for `all`. Raises `UnknownProjection`. */
export function projectionsNamed(name: string): readonly Projection[] {
  const chosen = PROJECTIONS.filter(({ collection }) => name === 'all' || collection.name === name);
  if (chosen.length > 0) return chosen;
  const names = PROJECTIONS.map(({ collection }) => collection.name);
  throw new UnknownProjection(`${name}: expected the name of a projection: ${names.join(', ')} or all`);
}
