import { type Decider, execute, type StateAt, type Version, versionsOf } from '../../src/kernel/decider';
import { type EventLog } from '../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { withLog } from '../support/temporary-log';

type Fields = Readonly<Record<string, unknown>>;
type BoxEvent =
  | { readonly type: 'BoxFilled'; readonly data: { readonly at: string; readonly fields: Fields } }
  | { readonly type: 'BoxEmptied'; readonly data: { readonly at: string } };
type BoxState = { readonly owner: string; readonly fields: Fields | undefined };

/** Each event adds to the fields: a version cannot be read from its event alone. */
const boxes: Decider<BoxEvent, BoxState, BoxEvent> = {
  category: 'box',
  initial: { owner: 'nobody', fields: undefined },
  decide: (event) => [event],
  evolve: (state, event) =>
    event.type === 'BoxEmptied'
      ? { ...state, fields: undefined }
      : { owner: 'somebody', fields: { ...state.fields, ...event.data.fields } },
};

const second = (number: number): string => new Date(number * 1000).toISOString();
const filled = (number: number, fields: Fields): BoxEvent => ({
  type: 'BoxFilled',
  data: { at: second(number), fields },
});
const emptied = (number: number): BoxEvent => ({ type: 'BoxEmptied', data: { at: second(number) } });

const fieldsOf = ({ fields }: BoxState): Fields | undefined =>
  fields && Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

async function versions(log: EventLog, to: number): Promise<readonly Version<BoxState>[]> {
  const all: Version<BoxState>[] = [];
  for await (const batch of versionsOf(log, boxes, 9, fieldsOf, { to })) all.push(...batch);
  return all;
}

describe('The history of an aggregate (decisions X42)', () => {
  it('has a version for each event, with the fields that changed by the fold, and the states before and after', () =>
    withLog(async (log) => {
      const events = [
        filled(1, { a: 1, b: [1, 2] }),
        filled(2, { b: [1, 2], c: 'new' }),
        filled(3, { a: null }),
        emptied(4),
        filled(5, { b: [1, 2] }),
      ];
      for (const event of events) await execute(SYSTEM_CLOCK, log, boxes, 9, event);
      const found = await versions(log, events.length);
      expect(found.map(({ version, time, changed }) => ({ version, time, changed }))).toEqual([
        { version: 1, time: second(1), changed: ['a', 'b'] },
        { version: 2, time: second(2), changed: ['c'] },
        { version: 3, time: second(3), changed: ['a'] },
        { version: 4, time: second(4), changed: [] },
        { version: 5, time: second(5), changed: ['b'] },
      ]);
      expect(found[0]?.before).toBe(boxes.initial);
      expect(found[1]?.before).toEqual(found[0]?.after);
      expect(found[4]?.after).toEqual({ owner: 'somebody', fields: { b: [1, 2] } });
      expect(await versions(log, 2)).toEqual(found.slice(0, 2));
    }));

  it('has the last 1,000 versions, by their own numbers', () =>
    withLog(async (log) => {
      let known: StateAt<BoxState> | undefined;
      for (let number = 1; number <= 1010; number += 1) {
        const event = filled(number, number === 5 ? { old: true } : { n: number });
        const { state } = await execute(SYSTEM_CLOCK, log, boxes, 9, event, known);
        known = { state, revision: number - 1 };
      }
      const found = await versions(log, 1010);
      expect(found.map(({ version }) => version)).toEqual(Array.from({ length: 1000 }, (_, at) => at + 11));
      expect(found[0]).toMatchObject({ version: 11, time: second(11), changed: ['n'] });
    }));

  it('is none where nothing was written', () =>
    withLog(async (log) => expect(await versions(log, 0)).toEqual([])));
});
