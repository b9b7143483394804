import {
  everyText,
  type FeedSourceEvent,
  type FetchedSource,
  isHeld,
  minutesOf,
  pauseAfter,
  type SourceCommand,
  sourceDecider,
  type SourceOutcome,
} from '../../../src/domain/products/feed-source';

const AT = '2026-03-01T00:00:00.000Z';
const SETTING = { url: 'https://shop.example/feed', minutes: 360 };
const refused = (message: string): Error => new Error(message);
const decider = sourceDecider({ notThere: refused, notHeld: refused });
const SHRINK = { listed: 10, removed: 6 };

/** The types of the events of each command, and the state after them; outcomes are of fetches that begin then. */
function after(...commands: readonly (SourceOutcome | 'set' | 'remove' | 'request' | 'accept')[]) {
  let state: FetchedSource | undefined;
  const types: string[] = [];
  for (const one of commands) {
    const events: readonly FeedSourceEvent[] = decider.decide(commandOf(one, state), state);
    types.push(events.map(({ type }) => type).join() || '-');
    for (const event of events) state = decider.evolve(state, event);
  }
  return { types, state };
}

function commandOf(
  one: SourceOutcome | 'set' | 'remove' | 'request' | 'accept',
  state: FetchedSource | undefined,
): SourceCommand {
  if (one === 'set') return { do: 'set', at: AT, setting: SETTING };
  if (typeof one === 'string') return { do: one, at: AT };
  if (state === undefined) throw new Error('nothing to fetch');
  return { do: 'conclude', at: AT, began: state, outcome: one };
}

const fetched = { is: 'fetched', importId: 'a' } as const;
const failed = { is: 'failed', reason: 'the status is 500' } as const;
const held = { is: 'held', ...SHRINK } as const;

describe('the source of a feed (decisions P40)', () => {
  it.each([
    { minutes: 720 },
    { url: 'https://shop.example/other' },
    { format: 'csv' },
    { map: 'name:Titel' },
  ])('is another one with %j', (change) => {
    const { state } = after('set', fetched);
    const events = decider.decide({ do: 'set', at: AT, setting: { ...SETTING, ...change } }, state);
    expect(events).toEqual([{ type: 'SourceSet', data: { ...SETTING, ...change, at: AT } }]);
    expect(decider.evolve(state, events[0] as FeedSourceEvent)).toMatchObject({ ...change, state: 'new' });
  });

  it.each([
    [
      'is fetched when it is set, and recorded once',
      ['set', 'set', fetched, fetched],
      'SourceSet,-,SourceFetched,-',
      'ok',
    ],
    [
      'fails once, and then works again',
      ['set', failed, failed, fetched],
      'SourceSet,SourceFailed,-,SourceFetched',
      'ok',
    ],
    [
      'is asked for',
      ['set', fetched, 'request', 'request', fetched],
      'SourceSet,SourceFetched,SourceFetchRequested,-,SourceFetched',
      'ok',
    ],
    [
      'is held until the next good file',
      ['set', held, held, fetched],
      'SourceSet,SourceHeld,-,SourceFetched',
      'ok',
    ],
    [
      'is held although a fetch has failed',
      ['set', held, failed, held],
      'SourceSet,SourceHeld,SourceFailed,SourceHeld',
      'held',
    ],
    [
      'is accepted',
      ['set', held, 'accept', 'accept', fetched],
      'SourceSet,SourceHeld,SourceShrinkAccepted,-,SourceFetched',
      'ok',
    ],
    ['is removed', ['set', 'remove', 'remove'], 'SourceSet,SourceRemoved,-', undefined],
  ] as const)('%s', (_, commands, types, state) => {
    const found = after(...commands);
    expect([found.types.join(), found.state?.state]).toEqual([types, state]);
  });

  it('needs to be there to be asked for, and to be held to be accepted', () => {
    expect(() => after('request')).toThrow('the feed has no source: set one first');
    expect(() => after('set', 'accept')).toThrow('nothing is held');
    expect(() => after('set', held, fetched, 'accept')).toThrow('nothing is held');
  });

  it('keeps what is asked for while it is fetched', () => {
    const { state: began } = after('set', fetched);
    const { state } = after('set', fetched, 'request');
    const conclude = (outcome: SourceOutcome) =>
      decider.decide({ do: 'conclude', at: AT, began: began!, outcome }, state);
    expect([conclude(fetched), conclude(failed), conclude(held)]).toEqual([[], [], []]);
    const other = decider.evolve(state, { type: 'SourceSet', data: { ...SETTING, minutes: 30, at: AT } });
    expect(decider.decide({ do: 'conclude', at: AT, began: state!, outcome: fetched }, other)).toEqual([]);
  });

  it('may shrink by half, or as far as somebody has accepted', () => {
    const shrinks = [5, 6].map((removed) => isHeld({ listed: 10, removed }));
    expect([...shrinks, isHeld(SHRINK, 6), isHeld(SHRINK, 5), isHeld({ listed: 0, removed: 0 })]).toEqual([
      ...[false, true],
      ...[false, true, false],
    ]);
  });

  it('is fetched regularly; after failures soon at first, then ever later', () => {
    const minutes = (every: number, failures: number, random = 0.5): number =>
      Math.round(pauseAfter({ url: '', minutes: every }, failures, random) / 60_000);
    expect([0, 1, 2, 3, 9, 10, 1000].map((failures) => minutes(360, failures))).toEqual([
      ...[360, 5, 10, 20, 1280, 1440, 1440],
    ]);
    expect([minutes(10_080, 12), minutes(15, 1, 0), minutes(15, 3, 0.999)]).toEqual([10_080, 5, 22]);
  });

  it('has a time from a quarter of an hour to a week', () => {
    const texts = ['15m', '90m', '6h', ' 1D ', '7d', '14m', '8d', '6', '6 h', '-6h', '1.5h', ''];
    expect(texts.map(minutesOf)).toEqual([15, 90, 360, 1440, 10_080, ...Array<undefined>(7).fill(undefined)]);
    expect([15, 90, 120, 1440, 2880, 1500].map(everyText)).toEqual(['15m', '90m', '2h', '1d', '2d', '25h']);
  });
});
