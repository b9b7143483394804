import { allOf, filtersOn } from '../src/kernel/filters';
import { type Filter } from '../src/kernel/query';
import { type TransactionField } from './transactions';

const { between } = filtersOn<TransactionField>();

/** Pending transactions whose period has ended at `now` (epoch ms). */
export function periodsEndedBy(now: number): Filter {
  return allOf(between('due', { max: now }));
}

/**
 * Paused transactions of all programs but these, in ranges of program ids that an index answers: so it does not matter how
 * many transactions of these programs are Paused, how many other programs there are, or whether they have been removed.
 */
export function pausedOutside(programIds: readonly number[]): readonly Filter[] {
  const ids = programIds.toSorted((a, b) => a - b);
  return [...ids, Infinity].flatMap((id, at) => {
    const [min, max] = [(ids[at - 1] ?? -1) + 1, id - 1];
    if (min > max) return [];
    return allOf(between('pausedProgramId', { min, ...(max === Infinity ? {} : { max }) }));
  });
}
