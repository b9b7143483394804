import { runInNewContext } from 'node:vm';
import { TestApp } from '../support/app';
import { NETWORK } from './network';

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
