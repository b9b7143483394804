import { DELIVERY_STREAMS } from '../../src/domain/deliveries/delivery-events';
import { redeliver } from '../../src/operations/notifications';
import { deliveryWorld, type Due, type Sample } from './delivery-samples';
import { POST_RECEIVER, subscription } from './subscription-network';
import { NOW } from './voucher-network';

const { world, settled, sample: sampleOf } = deliveryWorld();

const due = (sample: Sample): Promise<Due> => sample.due('one');

type Case = readonly [
  what: string,
  due: (sample: Sample) => Promise<Due>,
  /** What happens once reads show it. */
  then: (sample: Sample, message: Due) => unknown,
  owner: string,
  operator: string,
  /** Requests of both, and of `then`. */
  requests: number,
];

const CASES: readonly Case[] = [
  ['is sent again', due, () => undefined, '202', 'requested', 2],
  [
    'that is asked for already is again by operators only',
    due,
    (sample, { id }) => sample.post(`/deliveries/${id}/redeliver`),
    ...(['202', 'requested', 2] as const),
  ],
  [
    'of a deleted subscription is not',
    due,
    ({ id }) => world.send('DELETE', `/${id}`, 'nord'),
    ...(['404 CON_210', 'is deleted', 0] as const),
  ],
  [
    'to a receiver that was removed is not',
    (sample) => sample.due('one', { receiver: sample.receivers[1]! }),
    ({ id }) => world.put(id, subscription({ receivers: [POST_RECEIVER] })),
    ...(['404 CON_530', 'no longer has the receiver', 0] as const),
  ],
  [
    'that cannot be sent is not',
    (sample) => sample.due('one', { request: undefined, unsendable: 'its URL is too long' } as object),
    () => undefined,
    ...(['400 CON_350', 'cannot be sent: its URL is too long', 0] as const),
  ],
  [
    'that is no longer kept is not',
    due,
    async (sample) => {
      await sample.due('two');
      const log = await world.app.engines.deliveries();
      await log.expire(new Date(Date.now() + 1), DELIVERY_STREAMS);
    },
    ...(['404 CON_540', 'no longer kept', 0] as const),
  ],
];

describe('owners and operators have messages sent again by the same rules: one', () => {
  test.each(CASES)('%s (decisions N17)', async (_, make, then, owner, operator, requests) => {
    const sample = await sampleOf();
    const message = await make(sample);
    await settled();
    await then(sample, message);
    const answer = await sample.post(`/deliveries/${message.id}/redeliver`);
    const code = /CON_\d+/.exec(answer.body)?.[0];
    expect([answer.statusCode, ...(code === undefined ? [] : [code])].join(' ')).toBe(owner);
    const asked = redeliver(world.app.engines, message.id, new Date(NOW));
    expect(await asked.then(() => 'requested', String)).toContain(operator);
    expect(await sample.requests('RedeliveryRequested')).toHaveLength(requests);
  });
});
