import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { linked, own, short, table } from '../../src/console/content';
import { sectionText } from '../../src/console/render';
import { PAGES } from '../../src/console/pages';
import { Sessions } from '../../src/console/session';
import { offerId } from '../../src/domain/products/offer';
import { appendFacts } from '../../src/network/decider';
import { tokenHash } from '../../src/network/organisations';
import { issueToken, revokeToken } from '../../src/operations/tokens';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Response, TestApp } from '../support/app';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

const { german } = FEEDS;
const HOURS = 60 * 60 * 1000;

let app: TestApp;
let now = NOW;
beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

const { post } = clientOf(() => app);
const { create } = voucherClientOf(() => app);

interface Shown {
  readonly title: string;
  readonly sections: readonly { readonly id: string; readonly bodies: readonly Record<string, unknown>[] }[];
}

type Fields = Readonly<Record<string, string | number>>;

/** The cookies that an answer sets, by name. */
function cookiesOf({ headers }: Response): ReadonlyMap<string, string> {
  const set = [headers['set-cookie'] ?? []].flat().map((one) => /^([^=]+)=([^;]*)/.exec(one));
  return new Map(set.flatMap((one) => (one === null ? [] : [[one[1] ?? '', one[2] ?? ''] as const])));
}

async function send(
  path: string,
  fields: Fields,
  cookie = '',
  headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
): Promise<Response> {
  const body = new URLSearchParams(
    Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const type = 'application/x-www-form-urlencoded';
  return await app.post(path, {
    headers: { 'content-type': type, cookie, ...headers },
    body: body.toString(),
  });
}

async function session(key: string = OTHER_TOKENS.operator): Promise<string> {
  const answer = await send('/console/login', { key });
  return `affilog_console=${cookiesOf(answer).get('affilog_console') ?? ''}`;
}

const get = (path: string, cookie = ''): Promise<Response> => app.get(path, { headers: { cookie } });

/** What forms of a page send along. */
const formKey = ({ body }: Response): string => /name="form" value="([^"]+)"/.exec(body)?.[1] ?? '';

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

describe('Pages of the console (decisions X124)', () => {
  let cookie = '';
  beforeAll(async () => {
    cookie = await session();
    await post(german, [
      product('one', { categories: [{ name: '<script>alert("x")</script>' }] }),
      product('two'),
    ]);
  });

  /** Keys with which pages have something to show. */
  const KEYS: Readonly<Record<string, string>> = {
    'read-model': '?name=vouchers',
    backup: '?name=none',
    document: '?readModel=products&id=none',
    find: '?id=1',
    loads: `?feedId=${german}`,
    load: `?feedId=${german}&loadId=none`,
    message: '?messageId=msg_none',
    event: '?position=1',
    history: `?kind=product&feedId=${german}&id=one`,
    why: `?kind=product&feedId=${german}&id=one&publisher=11`,
    mappings: `?fid=${german}`,
    products: `?publisher=11&fid=${german}`,
    vouchers: '?publisher=11',
    claim: '?id=1&versionNo=0',
    log: '?limit=1',
  };

  /** Sections about what this application does not have: deliveries, the claim, and BACKUP_DIR. */
  const MISSING = [
    ...['dead', 'messages', 'message', 'receivers', 'claim', 'document', 'load', 'restore'],
    ...['backups', 'backup'],
  ];

  it.each(PAGES.filter(({ name }) => name !== 'sql').map(({ name }) => name))(
    '%s is shown, and as JSON',
    async (name) => {
      const page = await get(`/console/${name}${KEYS[name] ?? ''}`, cookie);
      expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringMatching(
          /default-src 'none'.*script-src 'self'.*form-action 'self'/,
        ),
      });
      const json = await get(`/console/${name}.json${KEYS[name] ?? ''}`, cookie);
      const { sections, title } = json.json<Shown>();
      expect(page.body).toContain(`<h1>${title}</h1>`);
      expect(sections.length).toBeGreaterThan(0);
      for (const { id, bodies } of sections) {
        expect(page.body).toContain(`<section id="${id}"`);
        const problems = bodies.filter(({ is }) => is === 'problem').map(({ text }) => text);
        if (!MISSING.includes(id)) expect(problems).toEqual([]);
      }
    },
  );

  it('escape what others have written', async () => {
    const { body } = await get(`/console/mappings?fid=${german}`, cookie);
    expect(body).toContain('&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;');
    expect(body).not.toContain('<script>alert');
    const asked = await get('/console/log?stream=%22%3E%3Cscript%3E', cookie);
    expect(asked.body).toContain('value="&#34;&#62;&#60;script&#62;"');
  });

  it('ask for exactly what is named, whatever characters it has', async () => {
    await post(
      german,
      ['a', 'a;b', 'a;at=2020-01-01', 'x.csv'].map((id) => product(id, { name: `Named ${id}` })),
    );
    for (const id of ['a', 'a;b', 'a;at=2020-01-01', 'x.csv']) {
      const keys = new URLSearchParams({ kind: 'product', feedId: String(german), id });
      const { sections } = (await get(`/console/history.json?${keys.toString()}`, cookie)).json<Shown>();
      expect(JSON.stringify(sections)).toContain(`"name: Named ${id};`);
    }
    expect((await get('/console/history.json?kind=..&id=tokens', cookie)).json<Shown>().sections).toEqual([]);
  });

  it('find a product by its id in messages, and by that of its offer in searches', async () => {
    for (const id of [`${german}-one`, offerId(german, 'one')]) {
      const { sections } = (
        await get(`/console/find.json?id=${encodeURIComponent(id)}`, cookie)
      ).json<Shown>();
      const to = `history?kind=product&feedId=${german}&id=one`;
      expect([id, JSON.stringify(sections)]).toEqual([id, expect.stringContaining(to)]);
    }
    const none = (await get(`/console/find.json?id=${german}-none`, cookie)).json<Shown>();
    expect(JSON.stringify(none.sections)).not.toContain('kind=product');
  });

  it('say why a part cannot be shown, and show the others', async () => {
    const { body, statusCode } = await get('/console/history?kind=voucher&id=999999', cookie);
    expect(statusCode).toBe(200);
    expect(body).toContain('999999');
    expect(body).toContain('class="said bad"');
  });

  it('are continued where the page before has ended', async () => {
    const ids = await Promise.all(Array.from({ length: 110 }, () => create()));
    const shown: string[] = [];
    for (let next: string | undefined = 'vouchers?publisher=11'; next !== undefined;) {
      const { body } = await get(`/console/${next}`, cookie);
      shown.push(...[...body.matchAll(/history\?kind=voucher&#38;id=(\d+)"/g)].map(([, id = '']) => id));
      next = /href="\/console\/([^"]+)"><bdi>Next</.exec(body)?.[1]?.replaceAll('&#38;', '&');
    }
    expect(new Set(shown)).toEqual(new Set(ids.map(String)));
  });

  it('are 404 if there are none', async () => {
    expect((await get('/console/nothing', cookie)).statusCode).toBe(404);
    expect((await get('/console/files/nothing.js')).statusCode).toBe(404);
    expect((await get('/console/files/toString')).statusCode).toBe(404);
    expect((await get('/console/files/script.js')).statusCode).toBe(200);
  });

  it('change what their forms ask for, which is listed among the actions, and say so once', async () => {
    const here = `/console/mappings?fid=${german}`;
    const form = formKey(await get(here, cookie));
    const name = '<script>alert("x")</script>';
    const fields = { form, do: 'map', fid: german, name, categoryId: '1', reason: 'a test' };
    const answer = await send(here, fields, cookie);
    expect([answer.statusCode, answer.headers['location']]).toEqual([303, here]);
    const said = `affilog_said=${cookiesOf(answer).get('affilog_said') ?? ''}`;
    const after = await get(here, `${cookie}; ${said}`);
    expect(after.body).toContain('is mapped to 1.');
    expect(cookiesOf(after).get('affilog_said')).toBe('');
    const { sections } = (await get('/console/actions.json', cookie)).json<Shown>();
    expect(JSON.stringify(sections)).toContain('a test');
    const refused = await send(here, { ...fields, categoryId: 'none' }, cookie);
    expect(decodeURIComponent(cookiesOf(refused).get('affilog_said') ?? '')).toMatch(/^bad .*none/);
  });

  it('say what was done in a cookie that browsers store, whatever the text is', async () => {
    const form = formKey(await get('/console/parked', cookie));
    for (const id of ['\u{1f600}'.repeat(600), `a${'\u{1f600}'.repeat(600)}`, '\u65e5'.repeat(2_000)]) {
      const fields = { form, do: 'skip', name: 'vouchers', id, reason: 'a test' };
      const answer = await send('/console/parked', fields, cookie);
      const said = cookiesOf(answer).get('affilog_said') ?? '';
      expect([answer.statusCode, said.startsWith('bad%20'), said.length < 4_000]).toEqual([303, true, true]);
    }
    expect(linked('half', 'history', { id: '\ud83d' }).to).toBe('history?id=%EF%BF%BD');
    expect([short('\u{1f600}'.repeat(200)), short(undefined)]).toEqual([
      `${'\u{1f600}'.repeat(150)}…`,
      'none',
    ]);
  });

  it('show ids and positions as they are, numbers with separators, and times to the second', () => {
    const [since, until] = ['2026-11-27T03:53:13.406Z', '2026-11-27T03:58:35.000Z'];
    const row = { feedId: 1001, products: 1001, position: '0000000000000000042', name: '' };
    const columns = { ...own('feedId', 'products', 'position', 'name'), Why: () => `${since} to ${until}` };
    const section = { id: 'a', title: 'A', bodies: [table([row], 'none', columns)] };
    const text = sectionText(section, { base: '', here: '', formKey: '' });
    const cells = [...text.matchAll(/<td.*?<div>(.*?)<\/div>/g)].map(([, cell = '']) =>
      cell.replace(/<[^>]+>/g, ''),
    );
    expect(cells).toEqual(['1001', '1,001', '42', '–', '2026-11-27 03:53:13 to 2026-11-27 03:58:35']);
  });

  it('show the amounts of a column with the same decimals, and times of SQL as others', () => {
    const rows = [22, 366.7, 0].map((value) => ({ value, time: '2026-11-13 05:19:28.367+00' }));
    const section = { id: 'a', title: 'A', bodies: [table(rows, 'none', own('value', 'time'))] };
    const text = sectionText(section, { base: '', here: '', formKey: '' });
    const cells = [...text.matchAll(/<div>([\d.]+)<\/div>/g)].map(([, cell]) => cell);
    expect(cells).toEqual(['22.00', '366.70', '0.00']);
    expect(text).toContain('>2026-11-13 05:19:28</time>');
  });

  it('do what takes effect for others at once only for a reason, as requests do', async () => {
    const here = '/console/read-model?name=vouchers';
    const form = formKey(await get(here, cookie));
    for (const verb of ['rollback', 'swap', 'discard']) {
      const answer = await send(here, { form, do: verb, name: 'vouchers', reason: ' ' }, cookie);
      expect(decodeURIComponent(cookiesOf(answer).get('affilog_said') ?? '')).toMatch(/^bad .*reason/);
      const asked = await app.post(`/ops/1.0/projections/${verb};name=vouchers`, {
        token: OTHER_TOKENS.operator,
      });
      expect([asked.statusCode, asked.body]).toEqual([400, expect.stringContaining('reason')]);
    }
  });

  it('change nothing for forms of other sites, or of other sessions', async () => {
    const here = `/console/mappings?fid=${german}`;
    const form = formKey(await get(here, cookie));
    const fields = { form, do: 'unmap', fid: german, name: '<script>alert("x")</script>' };
    const sent = [
      await send(here, fields, cookie, { 'sec-fetch-site': 'cross-site' }),
      await send(here, fields, cookie, { origin: 'https://evil.example' }),
      await send(here, { ...fields, form: '' }, cookie),
      await send(here, { ...fields, form: `${form}x` }, cookie),
      await send('/console/login', { key: OTHER_TOKENS.operator }, '', { origin: 'null' }),
    ];
    expect(sent.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400, 400]);
    const { body } = await get('/console/actions.json', cookie);
    expect(body).not.toContain('mappings unmap');
    expect((await send(here, { ...fields, do: 'constructor' }, cookie)).statusCode).toBe(404);
    expect((await send('/console/overview', { form: 'x'.repeat(70_000) }, cookie)).statusCode).toBe(413);
  });
});

describe('Pages that are kept up to date (decisions X124)', () => {
  let cookie = '';
  let server: Server;
  let url = '';
  beforeAll(async () => {
    cookie = await session();
    server = app.http.getHttpServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/overview/live`;
  });

  /** The first part that is sent. */
  async function opened(stop: AbortController, address = url): Promise<string> {
    const { body, status } = await fetch(address, { headers: { cookie }, signal: stop.signal });
    expect(status).toBe(200);
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) return chunk;
    throw new Error('it has ended');
  }

  it('share what is read for them', async () => {
    const { log } = app.engines;
    const own = log.readAllBackwards.bind(log);
    const received = new Promise<void>((resolve) => {
      let requests = 0;
      server.on('request', () => (requests += 1) === 3 && resolve());
    });
    let reads = 0;
    log.readAllBackwards = async function* (options) {
      reads += 1;
      await received;
      yield* own(options);
    };
    const stop = new AbortController();
    for (const part of await Promise.all([1, 2, 3].map(() => opened(stop))))
      expect(part).toMatch(/^data: \{/);
    expect(reads).toBeLessThan(2);
    stop.abort();
    log.readAllBackwards = own;
  });

  it('leave room for others when they have ended, however early', async () => {
    const stop = new AbortController();
    // They are closed before they are handled.
    const [handle] = server.listeners('request') as [
      (request: IncomingMessage, response: ServerResponse) => void,
    ];
    const closing = (request: IncomingMessage, response: ServerResponse): void => {
      if (request.url?.endsWith('?early') !== true) {
        handle(request, response);
        return;
      }
      response.once('close', () => handle(request, response));
      response.destroy();
    };
    server.off('request', handle).on('request', closing);
    for (let page = 0; page < 40; page += 1) await expect(opened(stop, `${url}?early`)).rejects.toThrow();
    await expect(opened(stop)).resolves.toMatch(/^data: \{/);
    stop.abort();
    server.off('request', closing).on('request', handle);
  });
});

describe('What operators have of the present (decisions X125)', () => {
  const ask = (path: string, token: string = OTHER_TOKENS.operator): Promise<Response> =>
    app.get(path, { token });

  it('is what publishers see', async () => {
    const keys = `;fid=${german};orderBy=priceAsc`;
    const own = await ask(`/1.0/products${keys}`, TOKENS.preisblickAll);
    const shown = await ask(`/ops/1.0/products${keys};publisher=11`);
    expect(own.json<{ readonly products: readonly object[] }>().products.length).toBeGreaterThan(0);
    expect(shown.json()).toEqual(own.json());
  });

  it('has all feeds, also those that no publisher sees', async () => {
    const { feeds } = (await ask('/ops/1.0/feeds')).json<{
      readonly feeds: readonly { readonly feedId: number }[];
    }>();
    const all = [...app.follower.directory.programs.allFeeds()].map(({ id }) => id).sort((a, b) => a - b);
    expect(feeds.map(({ feedId }) => feedId)).toEqual(all);
  });

  it('has tokens by their fingerprints alone', async () => {
    const answer = await ask('/ops/1.0/tokens');
    const listed = answer.json<readonly { readonly fingerprint: string }[]>();
    expect(listed.map(({ fingerprint }) => fingerprint)).toContain(tokenHash(TOKENS.preisblick).slice(0, 12));
    for (const token of [...Object.values(TOKENS), ...Object.values(OTHER_TOKENS)]) {
      expect(answer.body).not.toContain(token);
      expect(answer.body).not.toContain(tokenHash(token));
    }
  });
});
