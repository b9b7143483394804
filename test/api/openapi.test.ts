import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ModulesContainer } from '@nestjs/core';
import { KINDS, TEXT } from '../../src/http/decorators';
import { operationsOf } from '../../src/http/describe/operations';
import { productOperations } from '../../src/products/operations';
import { foundProducts } from '../../src/products/shapes';
import { type Operation } from '../../src/wire/openapi-operation';
import { TestApp } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, outcome, product, XML_UTF8 } from './posted';

const { german } = FEEDS;
const { body: posted } = productOperations.loadProducts;

interface Problem {
  readonly ruleId: string;
  readonly message: string;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

let app: TestApp;
let operations: readonly Operation[];
let text: string;
const { post } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  operations = operationsOf(app.http.get(ModulesContainer));
  text = (await app.get('/1.0/openapi.json')).body;
});
afterAll(() => app.close());

/** What a public linter finds. */
async function lint(document: string): Promise<readonly Problem[]> {
  const running = promisify(execFile)(process.execPath, [join(__dirname, '../support/lint-openapi.mjs')]);
  running.child.stdin?.end(document);
  return JSON.parse((await running).stdout) as readonly Problem[];
}

describe('the description of the interface (decisions A8)', () => {
  it('is served without a token, as JSON only, and need not be sent again', async () => {
    const { headers, statusCode } = await app.get('/1.0/openapi.json');
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const again = await app.get('/1.0/openapi.json', { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    for (const other of ['', '.xml']) expect((await app.get(`/1.0/openapi${other}`)).statusCode).toBe(404);
  });

  it('passes a public linter', async () => {
    // All that it finds is that there is no licence: the program has none that could be named.
    expect(await lint(text)).toMatchObject([{ ruleId: 'info-license' }]);
  });

  it('names this installation, and refers only to what is in it', () => {
    const document = JSON.parse(text) as Document;
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://api.example' }] });
    const references = [...text.matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, path = '']) => path.split('/'));
    expect(references.length).toBeGreaterThan(0);
    for (const path of references) {
      const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect([path, typeof found]).toEqual([path, 'object']);
    }
  });

  it('has each operation of the service with its method, callers, keys and formats', () => {
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    const told = Object.keys(productOperations);
    expect(operations.map(({ text: { id } }) => id).sort()).toEqual(told.sort());
    expect(described).toContain('GET /1.0/products');
    const search = operations.find(({ text: { id } }) => id === 'searchProducts');
    expect(search).toMatchObject({ callers: ['advertiser', 'publisher'], formats: ['json', 'xml', 'csv'] });
    expect(search?.keys).toHaveProperty('tdCategoryId');
  });

  it('leaves no operation of the product service out', () => {
    const modules = [...app.http.get(ModulesContainer).values()].filter(
      ({ name }) => name === 'ProductsModule',
    );
    const handlers = modules
      .flatMap(({ controllers }) => [...controllers.values()])
      .flatMap(({ metatype }) => Object.values(Object.getOwnPropertyDescriptors(metatype?.prototype ?? {})))
      .map(({ value }) => value as unknown)
      .filter((handler) => typeof handler === 'function' && Reflect.hasMetadata(KINDS, handler));
    expect(handlers.length).toBeGreaterThan(0);
    expect(handlers.filter((handler) => !Reflect.hasMetadata(TEXT, handler as object))).toEqual([]);
  });

  it('says of each key what it does', () => {
    for (const {
      keys,
      text: { id },
    } of operations)
      for (const [name, { says = '' }] of Object.entries(keys))
        expect([id, name, says]).not.toEqual([id, name, '']);
  });
});

describe('what is described is so', () => {
  it('products found are of the shape', async () => {
    await post(german, [{ ...FULL, price: 1 }, product('bare')]);
    await post(german, [FULL]);
    const all = ';sourceproducturl=true;priceHistory=true';
    for (const keys of ['', all, `${all};dateOutputFormat=iso8601;groupOffersByProduct=true`, ';q=nothing']) {
      const answer = await app.get(`/1.0/products;fid=${german}${keys}`, { token: TOKENS.preisblick });
      expect(foundProducts.safeParse(answer.json()).error).toBeUndefined();
    }
  });

  it('lists, trees and mappings are of their shapes', async () => {
    const shapes = new Map(operations.map(({ text: { id, answer } }) => [id, answer.json]));
    for (const [id, target, token] of [
      ['getCategoryTree', '/1.0/productCategories', TOKENS.preisblick],
      ['listCategoryMappings', `/1.0/categoryMappings;fid=${german}`, TOKENS.nord],
      ['listFeeds', '/1.0/productFeeds', TOKENS.preisblick],
      ['getFeed', `/1.0/productFeeds/${german}`, TOKENS.preisblick],
      ['downloadFeed', `/1.0/productsUnlimited;fid=${german};priceHistory=true`, TOKENS.preisblick],
      ['getLastUpdated', `/1.0/productsUnlimited/lastUpdated;fid=${german}`, TOKENS.preisblick],
      ['listImports', `/1.0/products/imports;fid=${german}`, TOKENS.nord],
      ['loadProducts', '/1.0/products;fid=1', TOKENS.nord],
    ] as const) {
      const answer = await app.get(target, { token });
      expect([id, shapes.get(id)?.safeParse(answer.json()).error]).toEqual([id, undefined]);
    }
  });

  it('the examples of posts are taken', async () => {
    const target = `/1.0/products.json;fid=${german}`;
    const json = await app.post(target, { token: TOKENS.nord, body: JSON.stringify(posted.example) });
    expect(outcome(json)).toBe('200');
    expect(posted.json.safeParse(posted.example).error).toBeUndefined();
    const xml = { token: TOKENS.nord, headers: XML_UTF8, body: posted.xmlExample };
    expect(outcome(await app.post(target, xml))).toBe('200');
    expect(await faultsBySchema(app, posted.xml, [posted.xmlExample])).toEqual([]);
  });
});

describe('the page to read and try it at (decisions A8)', () => {
  it('is served without a token, and takes nothing from elsewhere', async () => {
    const { statusCode, headers, body } = await app.get('/docs');
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';");
    expect(headers['content-security-policy']).toContain("connect-src 'self' https://api.example;");
    expect(body).not.toMatch(/https?:|<script>/);
    const parts = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(parts).toHaveLength(4);
    for (const part of parts) {
      const answer = await app.get(`/${part}`);
      expect([part, answer.statusCode]).toEqual([part, 200]);
      const known = { 'if-none-match': String(answer.headers.etag) };
      expect((await app.get(`/${part}`, { headers: known })).statusCode).toBe(304);
    }
  });

  it('has no other files, and one address', async () => {
    expect((await app.get('/docs/package.json')).statusCode).toBe(404);
    expect((await app.get('/docs/..%2fpackage.json')).statusCode).toBe(404);
    const { statusCode, headers } = await app.get('/docs/');
    expect([statusCode, headers.location]).toEqual([308, '../docs']);
  });
});
