import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { TestApp, type TestRequest } from '../support/app';
import { eventsOf, overrideLog } from '../support/temporary-log';
import { HTTP_ERRORS, missingFrom, OPEN_API_ERRORS } from './document-tables';
import { OTHER_TOKENS } from './network';
import { JSON_UTF8, XML_UTF8 } from './posted';
import { NOW, refusalOf, voucher, VOUCHER_NETWORK, VOUCHER_TOKENS } from './voucher-network';

describe('voucher errors', () => {
  let app: TestApp;
  const token = VOUCHER_TOKENS.nord;

  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
  });
  afterAll(() => app.close());

  const BODY = JSON.stringify(voucher());
  const OWN = '/1.0/vouchers';
  const xml = (body: string): TestRequest => ({ token, headers: XML_UTF8, body });

  const REQUESTS: readonly (readonly [
    expected: string,
    what: string,
    request: string,
    details?: TestRequest,
  ])[] = [
    ['400 1', 'without a token (Document 2, Errors)', `GET ${OWN}`],
    ['400 1', 'with an empty token (decisions A4)', `GET ${OWN}?token=`],
    ['403 2', 'with an unknown token (Document 2, Errors)', `GET ${OWN}`, { token: 'd'.repeat(40) }],
    [
      '403 2',
      'with 39 digits for a token (Document 2, Limits: Token length)',
      `GET ${OWN}`,
      { token: token.slice(1) },
    ],
    ['403 2', 'with a token for claims (decisions A4)', `GET ${OWN}`, { token: OTHER_TOKENS.claims }],
    ['403 2', 'with the token given twice (decisions A4)', `GET ${OWN}?token=${token}`, { token }],
    ['404 3', 'in another version (Document 2, Versioning)', 'GET /2.0/vouchers', { token }],
    ['404 4', 'in another version of the module (Document 2, Versioning)', `GET ${OWN}/9.9`, { token }],
    ['404 7', 'to no module (Document 2, Versioning)', 'GET /1.0/', { token }],
    ['404 6', 'without a version (Document 2, Versioning)', 'GET /vouchers', { token }],
    [
      '400 101',
      'for more than 1,000 words (decisions V11, X14)',
      `GET ${OWN};keywords=${Array.from({ length: 1_001 }, (_, at) => `w${at}`).join('+')}`,
      { token },
    ],
    ['405 405', 'that is PUT (Document 2, Generic HTTP errors)', `PUT ${OWN}`, { token, body: BODY }],
    ['405 405', 'that gets one voucher', `GET ${OWN}/1`, { token }],
    ['404 404', 'to an unknown path', `GET ${OWN}/1/2/3`, { token }],
    ['406 406', 'that accepts nothing offered', `GET ${OWN}`, { token, headers: { accept: 'text/html' } }],
    ['415 415', 'that posts a form', `POST ${OWN}`, form('application/x-www-form-urlencoded')],
    [
      '415 415',
      'in another charset (decisions A10)',
      `POST ${OWN}`,
      form('application/json; charset=latin1'),
    ],
    ['415 415', 'that posts a list in XML (decisions X46)', `POST ${OWN}/bulk`, xml('<voucher/>')],
    ['400 101', 'that is no JSON', `POST ${OWN}`, { token, body: '{' }],
    ['400 101', 'that is no UTF-8', `POST ${OWN}`, { token, body: Buffer.from([0x22, 0xff, 0x22]) }],
    ['400 101', 'that is no object', `POST ${OWN}`, { token, body: '[]' }],
    ['400 101', 'that is nested too deep (decisions X40)', `POST ${OWN}`, { token, body: '['.repeat(40) }],
    ['400 101', 'that is no XML', `POST ${OWN}`, xml('<voucher>')],
    ['400 101', 'with another root element', `POST ${OWN}`, xml('<vouchers/>')],
    [
      '400 101',
      'with elements in a text (decisions X24)',
      `POST ${OWN}`,
      xml('<voucher><title><b/></title></voucher>'),
    ],
    [
      '413 413',
      'of more than 1 MB (decisions X40)',
      `POST ${OWN}`,
      { token, body: ' '.repeat(1024 * 1024 + 1) },
    ],
    ['400 101', 'in bulk that is no list (decisions V17)', `POST ${OWN}/bulk`, { token, body: '{}' }],
    [
      '400 101',
      'in bulk of 1,001 (decisions V17)',
      `POST ${OWN}/bulk`,
      { token, body: JSON.stringify(Array(1001).fill({})) },
    ],
    ['400 102', 'of a publisher that posts (decisions V14)', `POST ${OWN}`, as('preisblick')],
    ['400 102', 'of a publisher that posts in bulk (decisions V18)', `POST ${OWN}/bulk`, as('preisblick')],
    ['400 101', 'with a page below 0', `GET ${OWN};page=-1`, { token }],
    ['400 101', 'with a page size below 1 (decisions V16)', `GET ${OWN};pageSize=0`, { token }],
    ['400 101', 'with an id that is no number (decisions V14)', `GET ${OWN};id=a`, { token }],
    ['400 101', 'with a date that is none (Document 2, List keys)', `GET ${OWN};minEndDate=soon`, { token }],
    ['400 101', 'with a date format that is none', `GET ${OWN};dateOutputFormat=rfc`, { token }],
    ['400 101', 'with a boolean that is none', `GET ${OWN};siteSpecific=1`, { token }],
    ['400 101', 'with a language that is none', `GET ${OWN};languageId=xx`, { token }],
    ['400 101', 'with a seed that is no number', `GET ${OWN};random=x`, { token }],
    ['400 101', 'with a format that is none', `GET ${OWN};format=pdf`, { token }],
    [
      '400 101',
      'with activeAt beside other bounds (decisions V18)',
      `GET ${OWN};activeAt=${NOW};minEndDate=${NOW}`,
      { token },
    ],
    ['400 101', 'with jsonp for XML (decisions P27)', `GET ${OWN}.xml?jsonp=f`, { token }],
  ];

  const NAMED = REQUESTS.map(([expected, what, request, details = {}]) => ({
    expected,
    what,
    request,
    details,
  }));

  describe('A request is refused', () => {
    it.each(NAMED)('$expected $what', async ({ expected, request, details }) => {
      const [method, target] = request.split(' ') as ['GET', string];
      const answer = await app.request(method, target, { headers: JSON_UTF8, ...details });
      if (answer.headers['content-type'] === 'application/xml; charset=utf-8') {
        const code = /<code>(\d+)<\/code>/.exec(answer.body)?.[1] ?? '';
        expect(`${answer.statusCode} ${code}`).toBe(expected);
      } else expect(refusalOf(answer).codes).toBe(expected);
    });
  });

  function form(contentType: string): TestRequest {
    return { token, headers: { 'content-type': contentType }, body: BODY };
  }

  function as(client: keyof typeof VOUCHER_TOKENS): TestRequest {
    return { token: VOUCHER_TOKENS[client], body: BODY };
  }

  it('a refusal of a request in XML is in XML (decisions A1)', async () => {
    const answer = await app.post('/1.0/vouchers', xml('<voucher/>'));
    expect(answer.body).toContain(
      '<Response xmlns="https://api.example/1.0/vouchers"><errors><e><code>101</code><message>title must be set</message></e>',
    );
  });

  describe('Server failures', () => {
    it('are Open API 5 with Retry-After while an engine is unavailable (Document 2, Errors; decisions A12)', async () => {
      const broken = await TestApp.start({ network: VOUCHER_NETWORK });
      await broken.engines.store.close();
      const answer = await broken.get(OWN, { token });
      expect([refusalOf(answer).codes, answer.headers['retry-after']]).toEqual(['500 5', '5']);
      await broken.close();
    });

    it('do not include posts and deletions that are stored but not listed yet (decisions A12, X8)', async () => {
      const broken = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
      await broken.engines.store.close();
      const posted = await broken.post(OWN, { token, body: BODY });
      expect(posted.statusCode).toBe(200);
      const several = await broken.post(`${OWN}/bulk`, { token, body: `[${BODY},${BODY}]` });
      expect(several.statusCode).toBe(200);
      const [id] = posted.json<number[]>();
      expect((await broken.delete(`${OWN}/${id}`, { token })).statusCode).toBe(204);
      const stored = (await eventsOf(broken.engines.log)).filter(({ stream }) =>
        stream.startsWith('voucher-'),
      );
      expect(stored.map(({ type }) => type).sort()).toEqual([
        ...['VoucherPublished', 'VoucherPublished', 'VoucherPublished'],
        'VoucherWithdrawn',
      ]);
      await broken.close();
    });

    it('of a write leave nothing half done, and repeating it with a sourceId is harmless (decisions A12, X63)', async () => {
      const { log } = app.engines;
      let left = 0;
      const failing = await app.again({
        eventLog: overrideLog(log, {
          append: (...given) =>
            (left -= 1) < 0
              ? Promise.reject(new EngineUnavailable('the event log is not available'))
              : log.append(...given),
        }),
      });
      const send = async (method: 'POST' | 'DELETE', url: string, body?: object) => {
        const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
        const answer = await failing.inject({
          method,
          url: `${url}?token=${token}`,
          headers: JSON_UTF8,
          ...payload,
        });
        return [refusalOf(answer).codes, answer.headers['retry-after']];
      };
      const posted = Array.from({ length: 5 }, (_, at) => voucher({ sourceId: `repeated ${at}` }));
      const listed = async (): Promise<unknown> =>
        (await app.get(`${OWN};programId=101`, { token })).json<object[]>().length;
      const unavailable = ['500 5', '5'];
      expect(await send('POST', OWN, posted[0])).toEqual(unavailable);
      expect(await send('POST', `${OWN}/bulk`, posted)).toEqual(unavailable);
      expect(await listed()).toBe(0);
      // The ids, five reservations and two of the vouchers.
      left = 8;
      expect(await send('POST', `${OWN}/bulk`, posted)).toEqual(unavailable);
      await app.settled();
      expect(await listed()).toBe(2);
      const made = await app.post(`${OWN}/bulk`, { token, body: JSON.stringify(posted) });
      expect(new Set(made.json<{ id: number }[]>().map(({ id }) => id)).size).toBe(5);
      await app.settled();
      expect(await listed()).toBe(5);
      const [{ id }] = made.json<[{ id: number }]>();
      left = 0;
      expect(await send('DELETE', `${OWN}/${id}`)).toEqual(unavailable);
      expect(await listed()).toBe(5);
      await failing.close();
    });

    it('followed by a retry create a second voucher without a sourceId (decisions X63, V15)', async () => {
      const ids = [await app.post(OWN, { token, body: BODY }), await app.post(OWN, { token, body: BODY })];
      expect(new Set(ids.map(({ body }) => body)).size).toBe(2);
    });

    it('are 500 if they are bugs, without details (decisions A12, X45)', async () => {
      const event = { id: randomUUID(), type: 'VoucherMangled', data: '{"secret":1}', meta: '{}' };
      await app.engines.log.append('voucher-777', NO_STREAM, [event]);
      const answer = await app.delete(`${OWN}/777`, { token });
      expect(refusalOf(answer).codes).toBe('500 500');
      expect(answer.body).not.toContain('secret');
    });
  });

  it('requests above the configured rate are 429, separately for each token (decisions A6)', async () => {
    const settings = { RATE_LIMIT_VOUCHERS: '2' };
    const limited = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW), settings });
    const ask = (client: keyof typeof VOUCHER_TOKENS) => limited.get(OWN, { token: VOUCHER_TOKENS[client] });
    expect([(await ask('nord')).statusCode, (await ask('nord')).statusCode]).toEqual([200, 200]);
    const refused = await ask('nord');
    expect([refusalOf(refused).codes, refused.headers['retry-after']]).toEqual(['429 429', '60']);
    expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' });
    expect((await ask('casa')).statusCode).toBe(200);
    await limited.close();
  });

  describe('This file', () => {
    const tested = [...REQUESTS.map(([expected]) => expected), '500 5'];

    it('has each code of the shared errors, and each generic HTTP error (Document 2, Errors)', () => {
      const codes = tested.map((row) => row.split(' ').reverse().join(' '));
      expect(missingFrom(OPEN_API_ERRORS, codes)).toEqual([]);
      const statuses = tested.map((row) => Number(row.split(' ')[0]));
      // Downloads alone have a quota.
      expect(missingFrom(HTTP_ERRORS, statuses)).toEqual([429]);
    });
  });
});
