import { randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { streamOf } from '../contracts/event-log/events';
import { golden } from '../support/golden';
import { at, deliveryWorld, type Json, type Sample } from './delivery-samples';
import { subscription } from './subscription-network';
import { NOW, refusalOf } from './voucher-network';

const { world, sample: sampleOf } = deliveryWorld();
const { put } = world;

const PERIOD = { minTime: at(0), maxTime: at(5) };
const ALL = { filter: { messageTypeIds: [1] } };

/** Transactions of `nord`, of `casa`, and one before the period, that nobody was notified of. */
async function happened(count: number): Promise<void> {
  const { event } = golden<DomainEvent>('TransactionTracked');
  const { transaction } = event.data as { readonly transaction: object };
  const times = [at(-1), ...Array.from({ length: count + 1 }, (_, n) => at(n / 100))];
  for (const [n, time] of times.entries()) {
    const data = { ...event.data, at: time, transaction: { ...transaction, advertiserId: n === 1 ? 2 : 1 } };
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

describe('a backfill (decisions N14)', () => {
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
