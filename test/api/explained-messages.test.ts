import { randomUUID } from 'node:crypto';
import { type DomainEvent, execute, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { golden } from '../support/golden';
import { at, deliveryWorld } from './delivery-samples';
import { POST_RECEIVER, subscription } from './subscription-network';
import { refusalOf } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();
const { put } = world;

const { event: tracked } = golden<DomainEvent>('TransactionTracked');

/** A transaction of these parties, at a site of `preisblick`. Returns its id, and its event. */
async function transactionOf(advertiserId: number, publisherId: number) {
  const { transaction } = tracked.data as { readonly transaction: object };
  const data = { ...tracked.data, transaction: { ...transaction, advertiserId, publisherId, siteId: 1101 } };
  const id = randomUUID().replaceAll('-', '');
  const event = toNewEvent({ type: tracked.type, data }, randomUUID());
  await world.app.engines.log.append(`transaction-${id}`, NO_STREAM, [event]);
  return { id, event };
}

describe('why messages were sent, or not (decisions N14)', () => {
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
