import { randomUUID } from 'node:crypto';
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
  { stream: 'pwppppp', state: [0, 1, 2, 3, 4, 5, 6], reads: 3 },
  { stream: 'pppwp', state: [0, 3, 4], reads: 2 },
  { stream: 'ppwppp', state: [0, 1, 2, 3, 4, 5], reads: 2 },
])(
  'of a stream $stream, where w supersedes what is before it, the events $state are read in $reads reads',
  ({ stream, state, reads }) =>
    withLog(async (log) => {
      const events = Array.from(stream, (kind, number) =>
        toNewEvent({ type: kind === 'w' ? 'Whole' : 'Part', data: { number } }, randomUUID()),
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
        position: await log.head(),
        events: state.length,
      });
      expect(read).toBe(reads);
    }),
);

it('without such events the whole stream is read', () =>
  withLog(async (log) => {
    const events = Array.from({ length: 5 }, (_, number) =>
      toNewEvent({ type: 'Whole', data: { number } }, randomUUID()),
    );
    await log.append('seen-1', NO_STREAM, events);
    expect(await load(log, seen, 1)).toMatchObject({ state: [0, 1, 2, 3, 4], revision: 4 });
  }));

it.each([
  { events: 1_100, bytes: 1, whole: 1_101 },
  { events: 40, bytes: 100_000, whole: 41 },
])(
  'where the last such event is far back, $events events of $bytes bytes, the stream is read in order',
  (far) =>
    withLog(async (log) => {
      const whole = toNewEvent({ type: 'Whole', data: { number: 0 } }, randomUUID());
      let { revision } = await log.append('seen-1', NO_STREAM, [whole]);
      const data = { number: 1, text: 'x'.repeat(far.bytes) };
      for (let left = far.events; left > 0; left -= 10) {
        const events = Array.from({ length: 10 }, () => toNewEvent({ type: 'Part', data }, randomUUID()));
        ({ revision } = await log.append('seen-1', revision, events));
      }
      const orders: boolean[] = [];
      const counting = overrideLog(log, {
        readStream: (stream, options) => {
          orders.push(options?.backwards === true);
          return log.readStream(stream, options);
        },
      });
      const loaded = await load(counting, { ...seen, supersedes: isWhole }, 1);
      expect([loaded.state.length, loaded.revision]).toEqual([far.whole, revision]);
      expect(orders).toEqual([...Array.from({ length: orders.length - 1 }, () => true), false]);
    }),
);
