import { Sessions } from '../../src/console/session';
import { appendFacts } from '../../src/network/decider';
import { tokenHash } from '../../src/network/organisations';
import { issueToken, revokeToken } from '../../src/operations/tokens';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { consoleOf, cookiesOf, formKey } from './console-client';
import { OTHER_TOKENS, TOKENS } from './network';
import { NOW, VOUCHER_NETWORK } from './voucher-network';

const HOURS = 60 * 60 * 1000;

let app: TestApp;
let now = NOW;
beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

interface Shown {
  readonly title: string;
  readonly sections: readonly { readonly id: string; readonly bodies: readonly Record<string, unknown>[] }[];
}

const { send, session, get } = consoleOf(() => app);

describe('Sessions of the console (decisions X124)', () => {
  it.each([
    ['no token', 'secret'],
    ['an unknown token', '0'.repeat(40)],
    ['the token of a publisher', TOKENS.preisblick],
  ])('are refused for %s', async (_, key) => {
    const answer = await send('/console/login', { key });
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([403, undefined]);
    expect(answer.body).toContain('This is no token of an operator for OPS.');
    expect(answer.body).not.toContain(key);
  });

  it('begin with the token of an operator, and lead to where one wanted to be', async () => {
    const asked = await get('/console/history?kind=feed&id=1');
    expect([asked.statusCode, asked.headers['location']]).toEqual([
      303,
      '/console/login?to=history%3Fkind%3Dfeed%26id%3D1',
    ]);
    const answer = await send('/console/login', { key: OTHER_TOKENS.operator, to: 'history?kind=feed&id=1' });
    expect([answer.statusCode, answer.headers['location']]).toEqual([303, '/console/history?kind=feed&id=1']);
    const [cookie] = [answer.headers['set-cookie'] ?? []].flat();
    expect(cookie).toMatch(/; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/);
    expect(Buffer.from(cookie ?? '', 'base64url').toString()).not.toContain(OTHER_TOKENS.operator);
    expect(
      (await send('/console/login', { key: OTHER_TOKENS.operator, to: '//evil.example' })).headers,
    ).toMatchObject({ location: '/console/overview' });
  });

  it('are not needed for pages as JSON with the token of an operator (decisions X153)', async () => {
    const ask = (path: string, token: string, headers = {}) =>
      app.get(`/console/${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
    const shown = await ask('tokens.json', OTHER_TOKENS.operator);
    expect([shown.statusCode, shown.headers['set-cookie']]).toEqual([200, undefined]);
    expect(shown.json<Shown>().sections[0]?.bodies).not.toEqual([]);
    const ended = await ask('tokens.json', OTHER_TOKENS.operator, { cookie: 'affilog_console=ended' });
    expect(ended.statusCode).toBe(200);
    for (const token of [TOKENS.preisblick, '0'.repeat(40), 'x', `${OTHER_TOKENS.operator} x`])
      for (const path of ['tokens.json', 'history.json']) {
        const refused = await ask(path, token, { cookie: await session() });
        expect([refused.statusCode, refused.json<object>()]).toMatchObject([
          403,
          { errors: [{ code: '2' }] },
        ]);
      }
    // Pages and forms need a session.
    expect((await ask('tokens', OTHER_TOKENS.operator)).statusCode).toBe(303);
    const posted = await app.post('/console/read-model.json', {
      headers: {
        authorization: `Bearer ${OTHER_TOKENS.operator}`,
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
      },
      body: 'do=pause&name=products',
    });
    expect(posted.statusCode).toBe(404);
    const none = await app.get('/console/tokens.json', {});
    expect([none.statusCode, none.body]).toEqual([404, expect.stringContaining('send a token for OPS')]);
  });

  it('are not tried once ten have failed in a minute, from one address', async () => {
    const attempt = async (key: string) => await send('/console/login', { key });
    now += HOURS;
    for (let failed = 0; failed < 10; failed += 1)
      expect((await attempt('0'.repeat(40))).statusCode).toBe(403);
    const refused = await attempt(OTHER_TOKENS.operator);
    expect([refused.statusCode, Number(refused.headers['retry-after'])]).toEqual([429, expect.any(Number)]);
    expect(refused.headers['set-cookie']).toBeUndefined();
    now += 60_000;
    expect((await attempt(OTHER_TOKENS.operator)).statusCode).toBe(303);
    now -= HOURS + 60_000;
  });

  it('are limited too if they are tried at once; those that succeed do not count', async () => {
    now += 2 * HOURS;
    const statuses = async (key: string, times: number) =>
      await Promise.all(
        Array.from({ length: times }, async () => (await send('/console/login', { key })).statusCode),
      );
    for (let round = 0; round < 3; round += 1)
      expect(await statuses(OTHER_TOKENS.operator, 5)).toEqual(Array(5).fill(303));
    expect((await statuses('0'.repeat(40), 25)).sort()).toEqual([
      ...Array(10).fill(403),
      ...Array(15).fill(429),
    ]);
    now -= 2 * HOURS;
  });

  it('lead to pages of the console only, with whatever keys', async () => {
    const to = async (wanted: string) =>
      (await send('/console/login', { key: OTHER_TOKENS.operator, to: wanted })).headers['location'];
    expect(await to('log?stream=日本&type=a\r\nb')).toBe(
      '/console/log?stream=%E6%97%A5%E6%9C%AC&type=a%0D%0Ab',
    );
    for (const other of ['//evil.example', 'https://evil.example', '../log', 'login', ''])
      expect(await to(other)).toBe('/console/overview');
  });

  it('end after 12 hours, when one logs out, and with any other cookie', async () => {
    const cookie = await session();
    expect((await get('/console/overview', cookie)).statusCode).toBe(200);
    const altered = cookie.replace(/=./, (first) => (first === '=A' ? '=B' : '=A'));
    for (const other of [altered, 'affilog_console=', 'affilog_console=AAAA', ''])
      expect((await get('/console/overview', other)).statusCode).toBe(303);
    now += 12 * HOURS - 1;
    expect((await get('/console/overview', cookie)).statusCode).toBe(200);
    now += 1;
    expect((await get('/console/overview', cookie)).statusCode).toBe(303);
    now -= 12 * HOURS;
    const form = formKey(await get('/console/overview', cookie));
    const left = await send('/console/logout', { form }, cookie);
    expect([left.headers['location'], cookiesOf(left).get('affilog_console')]).toEqual([
      '/console/login',
      '',
    ]);
  });

  it('end when their token expires, or is revoked', async () => {
    const { follower, engines } = app;
    const caller = follower.directory.organisations.callerOf(tokenHash(OTHER_TOKENS.operator));
    const holder = { organisationId: caller!.organisationId, system: 'OPS' } as const;
    const options = { at: new Date(now).toISOString(), expires: new Date(now + HOURS).toISOString() };
    const { token, fact } = issueToken(follower.directory, holder, options);
    await appendFacts(SYSTEM_CLOCK, engines.log, [fact], follower.directory);
    await follower.reached(await engines.log.head());
    const cookie = await session(token);
    expect((await get('/console/overview', cookie)).statusCode).toBe(200);
    now += HOURS;
    const answer = await get('/console/overview', cookie);
    expect([answer.statusCode, answer.headers['location']]).toEqual([303, '/console/login?to=overview']);
    expect((await get('/console/overview.json', cookie)).statusCode).toBe(404);
    now -= HOURS;
    expect((await get('/console/overview', cookie)).statusCode).toBe(200);
    const revoked = revokeToken(follower.directory, tokenHash(token), new Date(now).toISOString());
    await appendFacts(SYSTEM_CLOCK, engines.log, [revoked], follower.directory);
    await follower.reached(await engines.log.head());
    expect((await get('/console/overview', cookie)).statusCode).toBe(303);
    await app.import(VOUCHER_NETWORK);
  });

  it('are sealed: what one installation has sealed, another cannot open', () => {
    const [one, other] = [1, 2].map((byte) => new Sessions(Buffer.alloc(32, byte)));
    const cookie = one!.seal({ token: 'a'.repeat(40), ends: 10 });
    expect([one!.open(cookie, 9), one!.open(cookie, 10), other!.open(cookie, 9)]).toEqual([
      { token: 'a'.repeat(40), ends: 10 },
      undefined,
      undefined,
    ]);
    expect(one!.isFormKey(cookie, other!.formKey(cookie))).toBe(false);
  });
});
