import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { linked, own, short, table } from '../../src/console/content';
import { sectionText } from '../../src/console/render';
import { PAGES } from '../../src/console/pages';
import { offerId } from '../../src/domain/products/offer';
import { tokenHash } from '../../src/network/organisations';
import { type Response, TestApp } from '../support/app';
import { consoleOf, cookiesOf, formKey } from './console-client';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';

const { german } = FEEDS;

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
});
afterAll(() => app.close());

const { post } = clientOf(() => app);
const { create } = voucherClientOf(() => app);

interface Shown {
  readonly title: string;
  readonly sections: readonly { readonly id: string; readonly bodies: readonly Record<string, unknown>[] }[];
}

const { send, session, get } = consoleOf(() => app);

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
