import { randomUUID } from 'node:crypto';
import { PROJECTIONS } from '../../projections/index';
import { rebuild, type Rebuilt, type RebuildOptions } from '../../projections/rebuild';
import { type Engines } from '../engines/open';
import { runningCode } from './running-code';

/** There is no projection of this name; the message names those there are. */
class UnknownProjection extends Error {
  override readonly name = 'UnknownProjection';
}

/**
 * Builds a read model, or `all` of them in one pass, anew beside the live one and swaps it in. Raises
 * `UnknownProjection`, `RebuildUnderWay`, `RebuildRefused`.
 */
export async function rebuildProjections(
  { log, store }: Engines,
  name: string,
  options: Pick<RebuildOptions, 'onProgress' | 'signal' | 'force'> = {},
): Promise<readonly Rebuilt[]> {
  const chosen = PROJECTIONS.filter(({ collection }) => name === 'all' || collection.name === name);
  if (chosen.length === 0) {
    const names = PROJECTIONS.map(({ collection }) => collection.name);
    throw new UnknownProjection(`${name} is no projection; there are: ${names.join(', ')}, all`);
  }
  return await rebuild(log, store, chosen, { ...options, owner: randomUUID(), code: await runningCode() });
}
