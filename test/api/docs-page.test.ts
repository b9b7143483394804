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

  it('shows all keys without a click, and closes operations in other formats than JSON', async () => {
    const { options, closed } = await started();
    expect(options).toMatchObject({ url: '1.0/openapi.json', docExpansion: 'full', tryItOutEnabled: true });
    expect(closed).toEqual([['operations', 'Products', 'searchProductsAs']]);
  });

  it('keeps tokens until the tab is closed, and forgets them when they are removed', async () => {
    const storage = new Map<string, string>();
    const page = await started(storage);
    expect(page.restored).toEqual([]);
    page.change('authorize', { bearer: { value: 'abc' } });
    expect((await started(storage)).restored).toEqual([{ authorized: { bearer: { value: 'abc' } } }]);
    page.change('logout', {});
    expect((await started(storage)).restored).toEqual([{ authorized: {} }]);
  });
});

interface PageOptions {
  readonly onComplete: () => void;
  readonly plugins: readonly (() => {
    readonly statePlugins: {
      readonly auth: { readonly wrapActions: Readonly<Record<string, WrappedAction>> };
    };
  })[];
}

type WrappedAction = (original: () => void, system: object) => (payload: object) => void;

/** Runs the script of the page as a browser does that has Swagger UI, with these tokens stored. */
async function started(storage = new Map<string, string>()) {
  const { body } = await app.get('/docs/start.js');
  const restored: unknown[] = [];
  const closed: unknown[] = [];
  const found: PageOptions[] = [];
  const operationOf = (path: string, operationId: string) => ({
    path,
    operation: { tags: ['Products'], operationId },
  });
  const operations = [
    operationOf('/1.0/products', 'searchProducts'),
    operationOf('/1.0/products.{extension}', 'searchProductsAs'),
  ];
  runInNewContext(body, {
    SwaggerUIBundle: (given: PageOptions) => {
      found.push(given);
      return {
        authActions: { restoreAuthorization: (payload: unknown) => restored.push(payload) },
        specSelectors: { operations: () => ({ toJS: () => operations }) },
        layoutActions: { show: (at: unknown) => closed.push(at) },
      };
    },
    sessionStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
    },
  });
  const options = found[0]!;
  options.onComplete();
  const actions = options.plugins[0]!().statePlugins.auth.wrapActions;
  return {
    options,
    restored,
    closed,
    change: (action: string, authorized: object) => {
      const system = { authSelectors: { authorized: () => authorized } };
      actions[action]!(() => undefined, system)({});
    },
  };
}
