import { EngineUnavailable } from '../../src/kernel/event-log';
import { type NewEvent } from '../../src/kernel/event';
import { type Response, type TestRequest } from '../support/app';
import { CLAIM_NETWORK, CLAIM_TOKENS, claimOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { JSON_UTF8, product } from './posted';
import { CLAIM_SUBSCRIPTIONS, subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, reportOf } from './transaction-network';
import { type Listed, NOW, refusalOf, voucher, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, () => ({}));
const DAY = 24 * 60 * 60 * 1000;

const VOUCHERS = '/1.0/vouchers';
let keys = 0;
const newKey = () => `key ${(keys += 1)}`.replace(' ', '-');

/** A POST with a key. */
function post(path: string, key: string, body: unknown, details: TestRequest = {}): Promise<Response> {
  const token = details.token ?? tokenOf(path);
  return world.app.post(path, {
    ...details,
    token,
    headers: { ...JSON_UTF8, ...details.headers, 'idempotency-key': key },
    body: JSON.stringify(body),
  });
}

function tokenOf(path: string): string {
  if (path.startsWith('/1.0/conversions')) return CONVERSION_TOKENS.nord;
  if (path.startsWith('/1.0/claims')) return CLAIM_TOKENS.preisblick;
  return VOUCHER_TOKENS.nord;
}

async function vouchers(title: string): Promise<readonly Listed[]> {
  const answer = await world.app.get(VOUCHERS, { token: VOUCHER_TOKENS.nord });
  return answer.json<readonly Listed[]>().filter((one) => one['title'] === title);
}

async function subscriptionsOf(path: string, token: string): Promise<readonly unknown[]> {
  return (await world.app.get(path, { token })).json<readonly unknown[]>();
}

const replayed = ({ headers }: Response) => headers['idempotent-replayed'];

describe('a POST with an Idempotency-Key (decisions A22)', () => {
  it('is executed once: a repeated one is answered alike, a voucher without a sourceId exists once', async () => {
    const [key, body] = [newKey(), voucher({ title: 'once' })];
    const first = await post(VOUCHERS, key, body);
    const second = await post(VOUCHERS, key, body);
    expect([first.statusCode, replayed(first)]).toEqual([200, undefined]);
    expect([second.statusCode, replayed(second), second.body]).toEqual([200, 'true', first.body]);
    for (const name of ['x-log-position', 'content-type', 'access-control-allow-origin'])
      expect([name, second.headers[name]]).toEqual([name, first.headers[name]]);
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(await vouchers('once')).toHaveLength(1);
    // Without the key, and with another one, it is another request.
    await world.app.post(VOUCHERS, { token: VOUCHER_TOKENS.nord, body: JSON.stringify(body) });
    await post(VOUCHERS, newKey(), body);
    expect(await vouchers('once')).toHaveLength(3);
  });

  it('has one answer for all keys in whichever spelling, token in query or header, and format', async () => {
    const body = voucher({ title: 'spelt' });
    const first = await post(VOUCHERS, 'spelt-1', body);
    const quoted = await post(VOUCHERS, '"spelt-1"', body, { headers: { accept: 'application/xml' } });
    expect([quoted.body, replayed(quoted)]).toEqual([first.body, 'true']);
    const queried = await world.app.http.inject({
      method: 'POST',
      url: `${VOUCHERS}?token=${VOUCHER_TOKENS.nord}`,
      headers: { ...JSON_UTF8, 'idempotency-key': 'spelt-1', 'accept-encoding': 'gzip' },
      payload: JSON.stringify(body),
    });
    expect([queried.body, replayed(queried)]).toEqual([first.body, 'true']);
  });

  it('is 422 for another body, path or key of the path within 24 hours', async () => {
    const [key, body] = [newKey(), voucher({ title: 'other' })];
    await post(VOUCHERS, key, body);
    for (const [path, changed] of [
      [VOUCHERS, voucher({ title: 'another' })],
      [`${VOUCHERS};dryRun=true`, body],
      [`${VOUCHERS}/bulk`, [body]],
    ] as const)
      expect(refusalOf(await post(path, key, changed))).toEqual({
        codes: '422 422',
        message:
          'The Idempotency-Key was used for another request within 24 hours: expected a new key for each new request',
      });
    expect(await vouchers('another')).toEqual([]);
  });

  it('is 422 for the same values of other keys', async () => {
    const details = { token: OTHER_TOKENS.operator };
    const pause = (keys: string) => post(`/ops/1.0/projections/pause;${keys}`, 'values-1', {}, details);
    expect((await pause('name=imports;reason=claims')).statusCode).toBe(204);
    expect((await pause('name=claims;reason=imports')).statusCode).toBe(422);
    await post('/ops/1.0/projections/resume;name=imports', newKey(), {}, details);
  });

  it('is 409 while the first one is in progress, with Retry-After, in any process', async () => {
    const [key, body] = [newKey(), voucher({ title: 'slow' })];
    const other = await world.app.again();
    const headers = { ...JSON_UTF8, 'idempotency-key': key, authorization: `Bearer ${VOUCHER_TOKENS.nord}` };
    const elsewhere = () =>
      other.inject({ method: 'POST', url: VOUCHERS, headers, payload: JSON.stringify(body) });
    const { log } = world.app.engines;
    const append = log.append.bind(log);
    const [started, held] = [new AbortController(), new AbortController()];
    const once = ({ signal }: AbortController) =>
      signal.aborted
        ? Promise.resolve()
        : new Promise((resolve) => signal.addEventListener('abort', resolve));
    const spy = jest.spyOn(log, 'append').mockImplementation(async (...args) => {
      started.abort();
      await once(held);
      return append(...args);
    });
    const first = post(VOUCHERS, key, body);
    await once(started);
    for (const answer of [await post(VOUCHERS, key, body), await elsewhere()]) {
      expect(refusalOf(answer).codes).toBe('409 409');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    held.abort();
    expect((await first).statusCode).toBe(200);
    spy.mockRestore();
    expect((await elsewhere()).body).toBe((await first).body);
    expect(await vouchers('slow')).toHaveLength(1);
    await other.close();
  });

  it('is of one organisation: others may have the same key', async () => {
    const key = newKey();
    const body = voucher({ title: 'whose', programId: 201 });
    await post(VOUCHERS, key, voucher({ title: 'whose' }));
    const other = await post(VOUCHERS, key, body, { token: VOUCHER_TOKENS.casa });
    expect([other.statusCode, replayed(other)]).toEqual([200, undefined]);
  });

  it('is executed again after 24 hours', async () => {
    const [key, body] = [newKey(), voucher({ title: 'a day' })];
    await post(VOUCHERS, key, body);
    world.passTo(NOW + DAY);
    expect(replayed(await post(VOUCHERS, key, body))).toBe('true');
    world.passTo(NOW + DAY + 1);
    expect(replayed(await post(VOUCHERS, key, body))).toBeUndefined();
    world.passTo(NOW + 3 * DAY);
    const other = await post(VOUCHERS, key, voucher({ title: 'another day', endDate: NOW + 30 * DAY }));
    expect([other.statusCode, replayed(other)]).toEqual([200, undefined]);
    expect(await vouchers('a day')).toHaveLength(1);
    expect(await vouchers('another day')).toHaveLength(1);
  });

  it('keeps a refusal too', async () => {
    const [key, body] = [newKey(), voucher({ title: '' })];
    const first = await post(VOUCHERS, key, body);
    const second = await post(VOUCHERS, key, body);
    expect([first.statusCode, second.statusCode, second.body]).toEqual([400, 400, first.body]);
    expect(replayed(second)).toBe('true');
  });

  it('is executed again if the server has failed', async () => {
    const [key, body] = [newKey(), voucher({ title: 'failed' })];
    const spy = jest
      .spyOn(world.app.engines.log, 'append')
      .mockRejectedValue(new EngineUnavailable('the log is not available'));
    expect((await post(VOUCHERS, key, body)).statusCode).toBe(500);
    spy.mockRestore();
    const again = await post(VOUCHERS, key, body);
    expect([again.statusCode, replayed(again)]).toEqual([200, undefined]);
    expect(await vouchers('failed')).toHaveLength(1);
  });

  it('refuses what is no key, before anything else is done', async () => {
    for (const key of ['', ' ', 'a b', 'ü', '"a', 'x'.repeat(256)]) {
      const { codes, message } = refusalOf(await post(VOUCHERS, key, voucher({ title: 'no key' })));
      expect([key, codes]).toEqual([key, '400 101']);
      expect(message).toContain('Idempotency-Key');
    }
    expect(await vouchers('no key')).toEqual([]);
  });

  it('does not matter for a load of products, which changes nothing when it is repeated', async () => {
    const body = { products: [product('keyed')] };
    const load = () => post(`/1.0/products;fid=${FEEDS.german}`, 'load', body, { token: TOKENS.nord });
    expect(replayed(await load())).toBeUndefined();
    expect(replayed(await load())).toBeUndefined();
  });

  it('keeps no secret in the clear', async () => {
    const path = SUBSCRIPTIONS;
    const { subscriptionId } = (await post(path, newKey(), subscription())).json<{
      subscriptionId: string;
    }>();
    const rotate = `${path}/${subscriptionId}/secret/rotations`;
    const key = newKey();
    const [first, second] = [await post(rotate, key, ''), await post(rotate, key, '')];
    expect([first.body, replayed(second)]).toEqual([second.body, 'true']);
    const { secret } = first.json<{ secret: string }>();
    expect(secret).toMatch(/^whsec_/);
    for await (const { events } of (await world.app.engines.deliveries()).readAll({ after: '0'.repeat(19) }))
      for (const { data } of events) expect(data).not.toContain(secret);
  });
});

describe('a POST whose answer was lost with its process (decisions A22)', () => {
  /** Sends it: what is answered is not kept, as if the process had been killed before. */
  async function lost(path: string, body: unknown, key: string): Promise<Response> {
    const log = await world.app.engines.deliveries();
    const append = log.append.bind(log);
    const spy = jest.spyOn(log, 'append').mockImplementation(async (stream, revision, events) => {
      if (events.some(({ type }: NewEvent) => type !== 'RequestStarted'))
        throw new EngineUnavailable('the process was killed');
      return append(stream, revision, events);
    });
    const first = await post(path, key, body);
    spy.mockRestore();
    expect(refusalOf(await post(path, key, body)).codes).toBe('409 409');
    world.passTo(NOW + 20_000);
    return first;
  }

  async function twice(path: string, body: unknown): Promise<readonly [Response, Response]> {
    const key = newKey();
    return [await lost(path, body, key), await post(path, key, body)];
  }

  it('creates no second voucher', async () => {
    const [first, second] = await twice(VOUCHERS, voucher({ title: 'killed' }));
    expect([second.statusCode, second.body, replayed(second)]).toEqual([200, first.body, undefined]);
    expect(await vouchers('killed')).toHaveLength(1);
  });

  it('creates no second voucher of a list', async () => {
    const list = ['killed 1', 'killed 2'].map((title) => voucher({ title }));
    const [first, second] = await twice(`${VOUCHERS}/bulk`, list);
    expect([second.statusCode, second.body]).toEqual([200, first.body]);
    for (const title of ['killed 1', 'killed 2']) expect(await vouchers(title)).toHaveLength(1);
  });

  it('creates no other voucher if the first one was withdrawn', async () => {
    const [key, body] = [newKey(), voucher({ title: 'withdrawn' })];
    const [id] = (await lost(VOUCHERS, body, key)).json<[number]>();
    await world.app.delete(`${VOUCHERS}/${id}`, { token: VOUCHER_TOKENS.nord });
    const again = await post(VOUCHERS, key, body);
    expect([again.statusCode, again.json(), await vouchers('withdrawn')]).toEqual([200, [id], []]);
  });

  it.each([
    [SUBSCRIPTIONS, CONVERSION_TOKENS.nord],
    [CLAIM_SUBSCRIPTIONS, CLAIM_TOKENS.preisblick],
  ])('creates no second subscription at %s', async (path, token) => {
    const before = await subscriptionsOf(path, token);
    const body =
      path === SUBSCRIPTIONS
        ? subscription()
        : { filter: { statusIds: [2] }, receivers: subscription()['receivers'] };
    const [first, second] = await twice(path, body);
    expect([first.statusCode, second.statusCode, second.body]).toEqual([201, 201, first.body]);
    expect(await subscriptionsOf(path, token)).toHaveLength(before.length + 1);
  });

  it('reports no second transaction, and files no second claim', async () => {
    const [reported, again] = await twice('/1.0/conversions/transactions', reportOf('N-killed'));
    const id = (answer: Response) => answer.json<{ transactionId: string }>().transactionId;
    expect([again.statusCode, id(again)]).toEqual([200, id(reported)]);
    world.passTo(NOW);
    const [filed, refiled] = await twice('/1.0/claims', { claims: [claimOf('N-killed-claim')] });
    expect([filed.statusCode, refusalOf(refiled).codes]).toEqual([200, '409 UTS_397']);
  });
});
