import { CLAIM_TOKENS, claimOf, claimWorld } from '../api/claim-network';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { run } from '../cli/run';

let deliveries: AppDeliveries;
// Declared first, so that projecting ends before the application does.
afterAll(() => deliveries.stop());
const world = claimWorld();
beforeAll(async () => {
  deliveries = await projectDeliveries(world.app, Date.now);
});

const explain = (...args: readonly string[]) =>
  run(['notifications', 'explain', ...args], { DATA_DIR: world.app.folder });

async function subscribe(statusIds: readonly number[]): Promise<string> {
  const receivers = [{ httpMethod: 'GET', receiverUrl: 'https://shop.example/?claim=${claimId}' }];
  const answer = await world.app.request('POST', '/1.0/claims/subscriptions', {
    token: CLAIM_TOKENS.nord,
    body: JSON.stringify({ filter: { statusIds }, receivers }),
  });
  return answer.json<{ readonly subscriptionId: string }>().subscriptionId;
}

test('affilog notifications explain says why messages about a claim were sent, or not (decisions C13, N14)', async () => {
  const all = await subscribe([2, 3]);
  const approved = await subscribe([3]);
  const { claimId } = await world.create('E-1');
  const { code, out } = await explain(String(claimId));
  expect(code).toBe(0);
  expect(out.split('\n')).toEqual([
    `claim ${claimId}`,
    '1  no transition, so nobody is notified',
    expect.stringMatching(/^2 {2}\S+ {2}Awaiting approval \(2\)$/),
    `   subscription ${all} of organisation 1: matched`,
    expect.stringMatching(/^ {6}receiver \w{16}: msg_\w{32} is not matched yet, or no longer kept$/),
    `   subscription ${approved} of organisation 1: not matched: statusIds 3 without 2`,
    '',
  ]);
  await deliveries.settled();
  expect((await explain(String(claimId), '--subscription', '7')).out).toContain(
    'there has never been a subscription 7 to claims',
  );
});

test('an order number names its claims (decisions X149)', async () => {
  const { claimId } = await world.create('E-9');
  await world.app.settled();
  const { code, out } = await explain('E-9');
  expect([code, out]).toEqual([0, (await explain(String(claimId))).out]);
  expect(out).toContain(`claim ${claimId}\n`);
});

test.each(['999', 'batch-$claimId'])(
  'of an unknown id: an error that names all kinds of ids: %s',
  async (name) => {
    // The stream of a post of claims is named after one of them.
    await world.file([claimOf('E-2'), claimOf('E-3')]);
    await world.app.settled();
    const filed = (await world.list()).filter(({ orderNumber }) => /^E-[23]$/.test(orderNumber));
    const id = name.replace('$claimId', String(Math.min(...filed.map(({ claimId }) => claimId))));
    expect(await explain(id)).toEqual({
      code: 2,
      out: '',
      err: `affilog: ${id}: expected the transactionId, the legacyTransactionId or the order number of a transaction, the claimId or the order number of a claim, the id of a voucher, of a product (<feedId>-<sourceProductId>) or feed, or that of a message\n`,
    });
  },
);
