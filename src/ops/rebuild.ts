import { randomUUID } from 'node:crypto';
import { PROJECTIONS } from '../../projections/index';
import { recordOrigin, refuseOtherLog } from '../../projections/origin';
import { rebuild, type Rebuilt, type RebuildOptions } from '../../projections/rebuild';
import { type Engines } from '../engines/open';
import { runningCode } from './running-code';

/** There is no projection of this name; the message names those there are. */
class UnknownProjection extends Error {
  override readonly name = 'UnknownProjection';
}

/**
 * Builds a read model, or `all` of them in one pass, anew beside the live one and swaps it in. Raises
 * `UnknownProjection`, `RebuildUnderWay`, `RebuildRefused`, `OtherLog` unless all are swapped in whatever they are.
 */
export async function rebuildProjections(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  name: string,
  options: Pick<RebuildOptions, 'onProgress' | 'signal' | 'force'> = {},
): Promise<readonly Rebuilt[]> {
  const chosen = PROJECTIONS.filter(({ collection }) => name === 'all' || collection.name === name);
  if (chosen.length === 0) {
    const names = PROJECTIONS.map(({ collection }) => collection.name);
    throw new UnknownProjection(`${name} is no projection; there are: ${names.join(', ')}, all`);
  }
  const isWhole = options.force === true && chosen.length === PROJECTIONS.length;
  if (!isWhole) await refuseOtherLog(log, store);
  const rebuilt = await rebuild(log, store, chosen, {
    ...options,
    owner: randomUUID(),
    code: await runningCode(),
  });
  if (isWhole) await recordOrigin(log, store);
  return rebuilt;
}
