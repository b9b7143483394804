import { load, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { overrideLog, withLog } from '../support/temporary-log';

/** The numbers of the first and the last event. */
const ends = {
  category: 'ends',
  readsEndsOnly: true,
  initial: [] as readonly number[],
  evolve: (seen: readonly number[], event: { readonly data: object }) => [
    ...seen,
    (event.data as { readonly number: number }).number,
  ],
} as const;

it.each([
  { count: 0, state: [], reads: 1 },
  { count: 1, state: [0], reads: 1 },
  { count: 2, state: [0, 1], reads: 2 },
  { count: 5, state: [0, 4], reads: 2 },
])('a decider that reads the ends only reads a stream of $count $reads times', ({ count, state, reads }) =>
  withLog(async (log) => {
    const events = Array.from({ length: count }, (_, number) =>
      toNewEvent({ type: 'Numbered', data: { number } }),
    );
    if (count > 0) await log.append('ends-1', NO_STREAM, events);
    let read = 0;
    const counting = overrideLog(log, {
      readStream: (...asked) => {
        read += 1;
        return log.readStream(...asked);
      },
    });
    expect(await load(counting, ends, 1)).toEqual({ state, revision: count - 1 });
    expect(read).toBe(reads);
  }),
);
