import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe';
import { codesOf, type ErrorList, JSON_UTF8, notes, token } from './asking-notes';
import { TOKENS } from './notes-service';

const asked = notes();

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
    const answer = await asked.get(`/1.0/notes;word=a?${query}`);
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([status, [code]]);
  });

  it('of the wrong kind are refused by the service', async () => {
    const answer = await asked.post(`/1.0/notes;word=a?token=${TOKENS.publisher}`, JSON_UTF8);
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([400, ['N_300']]);
  });

  it('may have their digits in either case (decisions X16)', async () => {
    const own = await asked.get(`/1.0/notes;word=a?token=${TOKENS.publisher.toUpperCase()}`);
    expect(own.json()).toMatchObject({ organisation: 2 });
  });

  it('are not needed where there is no service (decisions A8)', async () => {
    expect((await asked.get('/health/live')).json()).toEqual({ live: true });
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
    const answer = await asked.app.inject({ method, url });
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([status, [code]]);
  });

  it('is told with the methods there are', async () => {
    expect((await asked.app.inject({ method: 'PUT', url: '/1.0/notes' })).headers.allow).toBe(
      'GET, HEAD, POST',
    );
    expect((await asked.get('/1.0/notes/7')).headers.allow).toBe('DELETE');
  });
});

describe('a legacy prefix of a service (Document 3, Legacy advertiser paths)', () => {
  it('leads to the same operations', async () => {
    const [now, before] = await Promise.all(
      ['', 'old/'].map((prefix) => asked.get(`/1.0/${prefix}notes.xml;word=a;id=1?${token}`)),
    );
    expect([before?.statusCode, before?.body]).toEqual([200, now?.body]);
  });

  it.each([
    ['GET', '/1.0/old/notes', 400, '1: Missing token'],
    ['GET', '/old/notes', 404, '6: the version is missing: /1.0/old/notes'],
    ['GET', '/1.0/old/notes/9.9', 404, '4: notes has no version 9.9'],
    ['GET', '/1.0/old/none', 404, '7: no module is called "none" under /1.0/'],
    ['GET', '/1.0/old', 404, '7: /1.0/old: expected the name of a module after it'],
    ['GET', '/1.0/', 404, '7: /1.0: expected the name of a module after it'],
    ['PUT', '/1.0/old/notes', 405, '405: PUT /1.0/old/notes: expected GET, HEAD, POST'],
  ] as const)('is checked like any path: %s %s', async (method, url, status, failure) => {
    const answer = await asked.app.inject({ method, url });
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, `${error?.code}: ${error?.message}`]).toEqual([status, failure]);
  });

  it('has the namespace of the service', async () => {
    const { body } = await asked.get('/1.0/old/none.xml');
    expect(body).toContain('<Response xmlns="https://api.example/1.0/notes">');
  });

  it('is not described: clients are to use the current path', () => {
    const paths = operationsOf(asked.app.get(ModulesContainer)).map(({ path }) => path);
    expect(paths).toEqual(['/1.0/notes']);
  });
});

describe('matrix keys (decisions A2, A3)', () => {
  it.each([
    '/1.0/notes;word=a+b;id=1,2;id=3',
    '/1.0/notes.json;WORD=a%20b;id=1%2C2%2c3',
    '/1.0/notes;;word=a+b;id=;id=1;id=2,,3;unknown=%ff;',
    '/1.0/notes;word=a+b;word=a%20b;id=1,2,3/',
    '/1.0;id=1,2,3/notes;word=a+b',
    '/1.0/notes.json%3Bid%3D1,2,3%3Bword%3Da+b',
    '/1.0/notes?WORD=a+b&id=1,2&id=3',
    '/1.0/notes;id=1;word=a+b?id=2%2C3&word=a%20b',
  ])('%s', async (path) => {
    expect((await asked.get(`${path}${path.includes('?') ? '&' : '?'}${token}`)).json()).toEqual({
      organisation: 1,
      id: [1, 2, 3],
      word: 'a b',
    });
  });

  it('stand after an id too', async () => {
    expect(
      (await asked.app.inject({ method: 'DELETE', url: `/1.0/notes/12.json;pretty=true?${token}` })).json(),
    ).toEqual({
      removed: '12',
    });
  });

  it('may all be in the query, pretty and format too', async () => {
    const lines = async (url: string) => (await asked.get(`${url}&${token}`)).body.split('\n').length;
    expect(await lines('/1.0/notes?word=a')).toBe(1);
    expect(await lines('/1.0/notes?word=a&pretty=true')).toBeGreaterThan(1);
    expect(await lines('/1.0/notes?pretty=true')).toBeGreaterThan(1);
    expect((await asked.get(`/1.0/notes?format=xml&${token}`)).body).toMatch(/^<\?xml/);
  });
});

describe('order of checks (decisions A8)', () => {
  it('is path, method, token, keys, content type, body', async () => {
    const bad = { 'content-type': 'nonsense' };
    const codes = async (url: string, headers: Record<string, string>, payload?: string) =>
      codesOf((await asked.post(url, headers, payload)).body);
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
    ['application/json', 200],
    ['application/json; charset=', 200],
    ['application/xml', 200],
    ['application/json; charset=utf-8; charset=latin1', 415],
    ['application/json; charset=iso-8859-1', 415],
    ['text/plain; charset=utf-8', 415],
    ['nonsense', 415],
  ])('of type %s: HTTP %i', async (type, status) => {
    const answer = await asked.post(`/1.0/notes.json;word=a?${token}`, { 'content-type': type });
    expect(answer.statusCode).toBe(status);
  });

  it('without a type are refused, compressed ones too', async () => {
    expect((await asked.post(`/1.0/notes;word=a?${token}`)).statusCode).toBe(415);
    const zipped = { ...JSON_UTF8, 'content-encoding': 'gzip' };
    expect((await asked.post(`/1.0/notes;word=a?${token}`, zipped)).statusCode).toBe(415);
  });

  it('need no type where there is none: DELETE', async () => {
    const answer = await asked.app.inject({ method: 'DELETE', url: `/1.0/notes/7?${token}` });
    expect(answer.json()).toEqual({ removed: '7' });
  });
});

describe('a request with unknown keys (decisions A14)', () => {
  it.each([
    ['POST', ';word=a;foo=1', 'foo=1: unknown key; expected one of: id, word, format, pretty'],
    ['POST', ';wrod=a', 'wrod=a: unknown key; did you mean word? Expected one of: id, word, format, pretty'],
    ['POST', `;word=a?${token}&foo=1`, 'foo=1: unknown key; expected one of: id, word, format, pretty'],
    ['DELETE', '/7;force=true', 'force=true: unknown key; expected one of: pretty'],
  ] as const)('that changes something is refused: %s %s', async (method, keys, message) => {
    const url = `/1.0/notes${keys}${keys.includes('?') ? '' : `?${token}`}`;
    const payload = method === 'POST' ? { headers: JSON_UTF8, payload: '{}' } : {};
    const answer = await asked.app.inject({ method, url, ...payload });
    expect([answer.statusCode, answer.json()]).toEqual([400, { errors: [{ code: 'N_2', message }] }]);
    expect(answer.headers).not.toHaveProperty('x-ignored-keys');
  });

  it('that reads is refused for a misspelling', async () => {
    const answer = await asked.get(`/1.0/notes;word=a;fromat=xml?${token}`);
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([400, ['N_2']]);
  });

  it('that reads is refused for a key that another operation has', async () => {
    const answer = await asked.get(`/1.0/notes/all;Word=a?${token}`);
    const message = 'word=a: a key of other operations only; expected one of: pretty';
    expect([answer.statusCode, answer.json()]).toEqual([400, { errors: [{ code: 'N_2', message }] }]);
  });

  it('that reads ignores others, and names the first 20 of them in X-Ignored-Keys', async () => {
    const { statusCode, headers } = await asked.get(
      `/1.0/notes;word=a;Shape=1;shape=2;z%C3%A9=1?a=1&${token}`,
    );
    expect([statusCode, headers['x-ignored-keys']]).toEqual([200, 'a, shape, z%C3%A9']);
    expect(headers['access-control-expose-headers']).toContain('X-Ignored-Keys');
    const many = Array.from({ length: 30 }, (_, at) => `;x${'😀'.repeat(20)}${at}=1`).join('');
    const named = (await asked.get(`/1.0/notes;word=a${many}?${token}`)).headers['x-ignored-keys'];
    expect(decodeURIComponent(String(named))).toBe(`x${'😀'.repeat(19)}`);
    const short = Array.from({ length: 30 }, (_, at) => `;k${at + 10}=1`).join('');
    const first = (await asked.get(`/1.0/notes;word=a${short}?${token}`)).headers['x-ignored-keys'];
    expect(String(first).split(', ')).toEqual(Array.from({ length: 20 }, (_, at) => `k${at + 10}`));
  });

  it('needs a valid token first (decisions A8)', async () => {
    expect(codesOf((await asked.get('/1.0/notes;fromat=xml')).body)).toEqual(['1']);
  });

  it('says nothing where all keys are known', async () => {
    expect((await asked.get(`/1.0/notes;word=a?${token}&_=1`)).headers).not.toHaveProperty('x-ignored-keys');
  });
});

describe('an extension that is no format (decisions A1)', () => {
  it.each([
    ['GET', '/1.0/notes.jsn;word=a', '7: .jsn: unknown format; expected .json, .xml, .csv'],
    ['HEAD', '/1.0/notes.jsn;word=a', '7: .jsn: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/notes.JSON', '7: .JSON: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/notes.txt.json', '7: .txt: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/none.jsn', '7: no module is called "none.jsn" under /1.0/'],
    ['PUT', '/1.0/notes.jsn', '7: no module is called "notes.jsn" under /1.0/'],
    ['GET', '/1.0/notes/a.b/c', '404: /1.0/notes/a.b/c: URL does not exist'],
  ] as const)('%s %s is 404, and its message lists the formats: %s', async (method, url, failure) => {
    const answer = await asked.app.inject({ method, url });
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, `${error?.code}: ${error?.message}`]).toEqual([404, failure]);
  });
});
