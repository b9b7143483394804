import { STATUSES } from '../../src/domain/claims/statuses';
import { claimTopic } from '../../src/domain/claims/topic';
import { START } from '../../src/kernel/event';
import { type Message } from '../../src/domain/deliveries/delivery-events';
import { Matcher } from '../../src/delivery/matching/matcher';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { transactionTopic } from '../../src/domain/transactions/topic';
import { CLAIM_TOKENS, claimWorld, errorsIn } from './claim-network';
import { reportOf, transactionClientOf } from './transaction-network';
import { subscriptionClientOf } from './subscription-network';

const CLAIM_SUBSCRIPTIONS = '/1.0/claims/subscriptions';
const RECEIVER = {
  httpMethod: 'POST',
  receiverUrl: 'https://shop.example/claims',
  receiverBody: `{${claimTopic.attributes.map((name) => `"${name}": \${${name}}`).join(', ')}}`,
  receiverFormat: 'JSON',
} as const;

const world = claimWorld();
const conversions = subscriptionClientOf(() => world.app);
const transactions = transactionClientOf(() => world.app);

const send = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  as: keyof typeof CLAIM_TOKENS,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) =>
  world.app.request(method, `${CLAIM_SUBSCRIPTIONS}${path}`, {
    token: CLAIM_TOKENS[as],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(headers === undefined ? {} : { headers }),
  });

const subscription = (statusIds: readonly number[], filter: object = {}) => ({
  filter: { statusIds, ...filter },
  receivers: [RECEIVER],
});

async function subscribe(as: keyof typeof CLAIM_TOKENS, posted: object): Promise<string> {
  const answer = await send('POST', '', as, posted);
  expect([answer.statusCode, answer.body]).toEqual([201, answer.body]);
  return answer.json<{ subscriptionId: string }>().subscriptionId;
}

/** The bodies that are sent because of all that has happened, by subscription. */
async function messages(): Promise<ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>> {
  const matcher = new Matcher([transactionTopic, claimTopic]);
  const found = new Map<string, Readonly<Record<string, unknown>>[]>();
  for await (const { events } of world.app.engines.log.readAll({ after: START, prefixes: matcher.streams }))
    for (const event of events)
      for (const due of matcher.match(event)) {
        const { subscriptionId, request } = due.data as Message;
        const body = JSON.parse(request?.body ?? '{}') as Readonly<Record<string, unknown>>;
        found.set(subscriptionId, [...(found.get(subscriptionId) ?? []), body]);
      }
  return found;
}

describe('subscriptions to claims (decisions C13)', () => {
  it('are answered, replaced, listed and deleted as those of Document 2, with statusIds', async () => {
    const posted = {
      ...subscription([2, 3], { programIds: [101], siteIds: [1101], eventIds: [17] }),
      strictOrder: true,
    };
    const answer = await send('POST', '', 'nord', posted, { 'content-type': 'application/json' });
    const receiver = { ...RECEIVER, disabled: false, receiverId: expect.any(String) as unknown };
    const copy = { ...posted, receivers: [receiver], disabled: false };
    const id = answer.json<{ subscriptionId: string }>().subscriptionId;
    expect([answer.statusCode, answer.json()]).toEqual([201, { subscriptionId: id, ...copy }]);
    const replaced = await send('PUT', `/${id}`, 'nord', subscription([201]));
    expect(replaced.json()).toMatchObject({ filter: { statusIds: [201] } });
    await world.app.settled();
    expect((await send('GET', '', 'nord')).json()).toEqual([replaced.json()]);
    expect((await send('GET', '.xml', 'nord')).body).toContain('<statusIds><id>201</id></statusIds>');
    expect((await send('GET', `/${id}/secret`, 'nord')).json()).toHaveProperty('secret');
    expect((await send('DELETE', `/${id}`, 'nord')).statusCode).toBe(200);
    expect(errorsIn(await send('GET', `/${id}`, 'nord'))).toEqual([expect.stringMatching(/^CON_210 /)]);
  });

  it.each<[string, object, string]>([
    ['without statusIds', { filter: {}, receivers: [RECEIVER] }, 'CON_410'],
    ['with an unknown status', subscription([2, 203]), 'CON_350'],
    ['with a foreign program', subscription([2], { programIds: [201] }), 'CON_230'],
    ['with a site that is not connected', subscription([2], { siteIds: [1301] }), 'CON_430'],
    ['without a receiver', { filter: { statusIds: [2] } }, 'CON_250'],
    [
      'with an attribute of transactions',
      { ...subscription([2]), receivers: [{ ...RECEIVER, receiverBody: '{"a": ${visitorId}}' }] },
      'CON_440',
    ],
  ])('have the errors of Document 2: %s', async (_, posted, code) => {
    const answer = await send('POST', '', 'nord', posted);
    expect(errorsIn(answer).map((error) => error.slice(0, 7))).toEqual([code]);
  });

  it('may be to every status, for either party', async () => {
    const all = Object.keys(STATUSES).map(Number);
    for (const client of ['nord', 'deals'] as const) {
      const id = await subscribe(client, subscription(all));
      expect((await send('DELETE', `/${id}`, client)).statusCode).toBe(200);
    }
  });

  it('need a token for claims; those of the other kind are of no use, and their subscriptions do not exist', async () => {
    const other = await conversions.create();
    expect(errorsIn(await send('GET', `/${other.subscriptionId}`, 'nord'))).toEqual([
      expect.stringMatching(/^CON_210 /),
    ]);
    const id = await subscribe('nord', subscription([2]));
    expect(errorsIn(await conversions.get(`/${id}`))).toEqual([expect.stringMatching(/^CON_210 /)]);
    const foreign = await world.app.get('/1.0/conversions/subscriptions', { token: CLAIM_TOKENS.nord });
    expect([foreign.statusCode, errorsIn(foreign)]).toEqual([403, [expect.stringMatching(/^2 .*CLAIMS/)]]);
    await send('DELETE', `/${id}`, 'nord');
    await conversions.remove(other.subscriptionId);
  });

  it('a test has example values of the status', async () => {
    const id = await subscribe('nord', subscription([201, 3]));
    const receiver = receiverIdOf(id, RECEIVER);
    const answer = await send('POST', `/${id}/receivers/${receiver}/test`, 'nord', {
      statusId: 3,
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([202, { state: 'due' }]);
    expect((await messages()).get(id)).toEqual([
      expect.objectContaining({ claimId: 1, statusId: 3, statusName: 'Approved', adjustedOrderValue: 99.9 }),
    ]);
    const refused = await send('POST', `/${id}/receivers/${receiver}/test`, 'nord', []);
    expect(errorsIn(refused)).toEqual([
      'CON_310 the body is not an object: expected an object such as {"statusId":2}, or no body',
    ]);
    await send('DELETE', `/${id}`, 'nord');
  });
});

describe('messages about claims (decisions C13)', () => {
  it('are sent to both parties, to those of a site only about this site, and not to subscribers to transactions', async () => {
    const statuses = [2, 3, 102, 201];
    const ids = {
      nord: await subscribe('nord', subscription(statuses)),
      site: await subscribe('preisblick', subscription(statuses)),
      publisher: await subscribe('preisblickAll', subscription(statuses)),
      approved: await subscribe('nord', subscription([3])),
      casa: await subscribe('casa', subscription(statuses)),
      deals: await subscribe('deals', subscription(statuses)),
    };
    const receivers = [{ ...RECEIVER, receiverBody: '{"order": ${orderNumber}}' }];
    const told = await conversions.create({
      filter: { messageTypeIds: [1, 2, 3, 4, 5, 6, 7, 8] },
      receivers,
    });

    const filed = await world.create('M-1', { epi: 'spring', orderValue: 129.9 });
    await world.create('M-2', { affiliateSiteId: 1102, programId: 102 }, 'preisblickAll');
    expect(
      (
        await world.rule([
          { claimId: filed.claimId, statusIdClaim: 201, statusMessageClaim: 'Search', versionNo: 0 },
        ])
      ).statusCode,
    ).toBe(200);
    const reported = await transactions.report(reportOf('M-3'));
    expect([reported.statusCode, reported.body]).toEqual([201, reported.body]);

    const sent = await messages();
    const of = (id: string) =>
      sent.get(id)?.map(({ orderNumber, statusId }) => `${String(orderNumber)} ${String(statusId)}`) ?? [];
    expect(of(ids.nord)).toEqual(['M-1 2', 'M-2 2', 'M-1 201']);
    expect(of(ids.site)).toEqual(['M-1 2', 'M-1 201']);
    expect(of(ids.publisher)).toEqual(['M-1 2', 'M-2 2', 'M-1 201']);
    expect([ids.approved, ids.casa, ids.deals].map(of)).toEqual([[], [], []]);
    expect(sent.get(told.subscriptionId)).toEqual([{ order: 'M-3' }, { order: 'M-3' }]);
    expect(sent.get(ids.site)?.[1]).toEqual({
      ...{ claimId: filed.claimId, statusId: 201, statusName: STATUSES[201].name, statusState: 'REJECTED' },
      ...{ statusMessage: 'Search', statusChanged: '2026-03-01', publisherId: 11, affiliateSiteId: 1101 },
      ...{ programId: 101, timeStampEvent: '2026-02-20', eventId: 17, orderNumber: 'M-1', orderValue: 129.9 },
      ...{ adjustedOrderValue: null, currencyId: 'EUR', epi: 'spring', epi2: null, trackingUrl: null },
      ...{ productName: null, expectedCommission: 7.5, adjustedExpectedCommission: null },
      ...{ proofOfClaims: null, advertiserInformation: null, versionNo: 1 },
    });
  });
});
