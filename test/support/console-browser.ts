import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type Server } from './server';

/** Where a Chromium is; `.ci/run` installs it from packages of the system. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** As people have it: narrow and wide, light and dark. */
export const SCREENS = (
  [
    ['narrow', { width: 390, height: 844 }],
    ['wide', { width: 1280, height: 900 }],
  ] as const
).flatMap(([size, viewport]) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    name: `${size} and ${colorScheme}`,
    ...{ viewport, colorScheme },
  })),
);

/** Loads a page on the first screen, and looks at it on each. */
export async function onEachScreen(page: Page, address: string, look: () => Promise<void>): Promise<void> {
  for (const [at, { viewport, colorScheme }] of SCREENS.entries()) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    if (at === 0) expect((await page.goto(address))?.status()).toBe(200);
    // Whatever is drawn again for another screen is drawn in its first frame.
    await page.evaluate(
      'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))',
    );
    await look();
  }
}

/**
 * Scripts for pages: by how much one is wider than the screen, and how many tables are only read by scrolling sideways.
 */
export const BEYOND = 'document.documentElement.scrollWidth - innerWidth';
export const SCROLLED =
  "[...document.querySelectorAll('.scrolled')].filter((one) => one.scrollWidth > one.clientWidth).length";

/** Keys with which pages show something of the demonstration. */
const KEYS: Readonly<Record<string, string>> = {
  'read-model': '?name=vouchers',
  backup: '?name=first',
  document: '?readModel=vouchers&id=1',
  find: '?id=17',
  loads: '?feedId=1001',
  log: '?stream=feed-1001',
  event: '?position=600',
  history: '?kind=product&feedId=1001&id=KL-00870',
  why: '?kind=product&feedId=1001&id=KL-00870',
  mappings: '?fid=1001',
  products: '?publisher=11&fid=1001',
  vouchers: '?publisher=11',
  claim: '?id=17&versionNo=0',
  sql: '?q=SELECT%20count(*)%20AS%20n%20FROM%20feeds',
};

/** The console of a demonstration in a browser, with the token that it has printed. */
export class ConsoleBrowser {
  /** What pages have complained of: errors, and what their policy forbids. */
  readonly complaints: string[] = [];

  private constructor(
    readonly browser: Browser,
    private readonly server: Server,
    private readonly token: string,
  ) {}

  /**
   * Resolves once its read models are complete, its messages are sent (one receiver has accepted some, another one was
   * disabled), and there is a backup below its BACKUP_DIR.
   */
  static async open(server: Server): Promise<ConsoleBrowser> {
    const line = server.stdoutLines.find((one) => / OPS +operator/.test(one));
    const token = line?.split(' ')[0] ?? '';
    // It answers before all of its read models are there.
    while ((await fetch(`${server.url}/health/ready`)).status !== 200);
    const list = async (path: string) =>
      (await (await fetch(`${server.url}/ops/1.0/${path}?token=${token}`)).json()) as readonly object[];
    while (
      (await list('deliveries;state=delivered')).length === 0 ||
      (await list('deliveries;state=held')).length === 0
    );
    const made = await fetch(`${server.url}/ops/1.0/backups;name=first?token=${token}`, { method: 'POST' });
    expect([made.status, made.ok ? '' : await made.text()]).toEqual([200, '']);
    const executablePath = CHROMIUM.find(existsSync);
    if (executablePath === undefined)
      throw new Error(`this test needs Chromium at one of ${CHROMIUM.join(', ')}: apt-get install chromium`);
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    return new ConsoleBrowser(browser, server, token);
  }

  address(name: string): string {
    return `${this.server.url}/console/${name}${KEYS[name] ?? ''}`;
  }

  async logIn(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    await page.goto(`${this.server.url}/console`);
    await page.getByLabel('Token of an operator, for OPS').fill(this.token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL('**/console/overview');
    return page;
  }

  /** Shows a page, which has nothing to complain of, and fits each screen. */
  async expectFit(page: Page, name: string): Promise<void> {
    // Whatever can be filled in has a name that is read out.
    // At once: a part that is sent again meanwhile replaces its fields.
    const fields = "[...document.querySelectorAll('main :is(input:not([type=hidden]), select, textarea)')]";
    const unnamed = `${fields}.filter((field) => field.labels.length !== 1).length`;
    await onEachScreen(page, this.address(name), async () => {
      const problems = await page.locator('main .said.bad').allTextContents();
      const found = [
        await page.evaluate(BEYOND),
        await page.evaluate(SCROLLED),
        await page.evaluate(unnamed),
      ];
      expect([name, found, problems, this.complaints.splice(0)]).toEqual([name, [0, 0, 0], [], []]);
    });
  }
}
