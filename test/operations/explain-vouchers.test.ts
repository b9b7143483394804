import { TOKENS } from '../api/network';
import { VOUCHER_TOKENS, type VoucherClient, voucherWorld } from '../api/voucher-network';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { run } from '../cli/run';

let deliveries: AppDeliveries;
// Declared first, so that projecting ends before the application does.
afterAll(() => deliveries.stop());
const world = voucherWorld();
beforeAll(async () => {
  deliveries = await projectDeliveries(world.app, Date.now);
});

const affilog = (...args: readonly string[]) => run(args, { DATA_DIR: world.app.folder });

async function subscribe(as: VoucherClient, changeIds: readonly number[]): Promise<string> {
  const receivers = [{ httpMethod: 'GET', receiverUrl: 'https://shop.example/?voucher=${voucherId}' }];
  const answer = await world.app.request('POST', '/1.0/vouchers/subscriptions', {
    token: VOUCHER_TOKENS[as],
    body: JSON.stringify({ filter: { changeIds }, receivers }),
  });
  return answer.json<{ readonly subscriptionId: string }>().subscriptionId;
}

test('affilog why delivery says what an edit of a voucher was to each subscription (decisions N18)', async () => {
  const [site, deals] = [await subscribe('preisblick', [1]), await subscribe('deals', [1, 2, 3])];
  // It cannot concern a voucher, neither before it exists nor while it does.
  const toProducts = (): Promise<unknown> =>
    world.app.post('/1.0/products/subscriptions', {
      token: TOKENS.deals,
      body: JSON.stringify({
        filter: { changeTypeIds: [1] },
        receivers: [{ httpMethod: 'GET', receiverUrl: 'https://shop.example/?p=${productId}' }],
      }),
    });
  await toProducts();
  const id = await world.create({ title: 'x', sourceId: 'x' });
  await world.create({ title: 'x', sourceId: 'x', siteIds: [1202] });
  await world.create({ title: 'y', sourceId: 'x', siteIds: [1202] });
  await toProducts();
  const { code, out } = await affilog('why', 'delivery', String(id));
  expect([code, out.split('\n').filter((line) => !line.includes('receiver'))]).toEqual([
    0,
    [
      `voucher ${id}`,
      expect.stringMatching(/^1 .*New \(1\)$/),
      `   subscription ${site} of organisation 11: matched`,
      `   subscription ${deals} of organisation 12: matched`,
      expect.stringMatching(/^2 .*Changed \(2\)$/),
      `   subscription ${site} of organisation 11: not matched: changeIds 1 without 3 as Ended`,
      `   subscription ${deals} of organisation 12: matched`,
      expect.stringMatching(/^3 .*Changed \(2\)$/),
      `   subscription ${deals} of organisation 12: matched`,
      '',
    ],
  ]);
  const listed = await affilog('notifications', 'subscriptions', '--topic', 'vouchers');
  expect(listed.out.match(/^\w{32}/gm)).toEqual([site, deals]);
  const none = await affilog('notifications', 'deliveries', '--voucher', String(id));
  expect([none.code, none.out]).toEqual([0, '']);
});
