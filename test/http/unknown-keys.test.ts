import { codesOf, JSON_UTF8, notes, token } from './asking-notes';

const asked = notes();

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
