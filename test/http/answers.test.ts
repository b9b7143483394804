import { once } from 'node:events';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { notesApp, rendering, TOKENS } from './notes-service';

let app: NestFastifyApplication;
let logged: string[];

beforeAll(async () => {
  ({ app, logged } = await notesApp());
});
afterAll(() => app.close());

const token = `token=${TOKENS.advertiser}`;
const get = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url, headers });
const post = (url: string, headers: Record<string, string> = {}, payload: string | Buffer = '{}') =>
  app.inject({ method: 'POST', url, headers, payload });
const JSON_UTF8 = { 'content-type': 'application/json; charset=utf-8' };
const XML_UTF8 = { 'content-type': 'application/xml; charset=utf-8' };
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';

interface ErrorList {
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}
const codesOf = (body: string) => (JSON.parse(body) as ErrorList).errors.map(({ code }) => code);

describe('format of an answer (decisions A1)', () => {
  it.each([
    ['/1.0/notes;word=a', {}, 'application/json; charset=utf-8'],
    ['/1.0/notes.json;word=a', { accept: 'application/xml' }, 'application/json; charset=utf-8'],
    ['/1.0/notes.xml;word=a', { accept: 'application/json' }, 'application/xml; charset=utf-8'],
    ['/1.0/notes.csv;word=a', {}, 'text/csv; charset=utf-8'],
    ['/1.0/notes;word=a', { accept: 'text/csv' }, 'text/csv; charset=utf-8'],
    ['/1.0/notes;word=a', { accept: 'text/csv;q=0, */*' }, 'application/json; charset=utf-8'],
    ['/1.0/notes.xml;word=a;format=csv', {}, 'text/csv; charset=utf-8'],
  ])('%s with %j is %s', async (url, headers, type) => {
    const answer = await get(`${url}?${token}`, headers);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, type]);
  });

  it('is refused with 406 if Accept admits none that there is', async () => {
    const answer = await get(`/1.0/notes;word=a?${token}`, { accept: 'image/png, text/html;q=0.5' });
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([406, ['406']]);
  });

  it('is that of the body for a POST', async () => {
    const answer = await post(`/1.0/notes;word=a?${token}`, XML_UTF8, '<a/>');
    expect(answer.body).toBe(
      `${DECLARATION}<Response xmlns="https://api.example/1.0/notes"><errors/></Response>`,
    );
    expect((await post(`/1.0/notes;word=a?${token}`, JSON_UTF8)).body).toBe('{"errors":[]}');
    expect((await post(`/1.0/notes.json;word=a?${token}`, XML_UTF8)).body).toBe('{"errors":[]}');
  });

  it('is the same for errors, of whatever module (Document 1, Errors)', async () => {
    expect((await get('/1.0/notes.xml')).body).toBe(
      `${DECLARATION}<Response xmlns="https://api.example/1.0/notes"><errors><e><code>1</code><message>Missing token</message></e></errors></Response>`,
    );
    expect((await post(`/1.0/notes;word=bad?${token}`, XML_UTF8)).body).toContain(
      '<e><code>N_2</code><message>xml of 2</message><sourceProductId>7</sourceProductId></e>',
    );
    const answer = await post(`/1.0/notes;word=bad?${token}`, JSON_UTF8);
    expect(answer.json()).toEqual({ errors: [{ code: 'N_2', sourceProductId: '7', message: 'json of 2' }] });
    expect([answer.statusCode, answer.headers['x-log-position']]).toEqual([400, '0000000000000000012']);
  });

  it('is JSON for errors of CSV requests', async () => {
    expect(codesOf((await get(`/1.0/notes.csv?${token}`)).body)).toEqual(['N_1']);
  });

  it('has line breaks with pretty=true (Document 1, Conventions 6)', async () => {
    expect((await get(`/1.0/notes;word=a;pretty=true?${token}`)).body).toContain('{\n  "organisation": 1');
    expect((await get(`/1.0/notes.xml;word=a;pretty=true;id=5?${token}`)).body).toContain(
      '>\n  <id>5</id>\n',
    );
    expect(codesOf((await get(`/1.0/notes;word=a;pretty=often?${token}`)).body)).toEqual(['N_2']);
  });
});

describe('a long list', () => {
  it.each(['json', 'xml'])('in %s holds nobody up while it is written', async (format) => {
    const answered: string[] = [];
    const begun = once(rendering, 'begun');
    const long = get(`/1.0/notes/all.${format}?${token}`).then(({ body }) => {
      answered.push('long');
      return body;
    });
    await begun;
    const short = get('/health/live').then(() => answered.push('short'));
    expect((await long).length).toBeGreaterThan(7_000_000);
    await short;
    expect(answered).toEqual(['short', 'long']);
  });
});

describe('JSONP (Document 1, Conventions 5; decisions A5)', () => {
  it('calls the function with the result', async () => {
    const answer = await get(`/1.0/notes;word=%E2%80%A8?${token}&jsonp=my.call`);
    expect(answer.body).toBe(
      '/**/my.call({"organisation":1,"id":[],"word":"\\u2028"}, undefined, undefined);',
    );
    expect(answer.headers).toMatchObject({
      'content-type': 'application/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
  });

  it('tells of failures with HTTP 200', async () => {
    const answer = await get('/1.0/notes;word=a?jsonp=f');
    expect([answer.statusCode, answer.body]).toEqual([200, '/**/f(undefined, 400, "Missing token");']);
    expect((await get(`/1.0/none?jsonp=f`)).body).toMatch(/^\/\*\*\/f\(undefined, 404, ".*"\);$/);
  });

  it.each(['1a', 'a..b', 'alert(1)', 'a-b', 'new', 'a'.repeat(129), '%00'])(
    'refuses the name %s',
    async (name) => {
      const answer = await get(`/1.0/notes;word=a?${token}&jsonp=${name}`);
      expect([answer.statusCode, codesOf(answer.body)]).toEqual([400, ['N_2']]);
    },
  );

  it.each(['/1.0/notes.xml;word=a', '/1.0/notes.csv;word=a', '/1.0/notes;word=a;format=csv'])(
    'is for JSON only: %s (decisions P27)',
    async (path) => {
      expect((await get(`${path}?${token}&jsonp=f`)).body).toContain('accepted for JSON only');
    },
  );
});

describe('tokens (Document 1, Authentication; decisions A4)', () => {
  it.each([
    ['', 400, '1'],
    ['token=', 400, '1'],
    ['token=zzz', 403, '2'],
    [`token=${'d'.repeat(40)}`, 403, '2'],
    [`token=${TOKENS.vouchers}`, 403, '2'],
    ['token=%ff', 403, '2'],
    [`${token}&${token}`, 400, 'N_301'],
  ])('?%s: HTTP %i, code %s', async (query, status, code) => {
    const answer = await get(`/1.0/notes;word=a?${query}`);
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([status, [code]]);
  });

  it('of the wrong kind are refused by the service', async () => {
    const answer = await post(`/1.0/notes;word=a?token=${TOKENS.publisher}`, JSON_UTF8);
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([400, ['N_300']]);
  });

  it('may have their digits in either case (decisions X16)', async () => {
    const own = await get(`/1.0/notes;word=a?token=${TOKENS.publisher.toUpperCase()}`);
    expect(own.json()).toMatchObject({ organisation: 2 });
  });

  it('are not needed where there is no service (decisions A8)', async () => {
    expect((await get('/health/live')).json()).toEqual({ live: true });
  });
});

describe('what there is not (Document 1, Versioning; decisions A8)', () => {
  it.each([
    ['GET', '/2.0/notes', 404, '3'],
    ['GET', '/1.0/notes/9.9', 404, '4'],
    ['GET', '/notes', 404, '6'],
    ['GET', '/1.0/', 404, '7'],
    ['GET', '/1.0', 404, '7'],
    ['GET', '/1.0/unknown.json;a=b', 404, '7'],
    ['GET', '/1.0/notes/a/b', 404, '404'],
    ['GET', '/', 404, '404'],
    ['GET', '/%ff', 404, '404'],
    ['GET', '/1.0/%ff/notes', 404, '7'],
    ['GET', '/1.0/notes.csv/x', 404, '7'],
    ['PUT', '/1.0/notes;word=a', 405, '405'],
    ['GET', '/1.0/notes/7', 405, '405'],
    ['PATCH', '/1.0/notes', 405, '405'],
  ] as const)('%s %s: HTTP %i, code %s', async (method, url, status, code) => {
    const answer = await app.inject({ method, url });
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([status, [code]]);
  });

  it('is told with the methods there are', async () => {
    expect((await app.inject({ method: 'PUT', url: '/1.0/notes' })).headers.allow).toBe('GET, HEAD, POST');
    expect((await get('/1.0/notes/7')).headers.allow).toBe('DELETE');
  });
});

describe('HEAD', () => {
  it('is answered like GET, without the body', async () => {
    const answer = await app.inject({ method: 'HEAD', url: `/1.0/notes.xml;word=a?${token}` });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
  });
});

describe('matrix keys (decisions A2, A3)', () => {
  it.each([
    '/1.0/notes;word=a+b;id=1,2;id=3',
    '/1.0/notes.json;WORD=a%20b;id=1%2C2%2c3',
    '/1.0/notes;;word=a+b;id=;id=1;id=2,,3;unknown=%ff;',
    '/1.0/notes;word=a+b;word=a%20b;id=1,2,3/',
    '/1.0;id=1,2,3/notes;word=a+b',
  ])('%s', async (path) => {
    expect((await get(`${path}?${token}`)).json()).toEqual({ organisation: 1, id: [1, 2, 3], word: 'a b' });
  });

  it('stand after an id too', async () => {
    expect((await app.inject({ method: 'DELETE', url: `/1.0/notes/12.json;a=b?${token}` })).json()).toEqual({
      removed: '12',
    });
  });

  it('are named when they are sent after the question mark', async () => {
    expect((await get(`/1.0/notes?word=a&${token}`)).json()).toEqual({
      errors: [{ code: 'N_1', message: 'word must be a matrix key: /1.0/notes;word=…' }],
    });
  });
});

describe('order of checks (decisions A8)', () => {
  it('is path, method, token, keys, content type, body', async () => {
    const bad = { 'content-type': 'nonsense' };
    const codes = async (url: string, headers: Record<string, string>, payload?: string) =>
      codesOf((await post(url, headers, payload)).body);
    expect(await codes('/1.0/unknown', bad)).toEqual(['7']);
    expect(await codes('/1.0/notes/1', bad)).toEqual(['405']);
    expect(await codes('/1.0/notes', bad)).toEqual(['1']);
    expect(await codes(`/1.0/notes?${token}`, bad)).toEqual(['N_1']);
    expect(await codes(`/1.0/notes;word=a?${token}`, bad)).toEqual(['N_415']);
    expect(await codes(`/1.0/notes;word=a?${token}`, JSON_UTF8, 'x'.repeat(501))).toEqual(['413']);
  });
});

describe('bodies (decisions A10)', () => {
  it.each([
    ['application/json; charset=utf-8', 200],
    ['application/json;charset="UTF-8"', 200],
    ['text/xml; charset=utf8', 200],
    ['application/json', 400],
    ['application/json; charset=', 400],
    ['application/json; charset=iso-8859-1', 415],
    ['text/plain; charset=utf-8', 415],
    ['nonsense', 415],
  ])('of type %s: HTTP %i', async (type, status) => {
    const answer = await post(`/1.0/notes.json;word=a?${token}`, { 'content-type': type });
    expect(answer.statusCode).toBe(status);
  });

  it('without a type are refused, compressed ones too', async () => {
    expect((await post(`/1.0/notes;word=a?${token}`)).statusCode).toBe(415);
    const zipped = { ...JSON_UTF8, 'content-encoding': 'gzip' };
    expect((await post(`/1.0/notes;word=a?${token}`, zipped)).statusCode).toBe(415);
  });

  it('need no type where there is none: DELETE', async () => {
    const answer = await app.inject({ method: 'DELETE', url: `/1.0/notes/7?${token}` });
    expect(answer.json()).toEqual({ removed: '7' });
  });
});

describe('failures of ours (decisions A12)', () => {
  it('are Open API 5 when an engine does not answer', async () => {
    const answer = await post(`/1.0/notes;word=engine?${token}`, JSON_UTF8);
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([500, '5']);
    expect(answer.json()).toEqual({ errors: [{ code: '5', message: 'Service not responding' }] });
    expect(logged.at(-1)).toContain('the disk is full of secrets');
  });

  it('are the code of the service when it is a bug: logged with its request, nothing leaked', async () => {
    const answer = await post(`/1.0/notes;word=bug?${token}`, JSON_UTF8);
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, error?.code]).toEqual([400, 'N_230']);
    expect(answer.body).not.toContain('secret');
    const entry = JSON.parse(logged.at(-1) ?? '{}') as { reqId: string; err: { message: string } };
    expect(error?.message).toBe(`Unexpected (request ${entry.reqId})`);
    expect(entry.err.message).toBe('a secret is undefined');
    expect(logged.join()).not.toContain(TOKENS.advertiser);
  });
});

describe('read after write (decisions A7)', () => {
  it('waits for the position that is named', async () => {
    const seen = await get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '0000000000000000012' });
    expect(seen.statusCode).toBe(200);
    const unseen = await get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '0000000000000000013' });
    expect([unseen.statusCode, unseen.headers['retry-after'], codesOf(unseen.body)]).toEqual([
      503,
      '1',
      ['503'],
    ]);
    const unusable = await get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '12' });
    expect(codesOf(unusable.body)).toEqual(['N_2']);
  });
});

describe('requests of other origins (Document 1, Conventions 7)', () => {
  it.each(['GET', 'POST', 'DELETE'])('may be %s', async (method) => {
    const answer = await app.inject({
      method: 'OPTIONS',
      url: '/1.0/notes/7;a=b',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type, x-min-position',
      },
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toContain(method);
    expect(answer.headers['access-control-allow-headers']).toBe('content-type, x-min-position');
  });

  it('may read answers, failures and headers', async () => {
    for (const url of [`/1.0/notes;word=a?${token}`, '/1.0/notes', '/none']) {
      const { headers } = await get(url, { origin: 'https://shop.example' });
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-expose-headers']).toContain('X-Log-Position');
    }
  });
});

describe('rate limits (decisions A6, X17)', () => {
  it('hold for each token and minute', async () => {
    let now = 90_000;
    const limited = await notesApp({ rateLimits: { PRODUCTS: 2 }, now: () => new Date(now) });
    const ask = (kind: 'advertiser' | 'publisher') =>
      limited.app.inject({ method: 'GET', url: `/1.0/notes;word=a?token=${TOKENS[kind]}` });
    expect((await ask('advertiser')).headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '30',
    });
    expect((await ask('advertiser')).statusCode).toBe(200);
    const refused = await ask('advertiser');
    expect([refused.statusCode, refused.headers['retry-after'], codesOf(refused.body)]).toEqual([
      429,
      '30',
      ['429'],
    ]);
    expect((await ask('publisher')).statusCode).toBe(200);
    now += 30_000;
    expect((await ask('advertiser')).statusCode).toBe(200);
    await limited.app.close();
  });
});
