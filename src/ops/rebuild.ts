import { randomUUID } from 'node:crypto';
import { PROJECTIONS } from '../../projections/index';
import { recordOrigin, refuseOtherLog } from '../projector/origin';
import { rebuild, type Rebuilt, type RebuildOptions } from '../projector/rebuild';
import { type Engines } from '../engines/open';
import { projectionsNamed } from './projections-named';
import { runningCode } from '../projector/running-code';

/**
 * Builds a read model, or `all` of them in one pass, anew beside the live one and swaps it in. Raises
 * `UnknownProjection`, `RebuildUnderWay`, `RebuildRefused`, `OtherLog` unless all are swapped in whatever they are.
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
