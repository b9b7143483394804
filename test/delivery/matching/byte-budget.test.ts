import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { type MatchedEvent, type Message } from '../../../src/domain/deliveries/delivery-events';
import { BEYOND, ByteBudget, MESSAGE_BYTES } from '../../../src/delivery/matching/messages-of';
import { continuationOf } from '../../../src/delivery/matching/cursor';
import { Matcher } from '../../../src/delivery/matching/matcher';
import { type Receiver, type SubscriptionEvent } from '../../../src/domain/subscriptions/subscription';
import { golden } from '../../support/golden';
import { overrideLog } from '../../support/temporary-log';
import { appendAll, matcherOf, matchedIn, withLogs } from './matching-logs';
import { type Step } from './histories';
import { claimTopic, created, moved, Recorded } from './recorded-events';

/** A body of four times a value of 64 KiB, to as many receivers as an organisation may have. */
const LARGE = 'e'.repeat(65_000);
const RECEIVERS = 10;
const SUBSCRIPTIONS = 100;

function receiver(number: number, times = 4): Receiver {
  const receiverBody = `"${'${epi}'.repeat(times)}"`;
  return {
    httpMethod: 'POST',
    receiverUrl: `https://${number}.example/`,
    receiverFormat: 'JSON',
    receiverBody,
  };
}

const receivers = Array.from({ length: RECEIVERS }, (_, number) => receiver(number));

/** An organisation with as many receivers as it may have. */
const subscribed = (organisation: number): readonly Step[] =>
  Array.from({ length: SUBSCRIPTIONS }, (_, number) => [
    `subscription-${organisation}-${number}`,
    created(organisation, { receivers }),
  ]);

const sizeOf = ({ request }: Message): number =>
  Buffer.byteLength(request?.url ?? '') + Buffer.byteLength(request?.body ?? '');

describe('The messages about one event to one organisation (decisions N15)', () => {
  it('have 16 MiB together, of which 256 KiB are stored: what exceeds it is not rendered, has the reason, and is rendered by a redelivery', () => {
    const [recorded, matcher] = [new Recorded(), new Matcher([claimTopic])];
    for (const [stream, event] of subscribed(1)) matcher.apply(recorded.append(stream, event));
    const event = recorded.append('claim-1', moved({ attributes: { epi: LARGE } }));
    const due = [...matcher.match(event)].map(({ data }) => data as Message);
    expect(due).toHaveLength(RECEIVERS * SUBSCRIPTIONS);
    const size = 4 * LARGE.length + 2 + 'https://0.example/'.length;
    const fitting = Math.floor(MESSAGE_BYTES.most / size);
    const rendered = due.slice(0, fitting);
    const stored = Math.floor(MESSAGE_BYTES.stored / size);
    expect(rendered.slice(0, stored).map(sizeOf)).toEqual(Array.from({ length: stored }, () => size));
    for (const message of rendered.slice(stored))
      expect([message.request, message.rendered, message.unsendable]).toEqual([undefined, START, undefined]);
    for (const { request, unsendable, renderable } of due.slice(fitting))
      expect([request, unsendable, renderable]).toEqual([
        undefined,
        'the messages to the organisation about this event have more than 16777216 bytes together',
        true,
      ]);
  });

  it('count also if they wait for an exchange rate', () => {
    const limits = { most: 1_000, stored: 500 };
    const [recorded, matcher] = [new Recorded(), new Matcher([claimTopic], undefined, limits)];
    const own = {
      receivers: [receiver(0, 1), receiver(1, 1), receiver(2, 1)],
      currencyConversion: { to: 'SEK' },
    };
    const hiding = own.receivers.map((one) => ({ ...one, receiverUrl: `${one.receiverUrl}\${amount}` }));
    matcher.apply(recorded.append('subscription-a', created(1, { ...own, receivers: hiding })));
    const event = recorded.append('claim-1', moved({ attributes: { epi: 'e'.repeat(450), amount: 1 } }));
    const due = [...matcher.match(event)].map(({ data }) => data as Message);
    expect(due.map(({ awaitsRate, renderable }) => [awaitsRate !== undefined, renderable])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, true],
    ]);
  });

  it('are limited for each organisation and each event', () => {
    const limits = { most: 100, stored: 50 };
    const [recorded, matcher] = [new Recorded(), new Matcher([claimTopic], undefined, limits)];
    for (const organisation of [1, 2])
      matcher.apply(
        recorded.append(
          `subscription-${organisation}`,
          created(organisation, { receivers: receivers.slice(0, 2) }),
        ),
      );
    for (const claim of ['claim-1', 'claim-2']) {
      const due = matcher.match(recorded.append(claim, moved({ attributes: { epi: 'e'.repeat(9) } })));
      expect([...due].map(({ data }) => [data.organisationId, (data as Message).renderable])).toEqual([
        [1, undefined],
        [2, undefined],
        [1, true],
        [2, true],
      ]);
    }
  });

  it('take what they need in their order, and nothing after what is too much', () => {
    const budget = new ByteBudget({ most: 10, stored: 4 });
    expect([3, 2, 1, 0, 4].map((bytes) => budget.take(bytes))).toEqual([
      'stored',
      'not stored',
      'stored',
      'stored',
      'not stored',
    ]);
    expect([1, 0].map((bytes) => budget.take(bytes))).toEqual(['beyond', 'beyond']);
    expect(budget.isSpent).toBe(true);
  });
});

it('a message beyond the budget, of an event or of a backfill, and a cursor within an event are read as they were first stored (test/golden)', async () => {
  const { event } = golden<MatchedEvent & { type: 'MessageDue' }>('MessageDue', '-renderable');
  const { unsendable, renderable } = event.data;
  expect({ unsendable, renderable }).toEqual(BEYOND);
  const [recorded, matcher] = [new Recorded(), new Matcher([claimTopic])];
  const { stream, event: requested } = golden<SubscriptionEvent>('MessageRequested', '-isBeyond');
  matcher.apply(recorded.append(stream, created(1)));
  const [due] = matcher.match(recorded.append(stream, requested));
  expect(due?.data).toMatchObject(BEYOND);
  await withLogs('sqlite', async ({ log, deliveries }) => {
    for (const variant of ['', '-inTurn', '-event']) {
      const { stream, event: cursor } = golden<MatchedEvent>('Matched', variant);
      await appendAll(deliveries, [[stream, cursor]]);
      const { complete, ...found } = await continuationOf(deliveries, log);
      expect([found.cursor, complete]).toEqual([cursor.data, 0]);
    }
  });
});

describe.each(['sqlite', 'eventstoredb'] as const)('What is written over %s (decisions N15)', (engine) => {
  it('is less than a megabyte for an event with 1,000 large messages, so that others wait for little', () =>
    withLogs(engine, async (logs) => {
      const large = moved({ attributes: { epi: LARGE }, parties: [1] });
      await appendAll(logs.log, [...subscribed(1), ['subscription-other', created(2)]]);
      const events = 5;
      for (let claim = 0; claim < events; claim += 1) await appendAll(logs.log, [[`claim-${claim}`, large]]);
      const head = await appendAll(logs.log, [['claim-other', moved({ parties: [2] })]]);
      let bytes = 0;
      let before: number | undefined;
      const deliveries: EventLog = overrideLog(logs.deliveries, {
        append: async (stream, expected, appended) => {
          for (const { data } of appended) {
            if (data.includes('"organisationId":2')) before ??= bytes;
            bytes += data.length;
          }
          return await logs.deliveries.append(stream, expected, appended);
        },
      });
      const matcher = matcherOf({ ...logs, deliveries });
      matcher.start();
      await matcher.reached(head);
      await matcher.stop();
      expect(before).toBeLessThan(events * 1_000_000);
      expect(await matchedIn(logs.deliveries)).toHaveLength(
        events * RECEIVERS * SUBSCRIPTIONS + 1 + (await cursors(logs.deliveries)),
      );
    }));

  it('has the messages to both organisations of an event in turn, so that neither waits for all of the other', () =>
    withLogs(engine, async (logs) => {
      const both = moved({ attributes: { epi: LARGE } });
      await appendAll(logs.log, [...subscribed(1), ['subscription-other', created(2)]]);
      const head = await appendAll(logs.log, [['claim-1', both]]);
      const matcher = matcherOf(logs);
      matcher.start();
      await matcher.reached(head);
      await matcher.stop();
      const order = (await matchedIn(logs.deliveries)).flatMap(({ type, data }) =>
        type === 'MessageDue' ? [data.organisationId] : [],
      );
      expect(order.indexOf(2)).toBe(1);
    }));

  async function cursors(deliveries: EventLog): Promise<number> {
    return (await matchedIn(deliveries)).filter(({ type }) => type === 'Matched').length;
  }
});
