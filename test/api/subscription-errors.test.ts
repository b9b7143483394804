import { TestApp } from '../support/app';
import { REFUSED_CONTENT, REFUSED_FIELDS, REFUSED_FILTERS } from './refused-subscriptions';
import { REFUSED_BODIES, REFUSED_URLS } from './refused-templates';
import { POST_RECEIVER, subscription, subscriptionClientOf } from './subscription-network';
import { type ConversionClient, CONVERSION_NETWORK } from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

let app: TestApp;
/** Program 103 is closed. */
const programs = CONVERSION_NETWORK.programs.map((one) => ({
  ...one,
  ...((one as { id?: number }).id === 103 ? { status: 'closed' } : {}),
}));

beforeAll(async () => {
  app = await TestApp.start({ network: { ...CONVERSION_NETWORK, programs }, now: () => new Date(NOW) });
});
afterAll(() => app.close());

const { post, put, remove, create } = subscriptionClientOf(() => app);

const REFUSED = [
  ...REFUSED_FILTERS,
  ...REFUSED_FIELDS,
  ...REFUSED_URLS,
  ...REFUSED_BODIES,
  ...REFUSED_CONTENT,
];

describe('a post, or a PUT, is refused with', () => {
  let existing: Readonly<Partial<Record<ConversionClient, string>>>;
  beforeAll(async () => {
    const owners = ['nord', 'casa', 'preisblick', 'deals'] as const;
    const created = await Promise.all(owners.map(async (as) => [as, (await create({}, as)).subscriptionId]));
    existing = Object.fromEntries(created) as typeof existing;
  });
  afterAll(async () => {
    for (const [as, id] of Object.entries(existing)) await remove(id, as as ConversionClient);
  });

  it.each(REFUSED.map((one) => [one[0], one] as const))(
    '%s',
    async (_, [, posted, codes, message, as = 'nord']) => {
      const head = await app.engines.log.head();
      for (const answer of [await post(posted, as), await put(existing[as]!, posted, as)]) {
        const refusal = refusalOf(answer);
        expect(refusal.codes).toBe(codes);
        expect(refusal.message).toEqual(
          typeof message === 'string' ? message : expect.stringMatching(message),
        );
      }
      expect(await app.engines.log.head()).toBe(head);
    },
  );

  it('everything that is wrong, at once, each with its field and value (decisions N11)', async () => {
    const answer = await post({
      subscriptionName: 'x'.repeat(300),
      filter: { programIds: [999, 201], eventIds: [401], siteIds: [1301], messageTypeIds: [9] },
      receivers: [
        { receiverUrl: 'ftp://a.example' },
        { httpMethod: 'GET', receiverUrl: 'a', receiverBody: 'b', receiverFormat: 'JSON' },
        { httpMethod: 'POST', receiverUrl: 'https://a.example' },
        { httpMethod: 'POST', receiverUrl: 'https://a.example', receiverFormat: 'x', receiverBody: '${' },
        { ...POST_RECEIVER, receiverBody: '${nothing}}' },
      ],
      currencyConversion: { to: 'XXY' },
      customAttribute: { tdAttributes: ['no'], userAttribute: 'a b', rules: [{ inputs: [] }] },
    });
    const { errors } = answer.json<{ errors: { code: string }[] }>();
    expect(answer.statusCode).toBe(400);
    expect(errors.map(({ code }) => code.slice('CON_'.length)).sort()).toEqual(
      '220 230 240 260 270 280 290 290 320 350 350 350 370 380 390 400 420 430 440 440 440'.split(' '),
    );
  });

  it('faults of ids in a list that has unusable ones too (decisions N11)', async () => {
    const filter = {
      programIds: [999, 'x'],
      eventIds: ['401', {}],
      siteIds: [7, -0.5],
      messageTypeIds: [9, 99],
    };
    const { codes } = refusalOf(await post(subscription({ filter })));
    expect(codes.split(' ').slice(1).sort()).toEqual(
      '220 240 350 350 350 350 420 430'.split(' ').map((code) => `CON_${code}`),
    );
  });

  it('at most 100 faults, and the number of the others (decisions N16)', async () => {
    const receiverBody = Array.from({ length: 6000 }, (_, at) => `\${a${at}}`).join('');
    const receiver = { ...POST_RECEIVER, receiverFormat: 'custom', receiverBody };
    const answer = await post({ filter: { messageTypeIds: [4] }, receivers: Array(10).fill(receiver) });
    expect(answer.statusCode).toBe(400);
    const { errors } = answer.json<{ errors: { code: string; message: string }[] }>();
    expect(errors).toHaveLength(101);
    expect(errors[99]).toMatchObject({ code: 'CON_440' });
    expect(errors[100]).toEqual({ code: 'CON_350', message: '59900 more faults are not listed' });
  });
});
