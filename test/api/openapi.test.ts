import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { METHOD_METADATA } from '@nestjs/common/constants';
import { ModulesContainer } from '@nestjs/core';
import { ApiOperation } from '../../src/http/decorators';
import { operationsOf } from '../../src/http/describe/operations';
import { mappingOperations } from '../../src/ops/rest/operations';
import { productOperations } from '../../src/products/operations';
import { voucherOperations } from '../../src/vouchers/operations';
import { type Operation } from '../../src/wire/openapi-operation';
import { TestApp } from '../support/app';
import { NETWORK } from './network';

interface Problem {
  readonly ruleId: string;
  readonly message: string;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

let app: TestApp;
let operations: readonly Operation[];
let text: string;
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
  it('is served without a token, as JSON only, with an ETag', async () => {
    const { headers, statusCode } = await app.get('/1.0/openapi.json');
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const again = await app.get('/1.0/openapi.json', { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    for (const other of ['', '.xml']) expect((await app.get(`/1.0/openapi${other}`)).statusCode).toBe(404);
  });

  it('passes a public linter', async () => {
    expect(await lint(text)).toEqual([]);
  });

  it('names this installation, has no dangling references, and has all keys as one parameter (decisions X36)', () => {
    const document = JSON.parse(text) as Document;
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://api.example' }] });
    const search = document.paths['/1.0/products.{format}{keys}']?.get as { parameters: object[] };
    expect(search.parameters).toContainEqual(
      expect.objectContaining({ name: 'keys', in: 'path', style: 'matrix', explode: true }),
    );
    const references = [...text.matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, path = '']) => path.split('/'));
    expect(references.length).toBeGreaterThan(0);
    for (const path of references) {
      const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect([path, typeof found]).toEqual([path, 'object']);
    }
  });

  it('has the operations of all services with their methods, callers, keys and formats', () => {
    const told = [productOperations, voucherOperations, mappingOperations].flatMap((one) => Object.keys(one));
    expect(operations.map(({ text: { id } }) => id).sort()).toEqual(told.sort());
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toContain('GET /1.0/products');
    const search = operations.find(({ text: { id } }) => id === 'searchProducts');
    expect(search).toMatchObject({ callers: ['advertiser', 'publisher'], formats: ['json', 'xml', 'csv'] });
    expect(search?.keys).toHaveProperty('tdCategoryId');
  });

  it('includes every route of every service', () => {
    const controllers = [...app.http.get(ModulesContainer).values()].flatMap((module) => [
      ...module.controllers.values(),
    ]);
    const handlers = controllers
      .flatMap(({ metatype }) => Object.values(Object.getOwnPropertyDescriptors(metatype?.prototype ?? {})))
      .map(({ value }) => value as unknown)
      .filter((handler) => typeof handler === 'function' && Reflect.hasMetadata(METHOD_METADATA, handler));
    const untold = handlers.filter((handler) => !Reflect.hasMetadata(ApiOperation.KEY, handler as object));
    // What answers without a token belongs to no service (decisions A8).
    expect(untold.map((handler) => (handler as { name: string }).name).sort()).toEqual([
      ...['file', 'index', 'live', 'page', 'ready', 'root', 'schema', 'send', 'version'],
    ]);
    expect(handlers.length).toBe(untold.length + operations.length);
  });

  it('describes each key', () => {
    for (const {
      keys,
      text: { id },
    } of operations)
      for (const [name, { description = '' }] of Object.entries(keys))
        expect([id, name, description]).not.toEqual([id, name, '']);
  });

  it('bounds the texts of a posted voucher as the document does (Document 2, Voucher posted by an advertiser; decisions V4)', () => {
    const { PostedVoucher } = (JSON.parse(text) as Document).components.schemas;
    expect(PostedVoucher).toMatchObject({
      required: [
        ...['title', 'programId', 'voucherTypeId', 'shortDescription', 'description', 'startDate', 'endDate'],
      ],
      properties: {
        title: { maxLength: 70, description: 'Title, 70 bytes of UTF-8 at most' },
        code: { maxLength: 256 },
        shortDescription: { maxLength: 100 },
        description: { maxLength: 65_535 },
        landingUrl: { maxLength: 2048 },
        siteIds: { maxItems: 1000 },
      },
    });
  });

  it('lists the codes of a service with its operations only', () => {
    const { paths } = JSON.parse(text) as Document;
    const codes = (path: string, method: string): string[] => {
      const { responses } = paths[path]?.[method] as { responses: Record<string, { description: string }> };
      const told = Object.values(responses).map(({ description }) => description);
      return [...told.join('\n').matchAll(/^- `(\w+)`/gm)].map(([, code = '']) => code);
    };
    const ofVouchers = codes('/1.0/vouchers.{format}{keys}', 'post');
    expect(ofVouchers).toEqual(expect.arrayContaining(['1', '2', '101', '102', '103', '415']));
    expect(ofVouchers.filter((code) => code.startsWith('PF_'))).toEqual([]);
    const ofProducts = codes('/1.0/products.{format}{keys}', 'post');
    expect(ofProducts).toEqual(expect.arrayContaining(['1', '2', 'PF_200', 'PF_430', '415']));
    expect(ofProducts).not.toContain('101');
  });
});

describe('the documentation page (decisions A8)', () => {
  it('is served without a token, and loads nothing from other hosts', async () => {
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

  it('has no other files, and a single address', async () => {
    expect((await app.get('/docs/package.json')).statusCode).toBe(404);
    expect((await app.get('/docs/..%2fpackage.json')).statusCode).toBe(404);
    const { statusCode, headers } = await app.get('/docs/');
    expect([statusCode, headers.location]).toEqual([308, '../docs']);
  });
});
