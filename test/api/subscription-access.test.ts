import { type Response } from '../support/app';
import { type Copy, copyOf, subscription, subscriptionWorld } from './subscription-network';
import { CONVERSION_CLIENTS, CONVERSION_NETWORK, type ConversionClient } from './transaction-network';

const world = subscriptionWorld();
const { send, put, remove, get, create, ids } = world;

const ORGANISATIONS: Readonly<Record<ConversionClient, number>> = {
  ...{ nord: 1, casa: 2, preisblick: 11, preisblickAll: 11, deals: 12, lonely: 13, operator: 99 },
};
const SUBSCRIBERS = CONVERSION_CLIENTS.filter((client) => client !== 'operator');

/** Subscriptions with the clients that have created them, in this order. */
const made: { readonly id: string; readonly by: ConversionClient; readonly copy: Copy }[] = [];

beforeAll(async () => {
  for (let round = 0; round < 3; round += 1)
    for (const by of SUBSCRIBERS) {
      const copy = await create({ subscriptionName: `${by} ${round}` }, by);
      made.push({ id: copy.subscriptionId, by, copy });
    }
});

/** Whether a client has a subscription (decisions N11). */
const has = (client: ConversionClient, by: ConversionClient): boolean =>
  ORGANISATIONS[client] === ORGANISATIONS[by] && (client !== 'preisblick' || by === 'preisblick');

const outcome = ({ statusCode, body }: Response): string =>
  `${statusCode} ${statusCode < 300 ? '' : (/CON_\d+/.exec(body)?.[0] ?? body)}`.trim();

describe.each(CONVERSION_CLIENTS)('%s (Document 2, Authentication 4; decisions N11)', (client) => {
  const isOperator = client === 'operator';

  it('lists exactly its own subscriptions', async () => {
    const own = made.filter(({ by }) => has(client, by)).map(({ id }) => id);
    if (isOperator) return expect(outcome(await get('', client))).toBe('400 CON_330');
    expect(await ids(client)).toEqual(own);
    const inXml = (await get('.xml', client)).body.matchAll(/<subscriptionId>(\w+)/g);
    expect([...inXml].map(([, id]) => id)).toEqual(own);
  });

  it('reads, changes and deletes its own ones only', async () => {
    for (const { id, by, copy } of made) {
      const foreign = isOperator ? '400 CON_330' : '403 CON_200';
      const expected = has(client, by) ? '200' : foreign;
      const head = await world.app.engines.log.head();
      const one = await get(`/${id}`, client);
      expect(outcome(one)).toBe(expected);
      if (expected === '200') expect(one.json()).toEqual(copy);
      expect(outcome(await get(`/${id}/secret`, client))).toBe(expected);
      if (has(client, by)) continue;
      expect(outcome(await put(id, subscription(), client))).toBe(foreign);
      expect(outcome(await remove(id, client))).toBe(foreign);
      expect(outcome(await send('POST', `/${id}/secret/rotations`, client))).toBe(foreign);
      expect(await world.app.engines.log.head()).toBe(head);
    }
  });
});

it('a subscription of a token for one site stays for this site, whoever replaces it (decisions N11, N16)', async () => {
  const { subscriptionId: id, ...copy } = await create({}, 'preisblick');
  expect(copy).toEqual({ ...copyOf(subscription()), siteId: 1101 });
  const named = subscription({ subscriptionName: 'By all' });
  expect((await put(id, named, 'preisblickAll')).json()).toEqual({
    ...copyOf(named),
    ...{ subscriptionId: id, siteId: 1101 },
  });
  const outside = subscription({ filter: { siteIds: [1102], messageTypeIds: [4] } });
  expect(outcome(await put(id, outside, 'preisblickAll'))).toBe('400 CON_430');
  expect(outcome(await get(`/${id}`, 'preisblick'))).toBe('200');
  expect((await create({}, 'preisblickAll'))['siteId']).toBeUndefined();
});

describe('a subscription whose ids may not be selected any more', () => {
  const FILTER = { messageTypeIds: [4], programIds: [101], eventIds: [305], siteIds: [1101] };
  beforeEach(() => world.app.import(network({ status: 'active' }), { prune: true }));

  /** The network after a change. */
  const changes: Readonly<Record<string, object>> = {
    'a program that is paused': network({ status: 'paused' }),
    'an event that is removed': network({ events: [] }),
    'a site that is not connected': network({}, { connections: [] }),
    'a program that is closed': network({ status: 'closed' }),
  };

  /** With program 101 changed, and other lists. */
  function network(program: object, others: object = {}): object {
    const { programs } = CONVERSION_NETWORK;
    const changed = programs.map((one) => ('id' in one && one.id === 101 ? { ...one, ...program } : one));
    return { ...CONVERSION_NETWORK, programs: changed, ...others };
  }

  it.each(Object.entries(changes))(
    'keeps %s when it is replaced, and may not gain it (decisions N11)',
    async (_, after) => {
      const { subscriptionId: id } = await create({ filter: FILTER });
      const { subscriptionId: other } = await create({ filter: { messageTypeIds: [4] } });
      await world.app.import(after, { prune: true });
      const disabled = await put(id, subscription({ filter: FILTER, disabled: true }));
      expect([disabled.statusCode, disabled.body]).toEqual([200, expect.stringContaining('"disabled":true')]);
      const gaining = await put(other, subscription({ filter: FILTER }));
      expect(outcome(gaining)).toMatch(/^40[034] CON_(220|230|240|430)$/);
      // What it has given up is gone.
      expect((await put(id, subscription({ filter: { messageTypeIds: [4] } }))).statusCode).toBe(200);
      expect(outcome(await put(id, subscription({ filter: FILTER })))).toBe(outcome(gaining));
      for (const one of [id, other]) await remove(one);
    },
  );
});
