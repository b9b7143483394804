import { execute, load } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { faultsBySchema } from '../support/xml-schemas';
import {
  type Copy,
  copyOf,
  GET_RECEIVER,
  POST_RECEIVER,
  subscription,
  SUBSCRIPTIONS,
  subscriptionWorld,
} from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

const world = subscriptionWorld();
const { send, post, put, remove, get, create, ids } = world;

/** Every field that may be posted (Document 2, Subscription; decisions N6, N13). */
const FULL = {
  subscriptionName: 'Übersicht <1>',
  filter: {
    programIds: [101, 102],
    siteIds: [1101],
    eventIds: [301, 303],
    eventTypeIds: [4, 5, 9, 10],
    messageTypeIds: [1, 2, 3, 4, 5, 6, 7, 8],
  },
  receivers: [
    { ...GET_RECEIVER, disabled: true },
    { ...POST_RECEIVER, disabled: false },
    {
      httpMethod: 'POST',
      receiverUrl: 'http://shop.example',
      receiverBody: '<order id="${orderNumber}">${mySite} & more</order>'.replace('& ', '&amp; '),
      receiverFormat: 'XML',
    },
    {
      httpMethod: 'POST',
      receiverUrl: 'https://shop.example/text',
      receiverBody: '{"${epi}',
      receiverFormat: 'custom',
    },
  ],
  currencyConversion: { to: 'SEK' },
  customAttribute: {
    tdAttributes: ['siteId', 'epi'],
    userAttribute: 'mySite',
    rules: [
      { inputs: ['1101', ''], output: 'the main one' },
      { inputs: ['1102', 'x'], output: '' },
    ],
  },
  disabled: true,
  strictOrder: true,
} as const;

describe('creating a subscription (Document 2, Endpoints, Subscriptions)', () => {
  it('answers 201 with a copy that has a subscriptionId and every field (Document 2, Subscription)', async () => {
    const answer = await post(FULL);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      201,
      'application/json; charset=utf-8',
    ]);
    const { subscriptionId, ...copy } = answer.json<Copy>();
    expect(subscriptionId).toMatch(/^[0-9a-f]{32}$/);
    expect(copy).toEqual(copyOf(FULL));
    expect((await get(`/${subscriptionId}`)).json()).toEqual({ subscriptionId, ...copy });
    expect((await get('')).json<Copy[]>()).toContainEqual({ subscriptionId, ...copy });
    expect((await remove(subscriptionId)).statusCode).toBe(200);
  });

  it('answers in XML by extension, valid by its schema, with id elements in the lists of the filter', async () => {
    const answer = await send('POST', '.xml', 'nord', FULL);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      201,
      'application/xml; charset=utf-8',
    ]);
    expect(answer.body).toMatch(/<programIds>\s*<id>101<\/id>\s*<id>102<\/id>\s*<\/programIds>/);
    expect(answer.body).toMatch(
      /<subscription>\s*<subscriptionId>\w+<.*<receivers>\s*<receiver>\s*<httpMethod>GET</s,
    );
    const [, id = ''] = /<subscriptionId>(\w+)</.exec(answer.body) ?? [];
    const one = (await get(`/${id}.xml`)).body;
    expect(one).toBe(answer.body);
    const list = (await get('.xml')).body;
    expect(list).toMatch(/<subscriptions>\s*<subscription>\s*<subscriptionId>/);
    expect(await faultsBySchema(world.app, 'Subscription_v1_0.xsd', [one])).toEqual([]);
    expect(await faultsBySchema(world.app, 'Subscriptions_v1_0.xsd', [list])).toEqual([]);
    expect((await send('DELETE', `/${id}`, 'nord')).body).toBe('');
    expect((await get('.xml', 'lonely')).body).toMatch(/<subscriptions\/>/);
  });

  it('takes JSON without a charset, and a format in any case (decisions A10, N10)', async () => {
    const { json } = await world.app.post(`${SUBSCRIPTIONS}.json`, {
      token: CONVERSION_TOKENS.nord,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(subscription({ receivers: [{ ...POST_RECEIVER, receiverFormat: 'json' }] })),
    });
    const { subscriptionId, receivers } = json<Copy>();
    expect(receivers).toMatchObject([{ ...POST_RECEIVER, disabled: false }]);
    await remove(subscriptionId);
  });

  it('names unknown fields, which are ignored (decisions A15, N16)', async () => {
    const answer = await post(
      subscription({ colour: 'red', receivers: [{ ...GET_RECEIVER, method: 'GET' }], subscriptionId: '7' }),
    );
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([
      201,
      'colour, receivers.method, subscriptionId',
    ]);
    await remove(answer.json<Copy>().subscriptionId);
  });

  it.each([
    ['XML', '<a>${epi}</a>'],
    ['XML', '<?xml version="1.0"?><a>${epi}</a>'],
    ['XML', "<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<a encoding='ISO-8859-1'/>"],
    ['XML', '\ufeff<?xml version="1.0"\n encoding = "UTF-8" ?><a>${epi}</a>'],
    ['XML', '<a>&lt;?xml version="1.1" encoding="UTF-16"?></a>'],
    ['XML', '<?xml-stylesheet version="1.1" encoding="UTF-16"?><a/>'],
    ['JSON', '{"a": "\ufeff"}'],
    ['custom', '\ufeff<?xml version="1.1" encoding="UTF-16"?>'],
  ])(
    'takes a body as %s that is in it in UTF-8: %j (decisions N10)',
    async (receiverFormat, receiverBody) => {
      const { subscriptionId } = await create({
        receivers: [{ ...POST_RECEIVER, receiverFormat, receiverBody }],
      });
      await remove(subscriptionId);
    },
  );

  it.each([
    `https://shop.example/?a=${'一'.repeat(907)}`,
    `https://shop.example/?a=${'${epi}'.repeat(337)}`,
    `https://shop.example/#${'一'.repeat(2000)}`,
  ])('takes a URL that has at most 8 KiB as it is sent (decisions N10) %#', async (receiverUrl) => {
    const { subscriptionId } = await create({ receivers: [{ ...GET_RECEIVER, receiverUrl }] });
    await remove(subscriptionId);
  });

  it('takes empty lists of a filter as absent, and numbers as text (decisions A11, N16)', async () => {
    const filter = { programIds: [], siteIds: null, eventIds: ['301'], messageTypeIds: ['4'] };
    const { filter: copy, subscriptionId } = await create({ filter });
    expect(copy).toEqual({ eventIds: [301], messageTypeIds: [4] });
    await remove(subscriptionId);
  });
});

describe('changing subscriptions (Document 2, Endpoints, Subscriptions)', () => {
  it('PUT replaces everything and answers 200 with a copy', async () => {
    const { subscriptionId } = await create(FULL);
    const replaced = await put(subscriptionId, subscription());
    const copy = { subscriptionId, ...copyOf(subscription()) };
    expect([replaced.statusCode, replaced.json()]).toEqual([200, copy]);
    expect((await get(`/${subscriptionId}`)).json()).toEqual(copy);
    expect((await get('')).json<Copy[]>()).toContainEqual(copy);
    const xml = await send('PUT', `/${subscriptionId}.xml`, 'nord', FULL);
    expect([xml.statusCode, xml.body]).toEqual([200, expect.stringContaining('<userAttribute>mySite<')]);
    await remove(subscriptionId);
  });

  it.each([[], [subscription()], 'x', null])('a body that is no object is CON_310: %j', async (body) => {
    const { subscriptionId } = await create();
    const refusal = {
      codes: '400 CON_310',
      message: 'the body is not an object: expected one subscription',
    };
    for (const answer of [await post(body), await put(subscriptionId, body)])
      expect(refusalOf(answer)).toEqual(refusal);
    await remove(subscriptionId);
  });

  it('a PUT that is refused changes nothing', async () => {
    const { subscriptionId, ...copy } = await create(FULL);
    const { codes } = refusalOf(await put(subscriptionId, { ...FULL, receivers: [] }));
    expect(codes).toBe('400 CON_250');
    expect((await get(`/${subscriptionId}`)).json()).toEqual({ subscriptionId, ...copy });
    await remove(subscriptionId);
  });

  it('DELETE answers 200 without a body; afterwards there is none, for ever', async () => {
    const { subscriptionId } = await create();
    const deleted = await remove(subscriptionId);
    expect([deleted.statusCode, deleted.body, deleted.headers['x-log-position']]).toEqual([
      200,
      '',
      expect.stringMatching(/^\d+$/),
    ]);
    expect(await ids()).not.toContain(subscriptionId);
    for (const answer of [
      await get(`/${subscriptionId}`),
      await put(subscriptionId, subscription()),
      await remove(subscriptionId),
      await get(`/${subscriptionId}/secret`),
    ])
      expect(refusalOf(answer).codes).toBe('404 CON_210');
  });

  it('lists are in the order of creation, whatever is changed', async () => {
    const created: string[] = [];
    for (let at = 0; at < 6; at += 1) created.push((await create({}, 'casa')).subscriptionId);
    await put(created[2]!, subscription({ disabled: true }), 'casa');
    expect(await ids('casa')).toEqual(created);
    await remove(created[3]!, 'casa');
    expect(await ids('casa')).toEqual(created.filter((_, at) => at !== 3));
    for (const id of await ids('casa')) await remove(id, 'casa');
    expect((await get('', 'casa')).body).toBe('[]');
  });
});

describe('secrets of subscriptions (decisions N5, N14)', () => {
  it('are 32 bytes, each its own, replaced by a rotation, and in no cache', async () => {
    const [first, second] = [await create(), await create()];
    const secretOf = async (id: string) =>
      (await get(`/${id}/secret`)).json<{ secret: string; since: string }>();
    const before = await secretOf(first.subscriptionId);
    expect(before).toEqual({ secret: expect.stringMatching(/^whsec_/), since: new Date(NOW).toISOString() });
    expect(Buffer.from(before.secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
    expect((await secretOf(second.subscriptionId)).secret).not.toBe(before.secret);
    world.passTo(NOW + 1000);
    const rotated = await send('POST', `/${first.subscriptionId}/secret/rotations`, 'nord');
    expect([rotated.statusCode, rotated.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(rotated.json()).toEqual({ secret: expect.any(String), since: new Date(NOW + 1000).toISOString() });
    expect(rotated.json<{ secret: string }>().secret).not.toBe(before.secret);
    const answer = await get(`/${first.subscriptionId}/secret`);
    expect([answer.headers['cache-control'], answer.json()]).toEqual(['no-store', rotated.json()]);
    const xml = (await get(`/${first.subscriptionId}/secret.xml`)).body;
    expect(await faultsBySchema(world.app, 'SubscriptionSecret_v1_0.xsd', [xml])).toEqual([]);
    const stored = await load(world.app.engines.log, subscriptionDecider, first.subscriptionId);
    expect(JSON.stringify(stored)).not.toContain('whsec_');
    for (const { subscriptionId } of [first, second]) await remove(subscriptionId);
  });

  it('are replaced at most five times within 24 hours, also by requests that race', async () => {
    const { subscriptionId: id } = await create();
    const rotate = () => send('POST', `/${id}/secret/rotations`, 'nord');
    const answers = await Promise.all(Array.from({ length: 8 }, rotate));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      200, 200, 200, 200, 200, 400, 400, 400,
    ]);
    const day = 24 * 60 * 60 * 1000;
    expect(refusalOf(await rotate())).toEqual({
      codes: '400 CON_350',
      message:
        'the secret was replaced 5 times within 24 hours: expected at most that many; the next rotation is possible from ' +
        new Date(NOW + day).toISOString(),
    });
    world.passTo(NOW + day);
    expect((await rotate()).statusCode).toBe(200);
    await remove(id);
  });
});

describe('receivers of subscriptions (decisions N8, N14)', () => {
  const receiver = async (id: string) => {
    const { state } = await load(world.app.engines.log, subscriptionDecider, id);
    if (state.is !== 'active') throw new Error('it is deleted');
    return { state, ids: Object.keys(state.disabledReceivers) };
  };
  const disable = async (id: string, receiverId: string) => {
    const command = {
      do: 'disableReceiver',
      at: '2026-03-01T00:00:00.000Z',
      receiver: receiverId,
      reason: 'gone',
    } as const;
    await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, id, command);
  };

  it('that the system has disabled are enabled on request, and by a PUT', async () => {
    const { subscriptionId: id } = await create();
    const { receiverIdOf } = await import('../../src/domain/subscriptions/receiver-id.js');
    const receiverId = receiverIdOf(id, GET_RECEIVER);
    for (const enable of [
      () => send('POST', `/${id}/receivers/${receiverId}/enable`, 'nord'),
      () => put(id, subscription()),
    ]) {
      await disable(id, receiverId);
      expect((await receiver(id)).ids).toEqual([receiverId]);
      expect((await enable()).statusCode).toBeLessThan(300);
      expect((await receiver(id)).ids).toEqual([]);
    }
    // Repeating it enables nothing; whether it rests is not known without read models, so it is tried at once.
    const { log } = world.app.engines;
    const after = await log.head();
    expect((await send('POST', `/${id}/receivers/${receiverId}/enable`, 'nord')).statusCode).toBe(204);
    const types: string[] = [];
    for await (const { events } of log.readAll({ after })) types.push(...events.map(({ type }) => type));
    expect(types).toEqual(['ProbeRequested']);
    await remove(id);
  });

  it('get a test about the first state of the filter, or about the one in the body', async () => {
    const { subscriptionId: id } = await create();
    const { receiverIdOf } = await import('../../src/domain/subscriptions/receiver-id.js');
    const path = `/${id}/receivers/${receiverIdOf(id, GET_RECEIVER)}/test`;
    expect((await send('POST', path, 'nord')).statusCode).toBe(202);
    expect((await send('POST', path, 'nord', { messageTypeId: 8 })).statusCode).toBe(202);
    const tests: unknown[] = [];
    for await (const batch of world.app.engines.log.readStream(`deliveryrequests-${id}`))
      for (const { type, data } of batch)
        if (type === 'TestRequested') tests.push((JSON.parse(data) as { stateId: number }).stateId);
    expect(tests).toEqual([4, 8]);
    for (const [body, codes] of [
      [{ messageTypeId: 10 }, '400 CON_350'],
      [{ messageTypeId: 9 }, '400 CON_420'],
    ] as const)
      expect(refusalOf(await send('POST', path, 'nord', body)).codes).toBe(codes);
    for (const body of [[], 6, null])
      expect(refusalOf(await send('POST', path, 'nord', body))).toEqual({
        codes: '400 CON_310',
        message: 'the body is not an object: expected an object such as {"messageTypeId":4}, or no body',
      });
    await remove(id);
  });

  it.each([
    ['the receiver', { receivers: [{ ...GET_RECEIVER, disabled: true }] }],
    ['the subscription', { disabled: true }],
  ])('get no test while %s is disabled: nothing would be sent (decisions N8, N16)', async (_, changes) => {
    const { subscriptionId: id } = await create(changes);
    const { receiverIdOf } = await import('../../src/domain/subscriptions/receiver-id.js');
    const path = `/${id}/receivers/${receiverIdOf(id, GET_RECEIVER)}/test`;
    const { codes, message } = refusalOf(await send('POST', path, 'nord'));
    expect([codes, message]).toEqual(['400 CON_350', expect.stringMatching(/disabled: .*PUT/)]);
    await remove(id);
  });

  it('that a subscription does not have are CON_530 (decisions N16)', async () => {
    const { subscriptionId: id } = await create();
    for (const action of ['enable', 'test']) {
      const { codes, message } = refusalOf(
        await send('POST', `/${id}/receivers/0123456789abcdef/${action}`, 'nord'),
      );
      expect([codes, message]).toEqual([
        '404 CON_530',
        expect.stringMatching(/^0123456789abcdef: expected one of \w{16}$/),
      ]);
    }
    await remove(id);
  });
});
