import { once } from 'node:events';
import { codesOf, type ErrorList, JSON_UTF8, notes, token, XML_UTF8 } from './asking-notes';
import { notesApp, rendering, TOKENS } from './notes-service';

const asked = notes();
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';

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
    const answer = await asked.get(`${url}?${token}`, headers);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, type]);
    expect(answer.headers.vary).toBe('Accept, Accept-Encoding');
  });

  it('is refused with 406 if Accept admits none that there is', async () => {
    const answer = await asked.get(`/1.0/notes;word=a?${token}`, { accept: 'image/png, text/html;q=0.5' });
    expect([answer.statusCode, codesOf(answer.body)]).toEqual([406, ['406']]);
    expect(answer.headers.vary).toBe('Accept');
  });

  it('is that of the body for a POST', async () => {
    const answer = await asked.post(`/1.0/notes;word=a?${token}`, XML_UTF8, '<a/>');
    expect(answer.body).toBe(
      `${DECLARATION}<Response xmlns="https://api.example/1.0/notes"><errors/></Response>`,
    );
    expect((await asked.post(`/1.0/notes;word=a?${token}`, JSON_UTF8)).body).toBe('{"errors":[]}');
    expect((await asked.post(`/1.0/notes.json;word=a?${token}`, XML_UTF8)).body).toBe('{"errors":[]}');
  });

  it('is the same for errors, of whatever module (Document 1, Errors)', async () => {
    expect((await asked.get('/1.0/notes.xml')).body).toBe(
      `${DECLARATION}<Response xmlns="https://api.example/1.0/notes"><errors><e><code>1</code><message>Missing token</message></e></errors></Response>`,
    );
    expect((await asked.post(`/1.0/notes;word=bad?${token}`, XML_UTF8)).body).toContain(
      '<e><code>N_2</code><message>xml of 2</message><sourceProductId>7</sourceProductId></e>',
    );
    const answer = await asked.post(`/1.0/notes;word=bad?${token}`, JSON_UTF8);
    expect(answer.json()).toEqual({ errors: [{ code: 'N_2', sourceProductId: '7', message: 'json of 2' }] });
    expect([answer.statusCode, answer.headers['x-log-position']]).toEqual([400, '0000000000000000012']);
  });

  it('is JSON for errors of CSV requests', async () => {
    expect(codesOf((await asked.get(`/1.0/notes.csv?${token}`)).body)).toEqual(['N_1']);
  });

  it('has line breaks with pretty=true (Document 1, Conventions 6)', async () => {
    expect((await asked.get(`/1.0/notes;word=a;pretty=true?${token}`)).body).toContain(
      '{\n  "organisation": 1',
    );
    expect((await asked.get(`/1.0/notes.xml;word=a;pretty=true;id=5?${token}`)).body).toContain(
      '>\n  <id>5</id>\n',
    );
    expect(codesOf((await asked.get(`/1.0/notes;word=a;pretty=often?${token}`)).body)).toEqual(['N_2']);
  });
});

describe('a long list', () => {
  it.each(['json', 'xml'])('in %s holds nobody up while it is written', async (format) => {
    const answered: string[] = [];
    const begun = once(rendering, 'begun');
    const long = asked.get(`/1.0/notes/all.${format}?${token}`).then(({ body }) => {
      answered.push('long');
      return body;
    });
    await begun;
    const short = asked.get('/health/live').then(() => answered.push('short'));
    expect((await long).length).toBeGreaterThan(7_000_000);
    await short;
    expect(answered).toEqual(['short', 'long']);
  });
});

describe('JSONP (Document 1, Conventions 5; decisions A5)', () => {
  it('calls the function with the result', async () => {
    const answer = await asked.get(`/1.0/notes;word=%E2%80%A8?${token}&jsonp=my.call`);
    expect(answer.body).toBe(
      '/**/my.call({"organisation":1,"id":[],"word":"\\u2028"}, undefined, undefined);',
    );
    expect(answer.headers).toMatchObject({
      'content-type': 'application/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
  });

  it('tells of failures with HTTP 200', async () => {
    const answer = await asked.get('/1.0/notes;word=a?jsonp=f');
    expect([answer.statusCode, answer.body]).toEqual([200, '/**/f(undefined, 400, "Missing token");']);
    expect((await asked.get(`/1.0/none?jsonp=f`)).body).toMatch(/^\/\*\*\/f\(undefined, 404, ".*"\);$/);
  });

  it.each(['1a', 'a..b', 'alert(1)', 'a-b', 'new', 'z'.repeat(129), '%00'])(
    'refuses the name %s',
    async (name) => {
      const answer = await asked.get(`/1.0/notes;word=a?${token}&jsonp=${name}`);
      expect([answer.statusCode, codesOf(answer.body)]).toEqual([400, ['N_2']]);
    },
  );

  it.each(['/1.0/notes.xml;word=a', '/1.0/notes.csv;word=a', '/1.0/notes;word=a;format=csv'])(
    'is for JSON only: %s (decisions P27)',
    async (path) => {
      expect((await asked.get(`${path}?${token}&jsonp=f`)).body).toContain('allowed for JSON only');
    },
  );
});

describe('HEAD', () => {
  it('is answered like GET, without the body', async () => {
    const answer = await asked.app.inject({ method: 'HEAD', url: `/1.0/notes.xml;word=a?${token}` });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
  });
});

describe('failures of ours (decisions A12)', () => {
  it('are Open API 5 when an engine does not answer', async () => {
    const answer = await asked.post(`/1.0/notes;word=engine?${token}`, JSON_UTF8);
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([500, '5']);
    const message = `Service not responding (request ${String(answer.headers['x-request-id'])})`;
    expect(answer.json()).toEqual({ errors: [{ code: '5', message }] });
    expect(asked.logged.at(-2)).toContain('the disk is full of secrets');
  });

  it('are the code of the service when it is a bug: logged with its request, nothing leaked', async () => {
    const answer = await asked.post(`/1.0/notes;word=bug?${token}`, JSON_UTF8);
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, error?.code]).toEqual([400, 'N_230']);
    expect(answer.body).not.toContain('secret');
    const entry = JSON.parse(asked.logged.at(-2) ?? '{}') as { reqId: string; err: { message: string } };
    expect(error?.message).toBe(`Unexpected (request ${entry.reqId})`);
    expect(entry.err.message).toBe('a secret is undefined');
    expect(asked.logged.join()).not.toContain(TOKENS.advertiser);
  });
});

describe('read after write (decisions A7)', () => {
  it('waits for the position that is named', async () => {
    const seen = await asked.get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '0000000000000000012' });
    expect(seen.statusCode).toBe(200);
    const unseen = await asked.get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '0000000000000000013' });
    expect([unseen.statusCode, unseen.headers['retry-after'], codesOf(unseen.body)]).toEqual([
      503,
      '1',
      ['503'],
    ]);
    // Zeros in front may be left out (decisions X146).
    const short = await asked.get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '12' });
    expect(short.statusCode).toBe(200);
    const unusable = await asked.get(`/1.0/notes;word=a?${token}`, { 'x-min-position': '12.' });
    expect(codesOf(unusable.body)).toEqual(['N_2']);
  });
});

describe('requests of other origins (Document 1, Conventions 7)', () => {
  it.each(['GET', 'POST', 'DELETE'])('may be %s', async (method) => {
    const answer = await asked.app.inject({
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
      const { headers } = await asked.get(url, { origin: 'https://shop.example' });
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
