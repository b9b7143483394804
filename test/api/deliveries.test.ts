import { execute } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { CONVERSION_CLIENTS, CONVERSION_TOKENS, type ConversionClient } from './transaction-network';
import {
  at,
  deliveryWorld,
  type Due,
  type Json,
  ORGANISATIONS,
  type Sample,
  type Subscriber,
} from './delivery-samples';
import { OTHER_TOKENS, TOKENS } from './network';
import { GET_RECEIVER, POST_RECEIVER, subscription } from './subscription-network';

const { world, history, settled, sample: sampleOf } = deliveryWorld();

describe('deliveries of all organisations', () => {
  const ask = (path: string, token: string = OTHER_TOKENS.operator) =>
    world.app.get(`/ops/1.0/${path}`, { token });
  const list = async (path: string): Promise<readonly Json[]> => (await ask(path)).json<readonly Json[]>();
  const subjects = async (keys: string): Promise<readonly unknown[]> =>
    (await list(`deliveries;${keys}`)).map(({ transactionId }) => transactionId);

  let nord: Awaited<ReturnType<typeof sampleOf>>;
  let deals: typeof nord;
  let messages: readonly Due[];
  beforeAll(async () => {
    nord = await sampleOf('nord', { receivers: [POST_RECEIVER, { ...GET_RECEIVER, disabled: true }] });
    deals = await sampleOf('deals');
    const [, second = ''] = nord.receivers;
    messages = [
      await nord.due('n0'),
      await nord.due('n1', { at: at(1), receiver: second, stateId: 4 }),
      await deals.due('d0', { at: at(2) }),
      await deals.due('d1', { at: at(3) }),
    ];
    await history().outcome(messages[2]!, { outcome: 'dead', attempt: 10, at: at(-30), error: 'timeout' });
    await history().outcome(messages[3]!, { at: at(1) });
    await history().outcome(messages[0]!, { outcome: 'failed', at: at(-24) });
    await settled();
  });

  test('operators list the messages of all organisations, newest first, without what was sent (decisions N14)', async () => {
    const answer = await ask('deliveries');
    expect(answer.headers['x-total-count']).toBe('4');
    expect(answer.json()).toMatchObject([
      { organisationId: 12, subscriptionId: deals.id, transactionId: 'd1', state: 'delivered' },
      { organisationId: 12, transactionId: 'd0', state: 'dead', lastError: 'timeout' },
      { organisationId: 1, subscriptionId: nord.id, transactionId: 'n1', state: 'due', held: true },
      { organisationId: 1, transactionId: 'n0', state: 'retrying', held: false },
    ]);
    expect(answer.body).not.toContain('receiver.example');
  });

  test('they are selected by organisation, subscription and the keys of owners (decisions N14)', async () => {
    expect(await subjects('organisationId=1')).toEqual(['n1', 'n0']);
    expect(await subjects(`subscriptionId=${deals.id}`)).toEqual(['d1', 'd0']);
    expect(await subjects('state=due,dead')).toEqual(['d0', 'n1']);
    expect(await subjects(`receiverId=${nord.receivers[0]!}`)).toEqual(['n0']);
    expect(await subjects('transactionId=d0,n0')).toEqual(['d0', 'n0']);
    expect(await subjects('messageTypeId=4')).toEqual(['n1']);
    expect(await subjects(`minTime=${at(1)};maxTime=${at(2)}`)).toEqual(['d0', 'n1']);
    expect(await subjects(`minTime=${at(1)};maxTime=2026-03-01`)).toEqual(await subjects(`minTime=${at(1)}`));
    const first = await ask('deliveries;pageSize=3;cursor=*');
    const next = String(first.headers['x-next-cursor']);
    expect(await subjects(`pageSize=3;cursor=${next}`)).toEqual(['n0']);
    expect((await ask('deliveries;pageSize=0')).statusCode).toBe(400);
    expect((await ask('deliveries;state=held')).statusCode).toBe(400);
  });

  test('messages about claims have the names of claims, and are found by them only (decisions C13)', async () => {
    const claim = await sampleOf('casa');
    await claim.due('57', { topic: 'claims', at: at(4), stateId: 4 });
    await settled();
    const keys = `subscriptionId=${nord.id},${claim.id}`;
    const [one] = await list(`deliveries;${keys};pageSize=1`);
    expect(one).toMatchObject({ claimId: '57', statusId: 4 });
    expect(one).not.toHaveProperty('transactionId');
    expect(one).not.toHaveProperty('messageTypeId');
    const found = async (key: string) =>
      (await list(`deliveries;${keys};${key}`)).map(({ transactionId, claimId }) => transactionId ?? claimId);
    expect(await found('messageTypeId=4')).toEqual(['n1']);
    expect(await found('statusId=4')).toEqual(['57']);
    expect(await found('claimId=57')).toEqual(['57']);
    expect(await found('transactionId=57')).toEqual([]);
    expect(await found('statusId=4;messageTypeId=4')).toEqual([]);
  });

  test('operators list all receivers with the sums of their days, the last used first (decisions N14)', async () => {
    expect(await list('receivers')).toEqual([
      {
        ...{ organisationId: 12, subscriptionId: deals.id, receiverId: deals.receivers[0] },
        receiverUrl: 'https://shop.example:8443',
        ...{ disabled: false, attempts: 2, failed: 1, delivered: 1, dead: 1 },
        lastSuccess: { time: at(1), status: 200 },
        lastFailure: { time: at(-30), status: 500, error: 'timeout' },
      },
      {
        ...{ organisationId: 1, subscriptionId: nord.id, receiverId: nord.receivers[0] },
        receiverUrl: 'https://shop.example:8443',
        ...{ disabled: false, attempts: 1, failed: 1, delivered: 0, dead: 0, failingSince: at(-24) },
        lastFailure: { time: at(-24), status: 500 },
      },
    ]);
    const ids = async (keys: string) => (await list(`receivers;${keys}`)).map(({ receiverId }) => receiverId);
    expect(await ids('organisationId=12')).toEqual([deals.receivers[0]]);
    expect(await ids(`subscriptionId=${nord.id}`)).toEqual([nord.receivers[0]]);
    const first = await ask('receivers;pageSize=1;cursor=*');
    expect(first.headers['x-total-count']).toBe('2');
    expect(await ids(`pageSize=1;cursor=${String(first.headers['x-next-cursor'])}`)).toHaveLength(1);
  });

  test('nobody but operators may ask (decisions N11)', async () => {
    for (const token of [...Object.values(CONVERSION_TOKENS), ...Object.values(TOKENS)])
      for (const path of ['deliveries', 'receivers']) {
        const answer = await ask(path, token);
        expect(answer.statusCode).toBe(403);
        expect(answer.body).not.toContain('transactionId');
      }
  });

  test('operators see until when a receiver rests, and when its messages are attempted (decisions N7)', async () => {
    const resting = await sampleOf('casa');
    const message = await resting.due('resting', { at: at(9) });
    for (let attempt = 1; attempt <= 5; attempt += 1)
      await history().outcome(message, {
        outcome: 'failed',
        at: at(10),
        ms: 0,
        isTimeout: true,
        next: at(10),
      });
    await settled();
    const restingUntil = new Date(Date.parse(at(10)) + 30_000).toISOString();
    const keys = `subscriptionId=${resting.id}`;
    expect(await list(`receivers;${keys}`)).toMatchObject([
      { receiverId: resting.receivers[0], restingUntil },
    ]);
    expect(await list(`deliveries;${keys}`)).toMatchObject([{ nextAttempt: restingUntil }]);

    const disabling = {
      do: 'disableReceiver',
      at: at(10),
      receiver: message.receiver,
      reason: 'gone',
    } as const;
    await execute(SYSTEM_CLOCK, world.app.engines.log, subscriptionDecider, resting.id, disabling);
    const [receiver] = await list(`receivers;${keys}`);
    const [held] = await list(`deliveries;${keys}`);
    expect(receiver).toHaveProperty('disabled', true);
    expect(receiver).not.toHaveProperty('restingUntil');
    expect(held).toMatchObject({ state: 'retrying', held: true });
    expect(held).not.toHaveProperty('nextAttempt');
  });
});

const { send, put } = world;

describe('deliveries of a subscription (decisions N14, N17)', () => {
  test('are listed newest first, in JSON and XML, with what has become of them', async () => {
    const sample = await sampleOf();
    const one = await sample.due('one', { sequence: 3, stateId: 6 });
    await history().outcome(one, { outcome: 'failed', at: at(1), error: 'status 500', next: at(2) });
    await sample.due('two', { at: at(1), isTest: true });
    await settled();

    const answer = await sample.get('/deliveries');
    expect(answer.headers['x-total-count']).toBe('2');
    expect(answer.json()).toEqual([
      expect.objectContaining({ transactionId: 'two', state: 'due', attempts: 0, test: true }),
      {
        messageId: one.id,
        receiverId: sample.receivers[0],
        transactionId: 'one',
        messageTypeId: 6,
        sequenceNumber: '3',
        time: at(0),
        state: 'retrying',
        changed: at(1),
        attempts: 1,
        lastStatus: 500,
        lastError: 'status 500',
        nextAttempt: at(2),
        test: false,
      },
    ]);
    const inXml = await sample.get('/deliveries.xml');
    expect(inXml.body).toContain(`<messageId>${one.id}</messageId>`);
  });

  test.each([
    ['state=dead', ['d']],
    ['state=delivered,dead', ['d', 'c']],
    ['transactionId=b', ['b']],
    ['messageTypeId=4', ['b']],
    [`minTime=${at(2)}`, ['d', 'c']],
    [`maxTime=${at(1)}`, ['b', 'a']],
    ['minTime=2026-03-01;maxTime=2026-03-01', ['d', 'c', 'b', 'a']],
    ['maxTime=2026-02-28', []],
    ['pageSize=1', ['d']],
  ])('are selected by %s', async (keys, expected) => {
    const sample = await sampleOf();
    await sample.due('a');
    await sample.due('b', { at: at(1), stateId: 4 });
    await history().outcome(await sample.due('c', { at: at(2) }));
    await history().outcome(await sample.due('d', { at: at(3) }), { outcome: 'dead', attempt: 10 });
    await settled();
    expect(await sample.subjects(keys)).toEqual(expected);
  });

  test('are selected by receiver, and paged through by cursor', async () => {
    const sample = await sampleOf();
    for (let n = 0; n < 5; n += 1)
      await sample.due(`m${n}`, { at: at(n), receiver: sample.receivers[n % 2]! });
    await settled();
    expect(await sample.subjects(`receiverId=${sample.receivers[1]!}`)).toEqual(['m3', 'm1']);

    const seen: unknown[] = [];
    for (let cursor: string | undefined = '*'; cursor !== undefined;) {
      const page = await sample.get(`/deliveries;pageSize=2;cursor=${cursor}`);
      seen.push(...page.json<readonly Json[]>().map(({ transactionId }) => transactionId));
      cursor = page.headers['x-next-cursor'] as string | undefined;
    }
    expect(seen).toEqual(['m4', 'm3', 'm2', 'm1', 'm0']);
    expect((await sample.get('/deliveries;pageSize=0')).json()).toMatchObject({
      errors: [{ code: 'CON_350' }],
    });
  });

  test('to a disabled receiver are held, and nothing else (decisions N8)', async () => {
    const disabled = { ...GET_RECEIVER, disabled: true };
    const sample = await sampleOf('nord', { receivers: [POST_RECEIVER, disabled] });
    const [first, second] = sample.receivers;
    await sample.due('to first', { receiver: first! });
    await sample.due('to second', { receiver: second! });
    const retried = await sample.due('again', { receiver: second!, at: at(1) });
    await history().outcome(retried, { outcome: 'failed', next: at(5) });
    await history().outcome(await sample.due('delivered', { receiver: second!, at: at(2) }));
    await settled();

    expect(await sample.subjects('state=held')).toEqual(['again', 'to second']);
    expect(await sample.subjects('state=due')).toEqual(['to first']);
    expect(await sample.subjects('state=retrying')).toEqual([]);
    expect((await sample.json('/deliveries')).map(({ state }) => state).sort()).toEqual([
      ...['delivered', 'due', 'held', 'held'],
    ]);
    await put(sample.id, subscription({ receivers: [POST_RECEIVER, disabled], disabled: true }));
    expect((await sample.subjects('state=held')).length).toBe(3);
  });

  test.each([
    ["https://shop.example/ä?a='b'#c", 'https://shop.example/%C3%A4?a=%27b%27'],
    ['HTTPS://Shop.example:443?#', 'https://shop.example/'],
    ['no URL', 'no URL'],
  ])(
    'stored before URLs were stored as they are sent have the URL that is sent: %s (decisions N14)',
    async (url, sent) => {
      const sample = await sampleOf();
      const { id } = await sample.due('one', { request: { method: 'GET', url } });
      await settled();
      expect(await sample.json<Json>(`/deliveries/${id}`)).toMatchObject({ request: { url: sent } });
    },
  );

  test('have the exact request and all attempts, but no signature and no secret (decisions N5)', async () => {
    const sample = await sampleOf();
    const body = '{"order": "ä <&>",\n "value": 1.50}';
    const url = 'https://shop.example:8443/messages?a=%20b';
    const message = await sample.due('one', {
      request: { method: 'POST', url, contentType: 'application/json; charset=utf-8', body },
      sequence: 2,
    });
    await history().outcome(message, {
      outcome: 'failed',
      at: at(1),
      error: 'status 500',
      answer: 'no',
      ms: 17.4,
    });
    await settled();

    const details = await sample.json<Json>(`/deliveries/${message.id}`);
    expect(details).toMatchObject({
      messageId: message.id,
      state: 'retrying',
      request: {
        ...{ method: 'POST', url, body },
        headers: [
          { name: 'content-type', value: 'application/json; charset=utf-8' },
          { name: 'webhook-id', value: message.id },
          { name: 'webhook-sequence', value: '2' },
        ],
      },
      lastAttempts: [
        {
          attempt: 1,
          time: at(1),
          status: 500,
          error: 'status 500',
          milliseconds: 17,
          answer: 'no',
          manual: false,
        },
      ],
    });
    const { secret } = await sample.json<{ readonly secret: string }>('/secret');
    for (const format of ['', '.xml']) {
      const text = (await sample.get(`/deliveries/${message.id}${format}`)).body;
      expect(text).not.toContain(secret.slice('whsec_'.length, 20));
      expect(text).not.toContain('signature');
    }
  });

  test('that cannot be sent say why', async () => {
    const sample = await sampleOf();
    const message = await sample.due('huge', {
      unsendable: 'the URL is longer than 8 KiB',
    });
    await history().decided(message, {
      outcome: 'dead',
      error: 'the URL is longer than 8 KiB',
    });
    await settled();
    expect(await sample.json<Json>(`/deliveries/${message.id}`)).toMatchObject({
      ...{ state: 'dead', attempts: 0, lastError: 'the URL is longer than 8 KiB', lastAttempts: [] },
    });
  });
});

test('nobody but the owner sees anything of deliveries, whatever the token (decisions N11)', async () => {
  const samples: Sample[] = [];
  for (const by of Object.keys(ORGANISATIONS) as Subscriber[]) samples.push(await sampleOf(by));
  const messages = new Map<Sample, Due>();
  for (const sample of samples) messages.set(sample, await sample.due(`private ${sample.by}`));
  await settled();
  const head = await world.app.engines.log.head();

  for (const client of CONVERSION_CLIENTS)
    for (const sample of samples) {
      const own = has(client, sample.by);
      const { id = '' } = messages.get(sample) ?? {};
      for (const [method, path] of [
        ['GET', '/receivers'],
        ['GET', '/deliveries'],
        ['GET', `/deliveries/${id}`],
        ...(own ? [] : ([['POST', `/deliveries/${id}/redeliver`]] as const)),
        ...(own ? [] : ([['POST', '/redeliveries']] as const)),
      ] as const) {
        const body = path === '/redeliveries' ? { minTime: at(0), maxTime: at(9) } : undefined;
        const answer = await send(method, `/${sample.id}${path}`, client, body);
        expect([client, sample.by, path, answer.statusCode]).toEqual([
          client,
          sample.by,
          path,
          own ? 200 : client === 'operator' ? 400 : 403,
        ]);
        if (!own) expect(answer.body).not.toContain('private');
      }
    }
  expect(await world.app.engines.log.head()).toBe(head);
});

/** Whether a client has a subscription: a token for one site only those for this site. */
function has(client: ConversionClient, by: Subscriber): boolean {
  const organisation = client === 'operator' ? undefined : ORGANISATIONS[client];
  return organisation === ORGANISATIONS[by] && (client !== 'preisblick' || by === 'preisblick');
}
