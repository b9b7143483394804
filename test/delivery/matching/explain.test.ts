import fc from 'fast-check';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { type Explanation, explainMatches } from '../../../src/delivery/matching/explain';
import { Matcher } from '../../../src/delivery/matching/matcher';
import { receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { logFolder, type LogFolder } from '../../support/log-folder';
import { cases } from '../../support/size';
import { histories } from './histories';
import { appendAll } from './matching-logs';
import { AT, claimTopic, created, DELETED, GET, moved, POST, replaced } from './recorded-events';

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
