import { randomUUID } from 'node:crypto';
import { type DomainEvent, toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { golden } from '../support/golden';
import { deliveryWorld } from './delivery-samples';
import { type Copy, GET_RECEIVER, POST_RECEIVER, subscription } from './subscription-network';
import { refusalOf } from './voucher-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();
const { create, put, get } = world;

const OTHER = { ...POST_RECEIVER, receiverUrl: 'https://other.example/in' };

const receiversIn = (copy: unknown) => (copy as Copy)['receivers'] as readonly Record<string, unknown>[];
const idsIn = (copy: unknown) => receiversIn(copy).map(({ receiverId }) => receiverId);

describe('receivers that a PUT changes (decisions N8)', () => {
  it('have ids in every answer, the same as in lists of receivers', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const { subscriptionId: id } = copy;
    const ids = idsIn(copy);
    expect(new Set(ids).size).toBe(2);
    expect(idsIn((await get(`/${id}`)).json())).toEqual(ids);
    await world.app.settled();
    const listed = (await get('')).json<readonly Copy[]>().find((one) => one.subscriptionId === id);
    expect(idsIn(listed)).toEqual(ids);
    const receivers = (await get(`/${id}/receivers`)).json<readonly Record<string, unknown>[]>();
    expect(receivers.map(({ receiverId }) => receiverId)).toEqual(ids);
    expect((await get(`/${id}.xml`)).body).toContain(`<receiverId>${String(ids[0])}</receiverId>`);
  });

  it('are continued if they are named, or the only one that differs; a copy that is sent back changes nothing', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const { subscriptionId: id } = copy;
    const [first, second] = idsIn(copy);
    const mended = await put(id, subscription({ receivers: [OTHER, GET_RECEIVER] }));
    expect(idsIn(mended.json())).toEqual([second, first]);
    const named = [{ ...POST_RECEIVER, receiverId: first }, GET_RECEIVER, { ...OTHER, receiverId: second }];
    const replaced = await put(id, subscription({ receivers: named }));
    expect(idsIn(replaced.json())).toEqual([first, expect.any(String), second]);
    expect([first, second]).not.toContain(idsIn(replaced.json())[1]);
    expect((await put(id, replaced.json())).json()).toEqual(replaced.json());
  });

  it('are not continued by a POST, which ignores ids', async () => {
    const copy = await create({ receivers: [GET_RECEIVER, POST_RECEIVER] });
    const again = await world.post(copy);
    expect(again.statusCode).toBe(201);
    expect(again.headers['x-ignored-fields']).toBe('subscriptionId');
    for (const receiverId of idsIn(again.json())) expect(idsIn(copy)).not.toContain(receiverId);
  });

  it('are refused by an id that the subscription does not have (CON_530), or that two have (CON_350)', async () => {
    const copy = await create({ receivers: [GET_RECEIVER] });
    const { subscriptionId: id } = copy;
    const [receiverId] = idsIn(copy);
    const unknown = subscription({ receivers: [{ ...GET_RECEIVER, receiverId: '0123456789abcdef' }] });
    expect(refusalOf(await put(id, unknown))).toEqual({
      codes: '404 CON_530',
      message: `receivers[0].receiverId: expected one of ${String(receiverId)}, or none for a new receiver, got '0123456789abcdef'`,
    });
    const both = [
      { ...GET_RECEIVER, receiverId },
      { ...POST_RECEIVER, receiverId },
    ];
    expect(refusalOf(await put(id, subscription({ receivers: both })))).toEqual({
      codes: '400 CON_350',
      message: `receivers[1].receiverId: expected another id than that of receivers[0], which is different, got '${String(receiverId)}'`,
    });
    // A copy from before it was removed.
    await put(id, subscription({ receivers: [POST_RECEIVER, OTHER] }));
    expect(idsIn((await put(id, { ...copy, receivers: [...receiversIn(copy), OTHER] })).json())).toContain(
      receiverId,
    );
  });

  it('show what waits for them as it is sent next, and what was sent as it was (decisions N14)', async () => {
    const { log } = world.app.engines;
    const sample = await sampleOf('nord', { receivers: [POST_RECEIVER] });
    const { event } = golden<DomainEvent>('TransactionTracked');
    const { position: cause } = await log.append(`transaction-${sample.id}`, NO_STREAM, [
      toNewEvent(event, randomUUID()),
    ]);
    const request = { method: 'POST', url: POST_RECEIVER.receiverUrl, body: 'as it was made' } as const;
    const made = { subject: sample.id, sequence: 1, cause, request };
    const [waits, sent] = [await sample.due('a', made), await sample.due('b', made)];
    await history().outcome(waits, { outcome: 'failed', at: at0, next: at0 });
    await history().outcome(sent);
    await settled();
    const requestOf = async ({ id }: { readonly id: string }) =>
      (await sample.json<{ readonly request: { url: string; body: string } }>(`/deliveries/${id}`)).request;
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([request, request]);

    const mended = subscription({ receivers: [{ ...POST_RECEIVER, receiverBody: '"${orderNumber}"' }] });
    expect((await put(sample.id, mended)).statusCode).toBe(200);
    const again = { url: POST_RECEIVER.receiverUrl, body: '"N-1001"' };
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([again, request]);
    await history().outcome(waits, { rendered: await log.head() });
    await settled();
    expect((await put(sample.id, subscription())).statusCode).toBe(200);
    expect([await requestOf(waits), await requestOf(sent)]).toMatchObject([again, request]);
  });
});

const at0 = '2026-03-01T12:00:00.000Z';
