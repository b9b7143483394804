import { randomUUID } from 'node:crypto';
import { type DomainEvent, execute, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestClock } from '../support/clock';
import { golden } from '../support/golden';
import { streamOf } from '../contracts/event-log/events';
import { at, deliveryWorld, type Json, type Sample } from './delivery-samples';
import { POST_RECEIVER, subscription } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

describe('why messages were sent, or not (decisions N14)', () => {
  const { put } = world;

  const { event: tracked } = golden<DomainEvent>('TransactionTracked');

  /** A transaction of these parties, at a site of `preisblick`. Returns its id, and its event. */
  async function transactionOf(advertiserId: number, publisherId: number) {
    const { transaction } = tracked.data as { readonly transaction: object };
    const data = {
      ...tracked.data,
      transaction: { ...transaction, advertiserId, publisherId, siteId: 1101 },
    };
    const id = randomUUID().replaceAll('-', '');
    const event = toNewEvent({ type: tracked.type, data }, randomUUID());
    await world.app.engines.log.append(`transaction-${id}`, NO_STREAM, [event]);
    return { id, event };
  }

  const filter = { messageTypeIds: [1] };

  it('is explained to the owner of a subscription, with what has become of the messages', async () => {
    const sample = await sampleOf('nord', { filter });
    const { id, event } = await transactionOf(1, 11);
    const [first, second] = sample.receivers;
    const due = await history().due(event.id, {
      ...{ subscriptionId: sample.id, organisationId: 1, receiver: first!, subject: id, at: at(0) },
    });
    await history().outcome(due);
    await settled();
    const explained = await sample.get(`/explain/${id}`);
    expect(explained.json()).toEqual([
      {
        sequenceNumber: '1',
        time: '2026-01-05T08:00:00.000Z',
        messageTypeId: 1,
        result: 'matched',
        messages: [
          { receiverId: first, messageId: due.id, state: 'delivered' },
          { receiverId: second, messageId: expect.stringMatching(/^msg_/) as string },
        ],
      },
    ]);
    expect((await sample.get(`/explain/${id}.xml`)).body).toContain('<result>matched</result>');
  });

  it('names the currencies if a message waits for an exchange rate (decisions N12)', async () => {
    const sample = await sampleOf('nord', { filter });
    const { id, event } = await transactionOf(1, 11);
    const [receiver] = sample.receivers;
    const due = await history().due(event.id, {
      ...{ subscriptionId: sample.id, organisationId: 1, receiver: receiver!, subject: id, at: at(0) },
    });
    const reason = 'there is no exchange rate of NOK to SEK';
    await history().decided(due, { outcome: 'failed', error: reason });
    await settled();
    const [explained] = await sample.json(`/explain/${id}`);
    expect((explained?.['messages'] as readonly object[])[0]).toEqual({
      ...{ receiverId: receiver, messageId: due.id, state: 'retrying', reason },
    });
  });

  it('names each part of the filter that excludes it, what was disabled, and what was created later', async () => {
    const { id: earlier } = await transactionOf(1, 11);
    const sample = await sampleOf('nord', { filter: { messageTypeIds: [4, 6], eventTypeIds: [4] } });
    const { id: excluded } = await transactionOf(1, 11);
    await put(sample.id, subscription({ filter, disabled: true }));
    const { id: disabled } = await transactionOf(1, 11);
    await put(sample.id, subscription({ filter, receivers: [{ ...POST_RECEIVER, disabled: true }] }));
    const { id: receiver } = await transactionOf(1, 11);
    const explain = async (id: string) => (await sample.json(`/explain/${id}`))[0];
    expect(await explain(earlier)).toMatchObject({
      result: 'createdLater',
      reason: expect.stringContaining('the subscription was created at 20') as string,
      messages: [],
    });
    expect(await explain(excluded)).toMatchObject({
      result: 'excluded',
      reason: 'filter.messageTypeIds has 4, 6 only, not 1; filter.eventTypeIds has 4 only, not 5',
    });
    expect(await explain(disabled)).toMatchObject({
      result: 'disabled',
      reason: 'the subscription was disabled',
    });
    const [message] = (await explain(receiver))?.['messages'] as readonly object[];
    expect(message).toEqual({ receiverId: expect.any(String) as string });
  });

  it('is not explained to others: of the transaction (CON_500), of the subscription, or of another site', async () => {
    const sample = await sampleOf('nord', { filter });
    const { id: others } = await transactionOf(2, 11);
    for (const id of [others, '0'.repeat(32), 'x y', '..%2F7'])
      expect(refusalOf(await sample.get(`/explain/${id}`)).codes).toBe('404 CON_500');
    const { id } = await transactionOf(1, 11);
    expect((await sample.get(`/explain/${id}`)).statusCode).toBe(200);
    expect(refusalOf(await world.get(`/${sample.id}/explain/${id}`, 'casa')).codes).toBe('403 CON_200');
    const ofSite = await sampleOf('preisblick', { filter });
    expect((await ofSite.get(`/explain/${id}`)).statusCode).toBe(200);
    await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, ofSite.id, {
      do: 'delete',
      at: at(0),
    });
    expect(refusalOf(await ofSite.get(`/explain/${id}`)).codes).toBe('404 CON_210');
  });
});

describe('a backfill (decisions N14)', () => {
  const { put } = world;

  const PERIOD = { minTime: at(0), maxTime: at(5) };
  const ALL = { filter: { messageTypeIds: [1] } };

  /** Transactions of `nord`, of `casa`, and one before the period, that nobody was notified of. */
  async function happened(count: number): Promise<void> {
    const { event } = golden<DomainEvent>('TransactionTracked');
    const { transaction } = event.data as { readonly transaction: object };
    const times = [at(-1), ...Array.from({ length: count + 1 }, (_, n) => at(n / 100))];
    for (const [n, time] of times.entries()) {
      const data = {
        ...event.data,
        at: time,
        transaction: { ...transaction, advertiserId: n === 1 ? 2 : 1 },
      };
      const stream = `transaction-${randomUUID().replaceAll('-', '')}`;
      await world.app.engines.log.append(stream, NO_STREAM, [toNewEvent({ ...event, data }, randomUUID())]);
    }
  }

  /** Ids of the messages that were requested. */
  async function requestsOf({ id }: Sample): Promise<readonly unknown[]> {
    const events = await streamOf(world.app.engines.log, `deliveryrequests-${id}`);
    return events
      .filter(({ type }) => type === 'MessageRequested')
      .map(({ data }) => (JSON.parse(data) as Json)['message']);
  }

  beforeAll(() => happened(3));

  test('makes the messages of a period that the subscription selects now, once', async () => {
    const sample = await sampleOf('nord', ALL);
    const dry = await sample.post('/backfills', { ...PERIOD, dryRun: true });
    expect([dry.statusCode, dry.json()]).toEqual([202, { requested: 6 }]);
    expect(await requestsOf(sample)).toEqual([]);
    const [receiverId] = sample.receivers;
    expect((await sample.post('/backfills', { ...PERIOD, receiverId })).json()).toEqual({ requested: 3 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => sample.post('/backfills', PERIOD)));
    const counts = answers.map((answer) => answer.json<{ readonly requested: number }>().requested);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
    const requests = await requestsOf(sample);
    expect([requests.length, new Set(requests).size]).toEqual([6, 6]);
    expect((await sample.post('/backfills', PERIOD)).json()).toEqual({ requested: 0 });
  });

  test('makes no message again that a process has asked for whose clock is hours slow (decisions N17)', async () => {
    const sample = await sampleOf('nord', ALL);
    const slow = await world.app.again({
      clock: new TestClock(() => new Date(Date.parse(at(0)) - 2 * 3_600_000)),
    });
    const { statusCode, body } = await slow.inject({
      method: 'POST',
      url: `/1.0/conversions/subscriptions/${sample.id}/backfills?token=${CONVERSION_TOKENS.nord}`,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      payload: JSON.stringify(PERIOD),
    });
    await slow.close();
    expect([statusCode, JSON.parse(body)]).toEqual([202, { requested: 6 }]);
    expect((await sample.post('/backfills', PERIOD)).json()).toEqual({ requested: 0 });
  });

  test('makes none that were made when it happened, since the subscription had selected it', async () => {
    const sample = await sampleOf('nord', ALL);
    await happened(2);
    const [period, one] = [{ minTime: at(-2), maxTime: at(9) }, at(0)];
    expect((await sample.post('/backfills', { ...period, dryRun: true })).json()).toEqual({ requested: 8 });
    await put(sample.id, subscription({ filter: { messageTypeIds: [4] } }));
    expect((await sample.post('/backfills', { ...period, minTime: one })).json()).toEqual({ requested: 0 });
  });

  test('reads the log one at a time in a process, so that others are served meanwhile', async () => {
    const samples = await Promise.all([1, 2, 3].map(() => sampleOf('nord', ALL)));
    const { log } = world.app.engines;
    const readAll = log.readAll.bind(log);
    let [open, most, all] = [0, 0, 0];
    const spy = jest.spyOn(log, 'readAll').mockImplementation(async function* (options) {
      const isBackfill = options.prefixes?.includes('transaction-') === true && options.prefixes.length === 2;
      open += isBackfill ? 1 : 0;
      all += isBackfill ? 1 : 0;
      most = Math.max(most, open);
      try {
        yield* readAll(options);
      } finally {
        open -= isBackfill ? 1 : 0;
      }
    });
    const answers = await Promise.all(samples.map((sample) => sample.post('/backfills', PERIOD)));
    spy.mockRestore();
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([202, 202, 202]);
    expect([all, most]).toEqual([3, 1]);
  });

  test('can be cancelled, by its owner', async () => {
    const sample = await sampleOf('nord', ALL);
    await sample.post('/backfills', PERIOD);
    const cancelled = await world.send('DELETE', `/${sample.id}/backfills`, 'nord');
    expect([cancelled.statusCode, cancelled.body]).toEqual([200, '']);
    const events = await streamOf(world.app.engines.log, `subscription-${sample.id}`);
    expect(events.at(-1)?.type).toBe('BackfillsCancelled');
    expect(refusalOf(await world.send('DELETE', `/${sample.id}/backfills`, 'casa')).codes).toBe(
      '403 CON_200',
    );
    expect(refusalOf(await world.send('POST', `/${sample.id}/backfills`, 'casa', PERIOD)).codes).toBe(
      '403 CON_200',
    );
  });

  test.each([
    ['/backfills', { ...PERIOD, dryrun: true }, 'dryrun'],
    ['/redeliveries', { ...PERIOD, dryRun: true, receiver: 'x' }, 'receiver'],
    ['/redeliveries', { minTime: 'x', dry_run: true }, 'dry_run'],
    ['/receivers/0123456789abcdef/test', { messageTypeID: 4 }, 'messageTypeID'],
  ])(
    'and the other requests for messages name the fields that they do not know: %s (decisions A15)',
    async (path, posted, name) => {
      const sample = await sampleOf('nord', ALL);
      const { headers } = await sample.post(path, posted);
      expect(headers['x-ignored-fields']).toBe(name);
    },
  );

  test('is refused for a time that is too long ago, with all that is wrong with it', async () => {
    const sample = await sampleOf('nord', ALL);
    const old = new Date(NOW - 31 * 24 * 3_600_000).toISOString();
    const answer = refusalOf(await sample.post('/backfills', { ...PERIOD, minTime: old, cursor: 'x' }));
    expect(answer.codes).toBe('400 CON_350 CON_350');
    expect(answer.message).toContain(`minTime is ${old}: expected 20`);
    const unknown = await sample.post('/backfills', { ...PERIOD, receiverId: '0' });
    expect(refusalOf(unknown).codes).toBe('404 CON_530');
  });
});
