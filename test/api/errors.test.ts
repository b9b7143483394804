import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../src/kernel/event';
import { type Response, TestApp, type TestRequest } from '../support/app';
import { eventsOf } from '../support/temporary-log';
import { HTTP_ERRORS, missingFrom, OPEN_API_ERRORS, PRODUCT_ERRORS } from './document-tables';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, outcome, product, refusals } from './posted';

describe('errors', () => {
  let app: TestApp;
  const { post } = clientOf(() => app);
  const now = () => new Date('2026-03-01T12:00:45Z');
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now, settings: { MAX_BODY: '4KB' } });
  });
  afterAll(() => app.close());

  const token = TOKENS.nord;
  const OWN = `/1.0/products;fid=${FEEDS.german}`;
  const body = JSON.stringify({ products: [] });
  const posting = (changes: object) => ({
    token,
    body: JSON.stringify({ products: [product('a', changes)] }),
  });

  /** What is answered, with which code, to which request. */
  const ROWS: readonly (readonly [expected: string, what: string, request: string, details?: TestRequest])[] =
    [
      ['400 1', 'no token', `GET ${OWN}`],
      ['400 1', 'an empty token (decisions A4)', `GET ${OWN}?token=`],
      ['400 1', 'no token to post with', `POST ${OWN}`, { body }],
      ['400 1', 'no token to delete with', `DELETE ${OWN};deleteAll=true`],
      ['403 2', 'an unknown token', `GET ${OWN}`, { token: 'd'.repeat(40) }],
      [
        '403 2',
        'a token of 39 characters (Document 1, Limits: Token length)',
        `GET ${OWN}`,
        { token: token.slice(1) },
      ],
      [
        '403 2',
        'a token of 41 characters (Document 1, Limits: Token length)',
        `GET ${OWN}`,
        { token: `${token}0` },
      ],
      ['403 2', 'a token that is not hexadecimal', `GET ${OWN}`, { token: 'g'.repeat(40) }],
      ['403 2', 'a token for vouchers (decisions A4)', `GET ${OWN}`, { token: OTHER_TOKENS.vouchers }],
      ['403 2', 'a token for claims (decisions A4)', `GET ${OWN}`, { token: OTHER_TOKENS.claims }],
      [
        '403 2',
        'a token for operators (decisions A4)',
        `POST ${OWN}`,
        { token: OTHER_TOKENS.operator, body },
      ],
      ['404 3', 'an unknown version (Document 1, Versioning)', `GET /2.0/products;fid=1`, { token }],
      [
        '404 4',
        'an unknown version of the module (Document 1, Versioning)',
        'GET /1.0/products/9.9',
        { token },
      ],
      ['404 6', 'no version (Document 1, Versioning)', `GET /products;fid=1`, { token }],
      ['404 7', 'no module (Document 1, Versioning)', 'GET /1.0/', { token }],
      ['404 7', 'an unknown module (decisions A8)', 'GET /1.0/unknown', { token }],
      ['400 PF_200', 'a search without fid', 'GET /1.0/products;q=lamp', { token }],
      ['400 PF_200', 'a search with an empty fid (decisions A2)', 'GET /1.0/products;fid=', { token }],
      ['400 PF_200', 'a post without fid', 'POST /1.0/products', { token, body }],
      ['400 PF_200', 'a deletion without fid', 'DELETE /1.0/products;spId=a', { token }],
      ['400 PF_200', 'a deletion without spId', `DELETE ${OWN}`, { token }],
      ['400 PF_210', 'a body that is not JSON', `POST ${OWN}`, { token, body: '{"products":[' }],
      [
        '400 PF_210',
        'a body without a charset that is not UTF-8 (decisions A10)',
        `POST ${OWN}`,
        { token, headers: { 'content-type': 'application/json' }, body: Buffer.from([0xff]) },
      ],
      ['400 PF_240', 'a product without a category', `POST ${OWN}`, posting({ categories: [] })],
      ['400 PF_240', 'a product without a description', `POST ${OWN}`, posting({ description: undefined })],
      ['400 PF_260', 'a feed id that is no number', 'GET /1.0/products;fid=german', { token }],
      ['400 PF_260', 'a feed id with decimals', 'GET /1.0/products;fid=1.5', { token }],
      ['400 PF_260', 'a price bound that is no number', `GET ${OWN};minPrice=10,5`, { token }],
      ['400 PF_260', 'a stock bound that is no number', `GET ${OWN};maxInStock=many`, { token }],
      ['400 PF_260', 'a page that is no number', `GET ${OWN};page=first`, { token }],
      ['400 PF_260', 'a category id that is no number', `GET ${OWN};tdCategoryId=lamps`, { token }],
      ['400 PF_260', 'a posted stock that is no number', `POST ${OWN}`, posting({ inStock: 'many' })],
      ['400 PF_270', 'feed ids separated by a bar', 'GET /1.0/products;fid=1|2', { token }],
      ['400 PF_270', 'feed ids separated by a semicolon', 'GET /1.0/products;fid=1%3B2', { token }],
      ['400 PF_270', 'category ids separated by blanks', `GET ${OWN};tdCategoryId=1+2`, { token }],
      ['400 PF_280', 'a posted price with a comma', `POST ${OWN}`, posting({ price: '12,50' })],
      ['400 PF_290', 'a currency that is none', `GET ${OWN};currency=EURO`, { token }],
      ['400 PF_300', 'a post by a publisher', `POST ${OWN}`, { token: TOKENS.preisblick, body }],
      ['400 PF_300', 'a deletion by a publisher', `DELETE ${OWN};deleteAll=true`, { token: TOKENS.deals }],
      ['400 PF_300', 'a token given twice (decisions A4)', `GET ${OWN}?token=${token}`, { token }],
      ['400 PF_300', 'two tokens, of which one is unknown', `GET ${OWN}?token=${token}&token=x`],
      ['400 PF_391', 'a product URL that is none', `POST ${OWN}`, posting({ productUrl: 'shop.example/a' })],
      [
        '400 PF_391',
        'an image URL of ftp',
        `POST ${OWN}`,
        posting({ productImage: { url: 'ftp://a.example/' } }),
      ],
      ['400 PF_392', 'a feed of another', `GET /1.0/products;fid=${FEEDS.italian}`, { token }],
      ['400 PF_392', 'an unknown feed', 'GET /1.0/products;fid=99', { token }],
      [
        '400 PF_392',
        'a feed of another beside an own one (decisions X13)',
        `GET ${OWN},${FEEDS.italian}`,
        { token },
      ],
      [
        '400 PF_392',
        'a post to a feed of another',
        `POST /1.0/products;fid=${FEEDS.italian}`,
        { token, body },
      ],
      [
        '400 PF_392',
        'a deletion in a feed of another',
        `DELETE /1.0/products;fid=${FEEDS.italian};spId=a`,
        { token },
      ],
      [
        '400 PF_430',
        'a date without a zone (decisions P6)',
        `GET ${OWN};minUpdateDate=2026-03-01T00:00`,
        { token },
      ],
      ['400 PF_430', 'a day that no calendar has', `GET ${OWN};maxUpdateDate=2026-02-30`, { token }],
      ['400 PF_430', 'a language that is none', `GET ${OWN};language=xx`, { token }],
      ['400 PF_430', 'an order that is none', `GET ${OWN};orderBy=price`, { token }],
      ['400 PF_430', 'a page size below 1 (decisions P3)', `GET ${OWN};pageSize=0`, { token }],
      [
        '400 PF_430',
        'a custom field that is not name=value (decisions X22)',
        `GET ${OWN};field=nope`,
        { token },
      ],
      ['400 PF_430', 'a custom field without a name (decisions X22)', `GET ${OWN};field=%3Dnope`, { token }],
      ['400 PF_430', 'a negative page (decisions X14)', `GET ${OWN};page=-1`, { token }],
      ['400 PF_430', 'a negative limit (decisions X14)', `GET ${OWN};limit=-1`, { token }],
      ['400 PF_430', 'a boolean that is none', `GET ${OWN};groupOffersByProduct=1`, { token }],
      ['400 PF_430', 'pretty that is no boolean', `GET ${OWN};pretty=yes`, { token }],
      [
        '400 PF_430',
        'a key of one value given twice (decisions A2)',
        `GET ${OWN};minPrice=1;minPrice=2`,
        { token },
      ],
      ['400 PF_430', 'a key that cannot be decoded', `GET ${OWN};brand=%ff`, { token }],
      ['400 PF_430', 'a function that none can be called (decisions A5)', `GET ${OWN}?jsonp=1x`, { token }],
      ['404 404', 'an unknown URL', 'GET /1.0/products/a/b', { token }],
      ['404 7', 'an unknown extension', 'GET /1.0/products.txt;fid=1', { token }],
      ['405 405', 'PUT', `PUT ${OWN}`, { token, body }],
      ['405 405', 'PATCH, whatever else is wrong (decisions A8)', 'PATCH /1.0/products'],
      ['406 406', 'a type that is not offered', `GET ${OWN}`, { token, headers: { accept: 'text/html' } }],
      [
        '413 413',
        'a body of more than MAX_BODY (decisions P2)',
        `POST ${OWN}`,
        { token, body: ' '.repeat(4097) },
      ],
      ['415 415', 'a body of another type', `POST ${OWN}`, typed('text/plain; charset=utf-8')],
      [
        '415 415',
        'a body in another charset (decisions A10)',
        `POST ${OWN}`,
        typed('application/json; charset=latin1'),
      ],
    ];

  function typed(type: string): TestRequest {
    return { token, body, headers: { 'content-type': type } };
  }

  const send = (request: string, details?: TestRequest): Promise<Response> => {
    const [method, target] = request.split(' ') as ['GET', string];
    return app.request(method, target, details);
  };

  describe('errors (Document 1, Errors; decisions P2)', () => {
    it.each(
      ROWS.map(([expected, what, request, details = {}]) => [expected, what, request, details] as const),
    )('%s: %s', async (expected, _, request, details) => {
      const response = await send(request, details);
      expect(outcome(response)).toBe(expected);
      expect(refusals(response)[0]?.message).not.toBe('');
    });

    it('are the same in XML', async () => {
      const answer = await app.post(`/1.0/products.xml;fid=${FEEDS.german}`, posting({ description: '' }));
      expect([answer.statusCode, answer.body]).toEqual([
        400,
        '<?xml version="1.0" encoding="UTF-8"?>' +
          '<Response xmlns="https://api.example/1.0/products"><errors><e><code>PF_240</code>' +
          '<message>products[0]: description must be set</message><sourceProductId>a</sourceProductId></e></errors></Response>',
      ]);
      expect((await app.get(`/1.0/products.xml;fid=99`, { token })).body).toBe(
        '<?xml version="1.0" encoding="UTF-8"?>' +
          '<Response xmlns="https://api.example/1.0/products"><errors><e><code>PF_392</code>' +
          '<message>fid=99: the feed does not belong to a program of the caller</message></e></errors></Response>',
      );
    });

    it('name the key, the value and what was expected (decisions A2)', async () => {
      const messageOf = async (keys: string) =>
        refusals(await app.get(`/1.0/products${keys}`, { token }))[0]?.message;
      expect(await messageOf(`;fid=${FEEDS.german};ORDERBY=cheap`)).toBe(
        'orderBy=cheap: expected one of priceAsc, priceDesc, modificationDateAsc, modificationDateDesc',
      );
      expect(await messageOf(`?fid=${FEEDS.german}&orderBy=cheap`)).toContain(
        'orderBy=cheap: expected one of',
      );
      expect(await messageOf('?fid=')).toBe('fid is missing: /1.0/products;fid=…');
    });

    it('405 names the allowed methods (decisions A8)', async () => {
      const { headers } = await app.request('PUT', OWN, { token });
      expect(String(headers.allow).split(', ')).toEqual(expect.arrayContaining(['DELETE', 'GET', 'POST']));
      expect(String(headers.allow)).not.toContain('PUT');
    });

    it('413 leaves the feed unchanged, even without Content-Length', async () => {
      const products = Array.from({ length: 40 }, (_, at) => product(`p${at}`));
      expect(outcome(await post(FEEDS.german, products))).toBe('413 413');
      const { productHeader } = (await app.get(OWN, { token })).json<{ productHeader: object }>();
      expect(productHeader).toEqual({ totalHits: 0 });
    });
  });

  describe('the order of checks (decisions A8)', () => {
    const wrong = { body: '{', headers: { 'content-type': 'text/plain' } };
    it.each([
      ['path before method', 'PUT /1.0/unknown', wrong, '404 7'],
      ['method before token', 'PUT /1.0/products', wrong, '405 405'],
      ['token before kind', 'POST /1.0/products', wrong, '400 1'],
      ['kind before keys', 'POST /1.0/products', { ...wrong, token: TOKENS.deals }, '400 PF_300'],
      ['keys before feed', 'POST /1.0/products;mode=x;fid=99', { ...wrong, token }, '400 PF_430'],
      ['feed before content type', 'POST /1.0/products;fid=99', { ...wrong, token }, '400 PF_392'],
      ['content type before body', `POST ${OWN}`, { ...wrong, token }, '415 415'],
      ['body last', `POST ${OWN}`, { body: '{', token }, '400 PF_210'],
    ])('is %s', async (_, request, details, expected) => {
      expect(outcome(await send(request, details))).toBe(expected);
    });
  });

  describe('rate limits (decisions A6)', () => {
    it('are 429 with Retry-After, separately for each token', async () => {
      const limited = await TestApp.start({ network: NETWORK, now, settings: { RATE_LIMIT_PRODUCTS: '2' } });
      expect((await limited.get(OWN, { token })).headers).toMatchObject({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '1',
        'x-ratelimit-reset': '15',
      });
      await limited.get(OWN, { token });
      const refused = await limited.get(OWN, { token });
      expect([outcome(refused), refused.headers['retry-after']]).toEqual(['429 429', '15']);
      expect((await limited.get(OWN, { token: TOKENS.preisblick })).statusCode).toBe(200);
      await limited.close();
    });
  });

  describe('server failures (decisions A12)', () => {
    it('are Open API 5 with Retry-After while an engine is unavailable: 500 5', async () => {
      const broken = await TestApp.start({ network: NETWORK });
      await broken.engines.store.close();
      const searched = await broken.get(OWN, { token });
      expect([outcome(searched), searched.headers['retry-after']]).toEqual(['500 5', '5']);
      await broken.close();
    });

    it('do not include a post or deletion that is stored but not visible yet (decisions A12, X8)', async () => {
      const broken = await TestApp.start({ network: NETWORK });
      const { log, store } = broken.engines;
      await store.close();
      expect(outcome(await broken.post(OWN, posting({})))).toBe('200');
      const removed = await broken.delete(`${OWN};spId=a`, { token });
      expect(outcome(removed)).toBe('200');
      const stored = (await eventsOf(log)).filter(({ stream }) => stream === `feed-${FEEDS.german}`);
      expect(stored.map(({ type }) => type)).toEqual([
        ...['ProductListed', 'FeedImported'],
        ...['ProductDelisted', 'ProductsDeleted'],
      ]);

      const headers = { 'x-min-position': String(removed.headers['x-log-position']) };
      expect(outcome(await broken.get(OWN, { token, headers }))).toBe('500 5');
      await broken.close();
    });

    it('are PF_230 if they are bugs, without details: 400 PF_230', async () => {
      const event = { id: randomUUID(), type: 'ProductListed', data: '{"secret":1}', meta: '{}' };
      await app.engines.log.append(`feed-${FEEDS.unconnected}`, NO_STREAM, [event]);
      const answer = await app.post(`/1.0/products;fid=${FEEDS.unconnected}`, { token, body });
      expect(outcome(answer)).toBe('400 PF_230');
      expect(answer.body).not.toContain('secret');
      expect(outcome(await app.post(OWN, { token, body }))).toBe('200');
    });
  });

  describe('this file', () => {
    const tested = [...ROWS.map(([expected]) => expected), '500 5', '400 PF_230', '429 429'];

    it('has each code of the Errors table, but PF_250: server failures are Open API 5 (decisions A12)', () => {
      const codes = tested.map((row) => row.split(' ').reverse().join(' '));
      expect(missingFrom([...OPEN_API_ERRORS, ...PRODUCT_ERRORS], codes)).toEqual(['PF_250 400']);
    });

    it('has each of the generic HTTP errors', () => {
      expect(
        missingFrom(
          HTTP_ERRORS,
          tested.map((row) => Number(row.split(' ')[0])),
        ),
      ).toEqual([]);
    });
  });
});
