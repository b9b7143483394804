import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, type Page } from 'playwright-core';
import { ModuleKind, ScriptTarget, transpile } from 'typescript';
import { PAGES } from '../../../src/console/pages';
import { BEYOND, ConsoleBrowser, onEachScreen, SCREENS, SCROLLED } from '../../support/console-browser';
import { threadsGivingWay } from '../../support/priorities';
import { removeFolder, Server, temporaryFolder } from '../../support/server';

let folder: string;
let backups: string;
let server: Server;
let browser: Browser;
let shown: ConsoleBrowser;

beforeAll(async () => {
  [folder, backups] = [await temporaryFolder(), await temporaryFolder()];
  const environment = { BACKUP_DIR: backups, LOG_LEVEL: 'info' };
  server = await Server.start(folder, { args: ['--demo'], environment });
  shown = await ConsoleBrowser.open(server);
  ({ browser } = shown);
});
afterAll(async () => {
  await browser.close();
  expect(await server.end()).toBe(0);
  for (const one of [folder, backups]) await removeFolder(one);
});

const address = (name: string): string => shown.address(name);
const logIn = async (context: BrowserContext): Promise<Page> => await shown.logIn(context);

/** Opens the form of an action, and confirms it. */
async function act(page: Page, name: string, fields: Readonly<Record<string, string>> = {}): Promise<void> {
  const form = page
    .locator('details', { has: page.locator('summary', { hasText: new RegExp(`^${name}$`) }) })
    .first();
  await form.locator('summary').click();
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label).fill(value);
  await form.getByRole('button', { name }).click();
}

const status = async (page: Page): Promise<string | null> => await page.getByRole('status').textContent();

describe('The console in a browser (decisions X124)', () => {
  let page: Page;
  beforeAll(async () => {
    page = await logIn(await browser.newContext());
  });
  afterAll(() => page.context().close());

  it.each(PAGES.map((one) => one.name))('shows %s without complaints, within each screen', async (one) => {
    await shown.expectFit(page, one);
  });

  it('draws the prices of a product', async () => {
    await onEachScreen(page, address('history'), async () => {
      await expect(page.locator('figure.plot canvas').count()).resolves.toBe(1);
    });
  });

  it.each(SCREENS.filter((_, at) => at % 2 === 0))(
    'is used with the keyboard: $name',
    async ({ viewport }) => {
      await page.setViewportSize(viewport);
      await page.goto(address('log'));
      await page.keyboard.press('Tab');
      await expect(page.locator(':focus').textContent()).resolves.toBe('Skip to the content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await expect(page.locator('main :focus').count()).resolves.toBe(1);
      await page.locator('h1').click();
      await page.keyboard.press('/');
      await page.keyboard.type('17');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/console/find?id=17');
      await page.getByRole('link', { name: 'claim 17' }).click();
      await page.waitForURL('**/console/history?kind=claim&id=17');
      await expect(page.locator('tbody tr').first().textContent()).resolves.toContain('ClaimFiled');
    },
  );
});

describe('The console (decisions X124)', () => {
  it('pauses a read model, compares it and rolls it back', async () => {
    const context = await browser.newContext();
    const page = await logIn(context);
    await page.goto(address('read-model'));
    const state = page.locator('#state dd').first();
    const expectState = async (text: string) => {
      await page
        .locator('#state dd', { hasText: new RegExp(`^${text}$`) })
        .first()
        .waitFor();
    };
    await act(page, 'Pause');
    await expectState('paused');
    await act(page, 'Resume');
    await expectState('live');
    const generation = async () => await page.locator('#state tbody tr', { hasText: 'live' }).textContent();
    const before = await generation();
    // Those of loads (decisions P41).
    const givingWay = threadsGivingWay(server.pid);
    await act(page, 'Rebuild');
    await page.locator('#state tbody tr', { hasText: 'kept' }).waitFor();
    expect(await generation()).not.toBe(before);
    // The thread of rebuilds too (decisions X143).
    if (process.platform === 'linux') expect(threadsGivingWay(server.pid)).toBeGreaterThan(givingWay);
    await act(page, 'Roll back', { Reason: 'a test' });
    expect(await status(page)).toBe('vouchers is rolled back.');
    await act(page, 'Compare with the log');
    await page.locator('#state dd', { hasText: 'comparison' }).or(state).first().waitFor();
    for (
      let text = '';
      !text.includes('No document differs.');
      text = (await page.textContent('#comparison')) ?? ''
    ) {
      await page.waitForTimeout(200);
      await page.goto(address('read-model'));
    }
    await context.close();
  });

  it('decides a claim, shows what was done, and has pages that are open show it too', async () => {
    const context = await browser.newContext();
    const watching = await logIn(context);
    await watching.goto(address('as-of'));
    await expect(watching.locator('#as-of').textContent()).resolves.toContain(
      'None: build them as of a time.',
    );
    const page = await context.newPage();
    await page.goto(address('as-of'));
    await act(page, 'Build another', {
      Name: 'now',
      'Read model, or all': 'vouchers',
      'As of (time)': new Date().toISOString(),
    });
    expect(await status(page)).toBe('now is being built.');
    // Without being loaded again.
    await watching.locator('#as-of td', { hasText: /^vouchers \(/ }).waitFor();
    await page.goto(address('claim'));
    await act(page, 'Release to its advertiser', { Reason: 'seen the receipt' });
    expect(await status(page)).toBe('Claim 17 awaits the approval of its advertiser.');
    await page.goto(address('actions'));
    await expect(page.locator('tbody tr').first().textContent()).resolves.toMatch(
      /claims release.*seen the receipt/s,
    );
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL('**/console/login');
    await page.goto(address('overview'));
    expect(page.url()).toContain('/console/login');
    await context.close();
  });
});

describe('The documentation of a demonstration (decisions X82, X83, X140)', () => {
  /** Pages with everything that can be folded, unfolded. */
  const DOCS = [
    '',
    'products',
    'vouchers',
    'claims',
    'conversions',
    'claim-subscriptions',
    'voucher-subscriptions',
    'operations',
  ];
  const OTHERS = [
    'requests',
    'following',
    'notifications',
    'decisions',
    'errors',
    'errors/PF_240',
    'errors/503',
  ];

  describe('in a browser', () => {
    let page: Page;
    beforeAll(async () => {
      page = await (await browser.newContext()).newPage();
      page.on('pageerror', (error) => shown.complaints.push(error.message));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) shown.complaints.push(message.text());
      });
    });
    afterAll(() => page.context().close());

    it.each([...DOCS, ...OTHERS])('shows “%s” without complaints, within each screen', async (name) => {
      const unnamed =
        "[...document.querySelectorAll('main :is(input, select, textarea)')].filter((one) => one.labels.length !== 1).length";
      const twice =
        "(() => { const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id); return ids.filter((id, at) => ids.indexOf(id) !== at); })()";
      await onEachScreen(page, `${server.url}/docs/${name}`.replace(/\/$/, ''), async () => {
        await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
        const found = [
          await page.evaluate(BEYOND),
          await page.evaluate(SCROLLED),
          await page.evaluate(unnamed),
          await page.evaluate(twice),
        ];
        expect([name, found, shown.complaints.splice(0)]).toEqual([name, [0, 0, 0, []], []]);
      });
    });
  });

  it('sends a request as somebody of the demonstration by one click, and explains its errors', async () => {
    const page = await (await browser.newContext()).newPage();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.goto(`${server.url}/docs/products#searchProducts`);
    const search = page.locator('#searchProducts');
    await search.locator('summary', { hasText: 'Try it' }).click();
    await search.getByRole('button', { name: 'Send as Preisfuchs, site Preisfuchs', exact: true }).click();
    await search.locator('.said.good', { hasText: '200' }).waitFor();
    expect(await search.locator('.answered pre').last().textContent()).toContain('"totalHits"');
    // The token is there for other operations, in the tab only, and in no address.
    await search.getByLabel('Other keys').fill(`pageSize=0&token=${'0'.repeat(40)}`);
    await search.getByRole('button', { name: 'Send', exact: true }).click();
    await search.locator('.said.bad', { hasText: '400' }).waitFor();
    expect(sent.filter((url) => /[0-9a-f]{40}|token/.test(url))).toEqual([]);
    await search.getByRole('link', { name: 'What PF_430 means' }).click();
    await page.waitForURL('**/docs/errors/PF_430');
    await expect(page.evaluate('localStorage.length')).resolves.toBe(0);
    // The language that somebody reads is that of all examples.
    await page.goto(`${server.url}/docs/vouchers`);
    await page.locator('#listVouchers label', { hasText: 'Python' }).click();
    await expect(
      page.locator('#postVoucher .tabs').first().locator('pre:visible').textContent(),
    ).resolves.toContain('import json');
    // A post with the example of its body.
    const post = page.locator('#postVoucher');
    await post.locator('summary', { hasText: 'Try it' }).click();
    await post.getByRole('button', { name: 'Send as Kaufhaus Lindner' }).click();
    await post.locator('.said.good', { hasText: '200' }).waitFor();
    await page.context().close();
  });

  it('can be read without scripts', async () => {
    const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(`${server.url}/docs/products`);
    const search = page.locator('#searchProducts');
    await search.locator('label', { hasText: 'PHP' }).click();
    expect(await search.locator('.tabs').first().locator('pre:visible').textContent()).toContain('curl_init');
    expect(await search.locator('summary', { hasText: 'Try it' }).count()).toBe(1);
    expect(await search.locator('summary', { hasText: 'Try it' }).isVisible()).toBe(false);
    await page.context().close();
  });

  /** How a language runs an example, once it is written to a file. */
  const RUNS: Readonly<Record<string, readonly [file: string, ...command: string[]]>> = {
    curl: ['example.sh', 'bash'],
    TypeScript: ['example.mjs', process.execPath],
    Python: ['example.py', 'python3'],
    PHP: ['example.php', 'php'],
  };
  const hasPhp = spawnSync('php', ['--version']).status === 0;

  /** The reading operation of each service, and whose token it needs. */
  const READS = [
    ['products', 'searchProducts', 'PUBLISHER'],
    ['vouchers', 'listVouchers', 'VOUCHER_PUBLISHER'],
    ['conversions', 'listTransactions', 'CONVERSION_PUBLISHER'],
    ['conversions', 'listSubscriptions', 'CONVERSION_PUBLISHER'],
    ['claims', 'listClaims', 'CLAIM_PUBLISHER'],
    ['claim-subscriptions', 'listClaimSubscriptions', 'CLAIM_PUBLISHER'],
    ['voucher-subscriptions', 'listVoucherSubscriptions', 'VOUCHER_PUBLISHER'],
    ['product-subscriptions', 'listProductSubscriptions', 'PUBLISHER'],
    ['operations', 'listAllFeeds', 'OPS'],
  ] as const;

  describe.each(Object.entries(RUNS))('has examples in %s', (language, [file, ...command]) => {
    const run = language === 'PHP' && !hasPhp ? it.skip : it;
    run.each(READS)('that can be run as they are shown: of %s %s', async (name, id, owner) => {
      const html = await (await fetch(`${server.url}/docs/${name}`)).text();
      const section = html.split(`<section id="${id}"`)[1]?.split('</section>')[0] ?? '';
      const labels = [...section.matchAll(/value="(\w+)"[^>]*><label for="\w+-request-/g)].map(
        ([, one]) => one,
      );
      const shown =
        [...section.matchAll(/<pre tabindex="0">(.*?)<\/pre>/gs)][labels.indexOf(language)]?.[1] ?? '';
      const code = shown.replace(/&#(\d+);/g, (_, number) => String.fromCharCode(Number(number)));
      const own = await temporaryFolder();
      const plain =
        language === 'TypeScript'
          ? transpile(code, { target: ScriptTarget.ES2022, module: ModuleKind.ESNext })
          : code;
      await writeFile(join(own, file), plain);
      const [, value = ''] = new RegExp(`\\b${owner}=(\\w+)`).exec(server.stdoutLines.join('\n')) ?? [];
      const [program = '', ...args] = command;
      const { stdout } = await promisify(execFile)(program, [...args, join(own, file)], {
        env: { PATH: process.env.PATH, TOKEN: value },
      });
      expect([id, stdout]).toEqual([id, expect.not.stringMatching(/errors|^\s*$/)]);
      await removeFolder(own);
    });
  });
});

test('the log of a server has no disconnections because a page was left, or was read within the server (decisions X86)', async () => {
  const page = await logIn(await browser.newContext());
  await Promise.all([page.waitForRequest(/read-models\/live/), page.goto(address('read-models'))]);
  await page.context().close();
  const lines = (): readonly Record<string, unknown>[] =>
    server.stderr.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        return [];
      }
    });
  const isOver = ({ path }: Record<string, unknown>): boolean =>
    String(path).startsWith('/console/read-models/live');
  while (!lines().some(isOver)) await pause(50);
  const own = lines().filter(({ path }) => /^\/ops\/|\/live/.test(String(path)));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter(({ disconnected }) => disconnected !== undefined)).toEqual([]);
});
