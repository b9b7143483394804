import { Fault } from '../../kernel/fault';
import { type LoadRequest, type LoadResult } from './load/loader';

/** Runs a load and logs what it has done, or the code with which it was refused (`docs/decisions.md#x86`). */
export async function loggedLoad(
  log: (facts: object, text: string) => void,
  { feedId, mode }: Pick<LoadRequest, 'feedId' | 'mode'>,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  const began = performance.now();
  const facts = () => ({ feedId, mode, ms: Math.round(performance.now() - began) });
  try {
    const loaded = await load();
    const { loadId, counts } = loaded;
    log({ ...facts(), loadId, ...counts }, 'load');
    return loaded;
  } catch (error) {
    if (error instanceof Fault) log({ ...facts(), code: error.code }, 'load refused');
    throw error;
  }
}
