import { demoNetwork } from '../../src/demo/network';
import { type Response, TestApp } from '../support/app';
import { OpenApiDocument, targetOf } from '../support/openapi';

/** A token for each kind of caller and system, of those that the examples are for. */
const TOKENS = {
  advertiser: { organisationId: 1, system: 'PRODUCTS', token: 'a'.repeat(40) },
  publisher: { organisationId: 11, system: 'PRODUCTS', siteId: 1101, token: 'b'.repeat(40) },
  voucherAdvertiser: { organisationId: 1, system: 'VOUCHERS', token: 'c'.repeat(40) },
  voucherPublisher: { organisationId: 11, system: 'VOUCHERS', siteId: 1101, token: 'd'.repeat(40) },
  claimAdvertiser: { organisationId: 1, system: 'CLAIMS', token: 'f'.repeat(40) },
  claimPublisher: { organisationId: 11, system: 'CLAIMS', siteId: 1101, token: '1'.repeat(40) },
  subscriber: { organisationId: 1, system: 'CONVERSIONS', token: 'e'.repeat(40) },
} as const;

let app: TestApp;
let described: OpenApiDocument;
beforeAll(async () => {
  app = await TestApp.start({ network: { ...demoNetwork(), tokens: Object.values(TOKENS) } });
  described = await OpenApiDocument.of(app);
});
afterAll(() => app.close());

/** Sends the example of an operation, as the documentation page does. */
async function send(id: string, as: keyof typeof TOKENS): Promise<Response> {
  const operation = described.operation(id);
  const body = operation.requestBody?.content['application/json']?.example;
  const { token } = TOKENS[as];
  return app.request(operation.method, targetOf(operation), {
    token,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Examples name claims of the demonstration by their ids. */
async function fileClaims(count: number): Promise<void> {
  const { requestBody } = described.operation('createClaims');
  const [claim] = (
    requestBody?.content['application/json']?.example as { readonly claims: readonly object[] }
  ).claims;
  const claims = Array.from({ length: count }, (_, at) => ({ ...claim, orderNumber: `D-${at}` }));
  const { token } = TOKENS.claimPublisher;
  const answer = await app.post('/1.0/claims', { token, body: JSON.stringify({ claims }) });
  expect(answer.statusCode).toBe(200);
}

describe('the examples of the description, on the demonstration network (decisions X83)', () => {
  it('post a product that is mapped, so a publisher finds and downloads it', async () => {
    expect((await send('loadProducts', 'advertiser')).json()).toEqual({ errors: [] });
    const found = await send('searchProducts', 'publisher');
    expect(found.json()).toMatchObject({
      productHeader: { totalHits: 1 },
      products: [{ categories: [{ id: '221', tdCategoryName: 'Table lamps' }] }],
    });
    expect((await send('downloadFeed', 'publisher')).json()).toMatchObject({
      productHeader: { totalHits: 1 },
    });
    const mappings = (await send('listCategoryMappings', 'advertiser')).json<{
      categoryMappings: object[];
    }>();
    expect(mappings.categoryMappings).toContainEqual(expect.objectContaining({ state: 'mapped' }));
    expect((await send('getFeed', 'publisher')).statusCode).toBe(200);
    expect((await send('deleteProducts', 'advertiser')).json()).toEqual({ errors: [] });
    expect((await send('searchProducts', 'publisher')).json()).toMatchObject({ products: [] });
  });

  it('post a voucher that is valid, so a publisher finds it', async () => {
    const [id] = (await send('postVoucher', 'voucherAdvertiser')).json<[number]>();
    expect((await send('listVouchers', 'voucherPublisher')).json()).toMatchObject([
      { id, programId: 101, code: 'LAMPS-10' },
    ]);
  });

  it('check and file a claim, which is listed and awaits approval (decisions C13)', async () => {
    await fileClaims(56);
    expect((await send('checkClaims', 'claimPublisher')).json()).toMatchObject([{ statusId: 2 }]);
    expect((await send('createClaims', 'claimPublisher')).statusCode).toBe(200);
    const listed = { claimId: 57, statusId: 2, orderNumber: 'C-1001', versionNo: 0 };
    expect((await send('listClaims', 'claimAdvertiser')).json()).toMatchObject([listed, {}, {}]);
    for (const party of ['claimPublisher', 'claimAdvertiser'] as const)
      expect((await send('listClaimVersions', party)).json()).toMatchObject([listed]);
  });

  it('create a subscription, which is listed', async () => {
    const created = await send('createSubscription', 'subscriber');
    expect([created.statusCode, created.json()]).toEqual([
      201,
      expect.objectContaining({ subscriptionName: 'My transactions' }),
    ]);
    expect((await send('listSubscriptions', 'subscriber')).json()).toEqual([created.json()]);
  });
});
