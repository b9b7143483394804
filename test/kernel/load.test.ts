import { load, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { overrideLog, withLog } from '../support/temporary-log';

interface Seen {
  readonly type: 'Whole' | 'Part';
  readonly data: { readonly number: number };
}

/** The numbers of the events that were read. */
const seen = {
  category: 'seen',
  initial: [] as readonly number[],
  evolve: (before: readonly number[], { data }: Seen) => [...before, data.number],
} as const;

const isWhole = ({ type }: Seen): boolean => type === 'Whole';

it.each([
  { stream: '', state: [], reads: 1 },
  { stream: 'w', state: [0], reads: 1 },
  { stream: 'p', state: [0], reads: 1 },
  { stream: 'pp', state: [0, 1], reads: 1 },
  { stream: 'pw', state: [0, 1], reads: 1 },
  { stream: 'ppp', state: [0, 1, 2], reads: 2 },
  { stream: 'pwwp', state: [0, 2, 3], reads: 2 },
  { stream: 'wwwww', state: [0, 3, 4], reads: 2 },
  { stream: 'pwppppp', state: [0, 1, 2, 3, 4, 5, 6], reads: 4 },
  { stream: 'pppwp', state: [0, 3, 4], reads: 2 },
  { stream: 'ppwppp', state: [0, 2, 3, 4, 5], reads: 3 },
])(
  'of a stream $stream, where w supersedes what is before it, the events $state are read in $reads reads',
  ({ stream, state, reads }) =>
    withLog(async (log) => {
      const events = Array.from(stream, (kind, number) =>
        toNewEvent({ type: kind === 'w' ? 'Whole' : 'Part', data: { number } }),
      );
      if (events.length > 0) await log.append('seen-1', NO_STREAM, events);
      let read = 0;
      const counting = overrideLog(log, {
        readStream: (...asked) => {
          read += 1;
          return log.readStream(...asked);
        },
      });
      expect(await load(counting, { ...seen, supersedes: isWhole }, 1)).toEqual({
        state,
        revision: events.length - 1,
      });
      expect(read).toBe(reads);
    }),
);

it('without such events the whole stream is read', () =>
  withLog(async (log) => {
    const events = Array.from({ length: 5 }, (_, number) => toNewEvent({ type: 'Whole', data: { number } }));
    await log.append('seen-1', NO_STREAM, events);
    expect(await load(log, seen, 1)).toEqual({ state: [0, 1, 2, 3, 4], revision: 4 });
  }));
