import fc from 'fast-check';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { type RecordedEvent, START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { explainMatches, type Explanation, missedMessages } from '../../../src/delivery/matching/explain';
import { Matcher } from '../../../src/delivery/matching/matcher';
import { receiverIdOf, receiversOf } from '../../../src/domain/subscriptions/receiver-id';
import { logFolder, type LogFolder } from '../../support/log-folder';
import { cases } from '../../support/size';
import { subscriptionDecider } from '../../../src/domain/subscriptions/subscription';
import { load } from '../../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { Parking } from '../../../src/runtime/parked-events';
import { histories, type Step } from './histories';
import { appendAll } from './matching-logs';
import { AT, claimTopic, content, created, DELETED, GET, moved, POST, replaced } from './recorded-events';
import { expectedOf } from './matching-model';

let folder: LogFolder;
let log: EventLog;
beforeEach(async () => {
  folder = await logFolder();
  ({ log } = await openLog(folder.file, false));
});
afterEach(async () => {
  await log.close();
  await folder.remove();
});

/** What each subscription made of the only event of a claim, by their ids. */
async function explained(only?: string): Promise<Readonly<Record<string, Explanation>>> {
  const [event] = await explainMatches(log, claimTopic, 'claim-1', { only });
  return Object.fromEntries(event?.subscriptions.map(({ id, explanation }) => [id, explanation]) ?? []);
}

test('a message that was made is explained with its id, one that was not by the disabled receiver', async () => {
  const disabled = { ...POST, disabled: true } as const;
  await appendAll(log, [
    ['subscription-s', created(1, { receivers: [GET, disabled] })],
    ['claim-1', moved()],
  ]);
  expect(await explained()).toEqual({
    s: {
      is: 'matched',
      receivers: [
        { id: receiverIdOf('s', GET), message: expect.stringMatching(/^msg_/) as string },
        { id: receiverIdOf('s', disabled) },
      ],
    },
  });
});

test('a message that was not made is explained by all clauses that exclude it (decisions N11)', async () => {
  const filter = { stateIds: [2, 3], programIds: [7], siteIds: [10], eventTypeIds: [5] };
  await appendAll(log, [
    ['subscription-s', created(1, { filter, siteId: 11 })],
    ['subscription-t', created(2, { disabled: true })],
    ['claim-1', moved()],
  ]);
  expect(await explained()).toEqual({
    s: {
      is: 'excluded',
      by: [
        { clause: 'stateIds', allowed: [2, 3], found: 1 },
        { clause: 'siteId', allowed: [11], found: 10 },
        { clause: 'programIds', allowed: [7], found: 1 },
        { clause: 'eventTypeIds', allowed: [5], found: 4 },
      ],
    },
    t: { is: 'disabled' },
  });
});

test('a subscription counts as it was at that time: later, replaced, deleted, of others', async () => {
  await appendAll(log, [
    ['subscription-before', created(1)],
    ['subscription-before', DELETED],
    ['subscription-changed', created(1, { filter: { stateIds: [2] } })],
    ['subscription-other', created(3)],
    ['claim-1', moved()],
    ['subscription-changed', replaced({})],
    ['subscription-later', created(2)],
  ]);
  expect(await explained()).toEqual({
    before: { is: 'deleted before', at: AT },
    changed: { is: 'excluded', by: [{ clause: 'stateIds', allowed: [2], found: 1 }] },
    later: { is: 'created later', at: AT },
  });
  expect(await explained('other')).toEqual({ other: { is: 'of no party' } });
  expect(await explained('none')).toEqual({});
});

test('messages are explained exactly as they were matched, in random histories', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const own = await logFolder();
      const { log: mine } = await openLog(own.file, false);
      const matcher = new Matcher([claimTopic]);
      const made = new Map<string, string[]>();
      await appendAll(mine, steps);
      for await (const { events } of mine.readAll({ after: START }))
        for (const event of events)
          for (const due of matcher.match(event))
            if (due.type === 'MessageDue' && event.stream.startsWith('claim-'))
              made.set(event.stream, [...(made.get(event.stream) ?? []), due.data.id]);
      const streams = new Set(steps.map(([stream]) => stream));
      for (const stream of [...streams].filter((name) => name.startsWith('claim-'))) {
        const messages = [...(await explainMatches(mine, claimTopic, stream))].flatMap(({ subscriptions }) =>
          subscriptions.flatMap(({ explanation }) =>
            explanation.is === 'matched' ? explanation.receivers.flatMap(({ message = [] }) => message) : [],
          ),
        );
        expect(messages.toSorted()).toEqual((made.get(stream) ?? []).toSorted());
      }
      await mine.close();
      await own.remove();
    }),
    { numRuns: cases(100, 5) },
  );
});

const EVER = { min: 0, max: Date.parse('2100-01-01') } as const;

/** Ids of the messages that a subscription has missed, `most` at a time. */
async function missedBy(id: string, most: number, times: { min: number; max: number } = EVER) {
  const { state } = await load(log, subscriptionDecider, id);
  if (state.is !== 'active') return undefined;
  const receivers = new Set(receiversOf(id, state.content).keys());
  const ids: string[] = [];
  for (let after: string | undefined; ;) {
    const missed = { topic: claimTopic, id, subscription: state, receivers, ...times, after };
    const { found, next } = await missedMessages(SYSTEM_CLOCK, log, missed, most);
    ids.push(...found.map(({ message }) => message));
    if (next === undefined) return { ids, state };
    after = next;
  }
}

async function everything(): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for await (const { events } of log.readAll({ after: START })) all.push(...events);
  return all;
}

const example = (stateId: number, at: Date) => claimTopic.example(stateId, at);

it('what was missed is what the subscription selects now, without what was made (decisions N14)', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.constantFrom(1, 3, 1000), async (steps, most) => {
      const own = await logFolder();
      const shared = log;
      ({ log } = await openLog(own.file, false));
      await appendAll(log, steps);
      const events = await everything();
      const made = new Set(expectedOf(events, example).map(({ id }) => id));
      const streams = new Set(events.map(({ stream }) => stream));
      for (const stream of streams) {
        if (!stream.startsWith('subscription-')) continue;
        const id = stream.replace('subscription-', '');
        const missed = await missedBy(id, most);
        if (missed === undefined) continue;
        const { content: subscription, organisationId } = missed.state;
        const now = { ...created(organisationId), data: { organisationId, subscription } };
        const first = { ...events[0]!, stream, type: now.type, data: JSON.stringify(now.data) };
        const moves = events.filter(({ type }) => type === 'ClaimMoved');
        const selected = expectedOf([first, ...moves], example).map((one) => one.id);
        expect(missed.ids).toEqual(selected.filter((one) => !made.has(one)));
      }
      await log.close();
      await own.remove();
      log = shared;
    }),
    { numRuns: cases(200, 20) },
  );
});

it('only what has happened between two times counts (decisions N14)', async () => {
  await appendAll(log, [
    ['claim-1', moved({ at: '2026-03-01T11:59:59.999Z' })],
    ['claim-1', moved()],
    ['claim-2', moved({ at: '2026-03-01T12:00:00.001Z', stateId: 2 })],
    ['claim-3', moved({ at: '2026-03-01T12:00:00.002Z' })],
    ['subscription-s', created(1, { filter: { stateIds: [2] } })],
    ['subscription-s', replaced(content())],
  ]);
  const min = Date.parse(AT);
  expect((await missedBy('s', 10, { min, max: min + 1 }))?.ids).toHaveLength(2);
  expect((await missedBy('s', 10, { min: min + 2, max: min + 2 }))?.ids).toHaveLength(1);
});

it('an event of a clock that was ahead hides none after it; a day behind the period it ends (decisions N17)', async () => {
  const mark = (day: number): Step => [
    'deliveries-matched',
    { type: 'DeliveriesMatched', data: { at: `2026-03-0${day}T18:00:00.000Z` } },
  ];
  await appendAll(log, [
    ['claim-1', moved({ at: '2026-03-01T16:00:00.000Z' })],
    ['claim-2', moved()],
    mark(1),
    ['claim-3', moved()],
    mark(2),
    ['claim-4', moved()],
    ['subscription-s', created(1)],
  ]);
  const at = Date.parse(AT);
  expect((await missedBy('s', 10, { min: at, max: at }))?.ids).toHaveLength(2);
});

it('what a retry of a parked event makes, or has made, was not missed (decisions N17, X103)', async () => {
  await appendAll(log, [['claim-1', moved()]]);
  const [event] = await everything();
  const parking = new Parking(SYSTEM_CLOCK, log, 'matcher');
  await parking.park(event!, { error: 'e', at: AT });
  await appendAll(log, [['subscription-before', created(1)]]);
  expect((await missedBy('before', 10))?.ids).toEqual([]);
  await parking.retry([event!.id], AT);
  await appendAll(log, [['subscription-after', created(1)]]);
  expect((await missedBy('before', 10))?.ids).toEqual([]);
  expect((await missedBy('after', 10))?.ids).toHaveLength(1);
  await parking.park(event!, { error: 'e', at: AT });
  await parking.skip(event!.id, { reason: 'r', by: 'o', at: AT });
  expect((await missedBy('after', 10))?.ids).toEqual([]);
});
