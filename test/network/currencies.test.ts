import { Directory } from '../../src/network/directory';
import { type DirectoryEvent } from '../../src/network/events';
import { positionOf, START, streamOf } from '../../src/kernel/event';
import { AT, small } from './small-directory';

const program = small().program(31)!;
const feed = small().feed(301)!;

/** A directory after these events at positions 10, 20, 30 and so on. */
function after(events: readonly DirectoryEvent[]): Directory {
  const directory = new Directory();
  events.forEach(({ type, data }, at) => {
    const recorded = { id: '', stream: streamOf('any', 1), type, revision: at, meta: '{}' };
    directory.apply({ ...recorded, data: JSON.stringify(data), position: positionOf(10 * (at + 1)) });
  });
  return directory;
}

const defined = (id: number, currency: string): DirectoryEvent => ({
  type: 'ProgramDefined',
  data: { ...program, id, currency, at: AT },
});
const placed = (...programIds: number[]): DirectoryEvent => ({
  type: 'FeedDefined',
  data: { ...feed, programIds, at: AT },
});

describe('The currencies of the past', () => {
  it('are those of the first program of a feed at each position of the log (decisions P10)', () => {
    const { currencies } = after([
      defined(31, 'BGN'),
      placed(31, 32),
      defined(32, 'SEK'),
      defined(31, 'EUR'),
      defined(31, 'EUR'),
      placed(32),
      { type: 'ProgramRemoved', data: { id: 32, at: AT } },
      { type: 'FeedRemoved', data: { id: 301, at: AT } },
    ]);
    const at = (position: number) => currencies.ofFeed(301, positionOf(position));
    expect([5, 19, 21, 39, 41, 59, 61, 99].map(at)).toEqual([
      ...[undefined, undefined, 'BGN', 'BGN', 'EUR', 'EUR', 'SEK', 'SEK'],
    ]);
    expect([5, 10, 40].map((position) => currencies.ofProgram(31, positionOf(position)))).toEqual([
      ...[undefined, 'BGN', 'EUR'],
    ]);
    // When the present one began, however often the program was defined again (decisions V19).
    expect([31, 32, 99].map((id) => currencies.since(id))).toEqual([positionOf(40), positionOf(30), START]);
  });

  it('are unknown of feeds and programs that never existed', () => {
    const { currencies } = after([placed(99)]);
    expect([currencies.ofFeed(301, positionOf(99)), currencies.ofFeed(1, positionOf(99))]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
