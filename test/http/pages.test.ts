import { EVENTS as DESCRIBED } from '../../src/operations/events/schemas';
import { runInNewContext } from 'node:vm';
import { request } from 'node:http';
import { type Response, TestApp } from '../support/app';
import { NETWORK, TOKENS } from '../api/network';
import { outcome } from '../api/posted';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

describe('the documentation page (decisions A8, X82)', () => {
  it('is served without a token, and loads nothing from other hosts', async () => {
    const { statusCode, headers, body } = await app.get('/docs');
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';");
    expect(headers['content-security-policy']).toContain("connect-src 'self';");
    expect(body).not.toMatch(/https?:|<script>/);
    const parts = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(parts).toHaveLength(5);
    for (const part of parts) {
      const answer = await app.get(`/${part}`);
      expect([part, answer.statusCode]).toEqual([part, 200]);
      const known = { 'if-none-match': String(answer.headers.etag) };
      expect((await app.get(`/${part}`, { headers: known })).statusCode).toBe(304);
    }
  });

  it('has no other files, and a single address', async () => {
    expect((await app.get('/docs/package.json')).statusCode).toBe(404);
    expect((await app.get('/docs/..%2fpackage.json')).statusCode).toBe(404);
    const { statusCode, headers } = await app.get('/docs/');
    expect([statusCode, headers.location]).toEqual([308, '../docs']);
  });

  it('shows all operations closed, which takes a browser seconds; it took minutes to open them all', async () => {
    const { options } = await started();
    expect(options).toMatchObject({
      ...{ url: '1.0/openapi.json', docExpansion: 'list', tryItOutEnabled: true },
      defaultModelsExpandDepth: -1,
    });
  });

  it('has the description as OpenAPI 3.0, of which it only processes what it shows', async () => {
    const { read } = await started();
    const $ref = '#/components/schemas/Filter';
    const property = { type: ['string', 'null'], pattern: '^a$' };
    const document = { openapi: '3.1.0', a: [{ $ref }, { $ref, description: 'What' }], property, type: {} };
    expect(read(JSON.stringify(document))).toEqual({
      openapi: '3.0.3',
      a: [{ $ref }, { allOf: [{ $ref }], description: 'What' }],
      property: { type: 'string', nullable: true, pattern: '^a$' },
      type: {},
    });
    const whole = JSON.stringify(read((await app.get('/1.0/openapi.json')).body));
    expect(whole).not.toContain('"type":[');
    expect(whole).toContain('"paths":{"/1.0/products":{"get":{"operationId":"searchProducts"');
  });

  it('is dark where the browser is', async () => {
    expect((await started(new Map(), true)).classes).toEqual(['dark-mode']);
    expect((await started(new Map(), false)).classes).toEqual([]);
  });

  it('keeps tokens until the tab is closed, and forgets them when they are removed', async () => {
    const storage = new Map<string, string>();
    const page = await started(storage);
    expect(page.restored).toEqual([]);
    page.change('authorize', { PRODUCTS: { value: 'abc' } });
    expect((await started(storage)).restored).toEqual([{ authorized: { PRODUCTS: { value: 'abc' } } }]);
    page.change('logout', {});
    expect((await started(storage)).restored).toEqual([{ authorized: {} }]);
  });
});

interface PageOptions {
  readonly onComplete: () => void;
  readonly plugins: readonly (() => {
    readonly statePlugins: {
      readonly auth?: { readonly wrapActions: Readonly<Record<string, WrappedAction>> };
      readonly spec?: { readonly wrapActions: { readonly parseToJson: WrappedAction<string> } };
    };
  })[];
}

type WrappedAction<T = object> = (original: () => void, system: object) => (payload: T) => void;

/** Runs the script of the page as a browser does that has Swagger UI, with these tokens stored. */
async function started(storage = new Map<string, string>(), isDark = false) {
  const { body } = await app.get('/docs/start.js');
  const restored: unknown[] = [];
  const classes: string[] = [];
  const found: PageOptions[] = [];
  const toggle = (name: string, isOn: boolean) => (isOn ? classes.push(name) : undefined);
  runInNewContext(body, {
    SwaggerUIBundle: (given: PageOptions) => {
      found.push(given);
      return { authActions: { restoreAuthorization: (payload: unknown) => restored.push(payload) } };
    },
    matchMedia: () => ({ matches: isDark, addEventListener: () => undefined }),
    document: { documentElement: { classList: { toggle } } },
    sessionStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
    },
  });
  const options = found[0]!;
  options.onComplete();
  const plugins = options.plugins.map((plugin) => plugin().statePlugins);
  return {
    options,
    restored,
    classes,
    change: (action: string, authorized: object) => {
      const system = { authSelectors: { authorized: () => authorized } };
      const actions = plugins.find(({ auth }) => auth !== undefined)?.auth?.wrapActions;
      actions?.[action]?.(() => undefined, system)({});
    },
    /** The description that Swagger UI gets of what it has loaded. */
    read: (text: string): unknown => {
      let described: unknown;
      const system = { specActions: { updateJsonSpec: (value: unknown) => (described = value) } };
      const spec = plugins.find((plugin) => plugin.spec !== undefined)?.spec;
      spec?.wrapActions.parseToJson(() => undefined, system)(text);
      return JSON.parse(JSON.stringify(described));
    },
  };
}

const CHROME =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8';
const EVENTS = '/1.0/schemas/events/';
const PAGES = ['/', '/1.0', '/1.0/', '/1.0/schemas', '/1.0/schemas/', '/1.0/schemas/events', EVENTS];

interface Index {
  readonly name: string;
  readonly links: readonly { readonly href: string; readonly title: string }[];
}

/** Where the links of an answer lead, as a browser follows them. */
function targetsOf(page: string, answer: Response): readonly string[] {
  const isHtml = String(answer.headers['content-type']).startsWith('text/html');
  const links = isHtml
    ? [...answer.body.matchAll(/<a href="([^"]+)">/g)].map(([, href = '']) => href)
    : answer.json<Index>().links.map(({ href }) => href);
  return links.map((href) => new URL(href, `https://proxy.example/prefix${page}`).pathname);
}

describe.each(PAGES)('the index at %s (decisions A8, X85)', (page) => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/json, text/html', 'application/json'],
    ['text/html;q=0.5, application/json', 'application/json'],
    ['text/html;q=0, */*', 'application/json'],
    ['image/png', 'application/json'],
    ['text/html', 'text/html'],
    ['text/html, */*', 'text/html'],
    ['text/html, application/json;q=0.9', 'text/html'],
    [CHROME, 'text/html'],
  ])('for Accept: %s is %s', async (accept, type) => {
    const { statusCode, headers } = await app.get(page, { headers: accept === undefined ? {} : { accept } });
    expect([statusCode, headers['content-type'], headers.vary]).toEqual([
      200,
      `${type}; charset=utf-8`,
      'Accept',
    ]);
  });

  it.each(['*/*', CHROME])('links what there is, also behind a proxy with a prefix: %s', async (accept) => {
    const targets = targetsOf(page, await app.get(page, { headers: { accept } }));
    expect(targets).toEqual(
      expect.arrayContaining(
        ['/docs', '/1.0/openapi.json', '/1.0/schemas/', '/health/ready'].map((path) => `/prefix${path}`),
      ),
    );
    for (const target of targets)
      expect([target, (await app.get(target.replace('/prefix', ''))).statusCode]).toEqual([target, 200]);
  });
});

it('the index of the schemas links all of them (decisions X85)', async () => {
  const targets = targetsOf('/1.0/schemas/', await app.get('/1.0/schemas/'));
  const listed = targets
    .filter((target) => target.endsWith('.xsd'))
    .map((target) => target.split('/').at(-1));
  const { message } = (await app.get('/1.0/schemas/none')).json<{ errors: [{ message: string }] }>()
    .errors[0];
  expect(listed).toEqual(
    message
      .replace(/.*one of /, '')
      .split(', ')
      .sort(),
  );
});

it('the index of the events links the schema of each (decisions X85, X104)', async () => {
  const listed = targetsOf(EVENTS, await app.get(EVENTS)).filter((target) => target.includes(EVENTS));
  expect(listed).toEqual(
    expect.arrayContaining([...DESCRIBED.keys()].map((type) => `/prefix${EVENTS}${type}.json`)),
  );
  const { statusCode, body, headers } = await app.get(`${EVENTS}ProductRepriced.json`);
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  expect(JSON.parse(body)).toMatchObject({
    title: 'ProductRepriced',
    properties: { stream: { type: 'string' }, data: { properties: { price: { type: 'integer' } } } },
  });
  expect((await app.get(`${EVENTS}ProductRenamed.json`)).statusCode).toBe(404);
});

it('the HTML of an index loads nothing from other hosts, and runs no scripts (decisions X85)', async () => {
  const { body, headers } = await app.get('/', { headers: { accept: 'text/html' } });
  expect(body).not.toMatch(/https?:|<script/);
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]+=*'; img-src 'self';/,
  );
});

describe('a program that has lost its module (Document 1, Versioning; decisions A8, X85)', () => {
  const authorization = `Bearer ${TOKENS.nord}`;
  it.each([
    ['GET', '/1.0/', { token: TOKENS.nord }, '404 7'],
    ['GET', '/1.0', { headers: { authorization } }, '404 7'],
    ['POST', '/1.0/', {}, '404 7'],
    ['DELETE', '/1.0/', {}, '404 7'],
    ['GET', '/1.0/unknown', {}, '404 7'],
    ['GET', '/1.0/schemas.csv', {}, '404 404'],
    ['POST', '/', {}, '405 405'],
    ['POST', '/1.0/schemas/', {}, '405 405'],
  ] as const)('%s %s with %j is %s', async (method, target, details, expected) => {
    expect(outcome(await app.request(method, target, details))).toBe(expected);
  });
});

it.each(['GET', 'HEAD', 'POST'])('%s of a target that is no path is 404, not the index', async (method) => {
  const own = await app.again();
  await own.listen(0, '127.0.0.1');
  const { port } = new URL(await own.getUrl());
  const status = await new Promise((resolve, reject) => {
    const asked = request({ port, method, path: `*?token=${TOKENS.nord}` }, ({ statusCode }) =>
      resolve(statusCode),
    );
    asked.on('error', reject).end();
  });
  await own.close();
  expect(status).toBe(404);
});
