import { oldestDeliveries } from '../../projections/deliveries';
import { type DeliveryRequest, requestStream } from '../../src/domain/subscriptions/delivery-requests';
import { streamOf } from '../contracts/event-log/events';
import { deliveryLines } from '../../src/operations/notifications';
import { OTHER_TOKENS } from './network';
import { at, deliveryWorld, type Due, type Json, type Sample } from './delivery-samples';
import { NOW, refusalOf } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();
const PERIOD = { minTime: at(1), maxTime: at(4) };
const MINUTE = 60_000;

/** Six messages, an hour apart: the first one is dead, the last one cancelled, the others were delivered. */
async function delivered(): Promise<{ readonly sample: Sample; readonly messages: readonly Due[] }> {
  const sample = await sampleOf();
  const messages: Due[] = [];
  for (let n = 0; n < 6; n += 1) {
    const message = await sample.due(`m${n}`, { at: at(n) });
    if (n === 5) await history().decided(message, { outcome: 'cancelled' });
    else await history().outcome(message, { outcome: n === 1 ? 'dead' : 'delivered' });
    messages.push(message);
  }
  await settled();
  return { sample, messages };
}

/** Whether operators see that a message is to be sent again: over HTTP, and by `affilog notifications`. */
async function pendingForOperators({ id, subscriptionId }: Due): Promise<readonly boolean[]> {
  const token = OTHER_TOKENS.operator;
  const answer = await world.app.get(`/ops/1.0/deliveries;subscriptionId=${subscriptionId}`, { token });
  const listed = answer.json<readonly Json[]>().find(({ messageId }) => messageId === id)!;
  const listing = { most: 100, now: new Date(NOW), count: () => undefined };
  const lines: string[] = [];
  const criteria = { subscriptionId: [subscriptionId], at: {} };
  for await (const line of deliveryLines(world.app.engines, criteria, listing)) lines.push(line);
  const line = lines.find((one) => one.includes(id))!;
  return ['redeliveryRequested' in listed, line.includes('to be sent again')];
}

/** Ids of the messages that were asked for. */
async function requestsOf({ id }: Sample): Promise<readonly string[]> {
  const events = await streamOf(world.app.engines.log, requestStream(id));
  return events.flatMap(({ type, data }) => {
    const event = { type, data: JSON.parse(data) as object } as DeliveryRequest;
    return event.type === 'RedeliveryRequested' ? [event.data.message] : [];
  });
}

const idsOf = (messages: readonly Due[], ...at: readonly number[]) => at.map((n) => messages[n]?.id);

describe('redeliveries of a period (decisions N14, N17)', () => {
  test('are of dead letters by default, of delivered and of cancelled messages if their state is named', async () => {
    const { sample, messages } = await delivered();
    const answer = await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    expect([answer.statusCode, answer.json()]).toEqual([202, { requested: 3, remaining: 0 }]);
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4));
    const cancelled = await sample.post('/redeliveries', { ...PERIOD, maxTime: at(9), state: 'cancelled' });
    expect(cancelled.json()).toEqual({ requested: 1, remaining: 0 });
    expect((await sample.post('/redeliveries', PERIOD)).json()).toEqual({ requested: 1, remaining: 0 });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4, 5, 1));
  });

  test('are only counted with dryRun', async () => {
    const { sample, messages } = await delivered();
    const dry = { ...PERIOD, state: 'delivered', dryRun: true };
    await sample.post(`/deliveries/${messages[2]!.id}/redeliver`);
    expect((await sample.post('/redeliveries', dry)).json()).toEqual({ requested: 2, remaining: 0 });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2));
  });

  test('continue after the last one by a cursor, which belongs to the period', async () => {
    const { sample, messages } = await delivered();
    const criteria = { subscriptionId: [sample.id], states: [{ state: 'delivered' }] as const, at: {} };
    const { store } = world.app.engines;
    const first = await oldestDeliveries(store, criteria, { most: 2, start: null }, () => true);
    expect(first).toMatchObject({ remaining: 2 });
    const rest = await oldestDeliveries(store, criteria, { most: 2, start: first.next! }, () => true);
    expect(rest).toMatchObject({ remaining: 0 });
    const found = [...first.found, ...rest.found].map(({ messageId }) => messageId);
    expect(found).toEqual(idsOf(messages, 0, 2, 3, 4));
    const refused = await sample.post('/redeliveries', { ...PERIOD, cursor: 'x' });
    expect(refusalOf(refused).codes).toBe('400 CON_350');
  });

  test('can be cancelled as long as they are not attempted, and asked for again', async () => {
    const { sample, messages } = await delivered();
    const message = messages[2]!;
    await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    await history().redeliver(message, new Date(NOW).toISOString());
    await settled();
    const pendingOf = async ({ id }: Due) =>
      (await sample.json<Json>(`/deliveries/${id}`))['redeliveryRequested'];
    expect(await pendingOf(message)).toBe(new Date(NOW).toISOString());
    expect(await pendingForOperators(message)).toEqual([true, true]);
    world.passTo(NOW + MINUTE);
    const cancelled = await world.send('DELETE', `/${sample.id}/redeliveries`, 'nord');
    expect([cancelled.statusCode, cancelled.body]).toEqual([200, '']);
    expect(await pendingOf(message)).toBeUndefined();
    expect(await pendingForOperators(message)).toEqual([false, false]);
    expect((await sample.json('/deliveries')).filter((one) => 'redeliveryRequested' in one)).toEqual([]);
    world.passTo(NOW + 2 * MINUTE);
    await sample.post('/redeliveries', { ...PERIOD, state: 'delivered' });
    expect(await requestsOf(sample)).toEqual(idsOf(messages, 2, 3, 4, 2, 3, 4));
    expect(refusalOf(await world.send('DELETE', `/${sample.id}/redeliveries`, 'casa')).codes).toBe(
      '403 CON_200',
    );
  });
});
