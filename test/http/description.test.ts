import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { METHOD_METADATA } from '@nestjs/common/constants';
import { ModulesContainer } from '@nestjs/core';
import { SYSTEMS } from '../../src/network/events';
import { ApiOperation } from '../../src/http/decorators';
import { operationsOf } from '../../src/http/describe';
import { claimApi } from '../../src/services/claims/api';
import { asOfOperations } from '../../src/operations/rest/as-of.controller';
import { networkClaimOperations } from '../../src/operations/rest/claims.controller';
import { actionOperations } from '../../src/operations/rest/actions.controller';
import { backupOperations } from '../../src/operations/rest/backups.controller';
import { directoryOperations } from '../../src/operations/rest/directory.controller';
import { loadOperations } from '../../src/operations/rest/loads.controller';
import { metricsOperations } from '../../src/operations/rest/metrics.controller';
import { notificationOperations } from '../../src/operations/rest/notifications.controller';
import { parkedOperations } from '../../src/operations/rest/parked.controller';
import { serverOperations } from '../../src/operations/rest/server.controller';
import { historyOperations } from '../../src/operations/rest/history.controller';
import { logOperations } from '../../src/operations/rest/log.controller';
import { projectionOperations } from '../../src/operations/rest/projections.controller';
import { anySourceOperations } from '../../src/operations/rest/sources.controller';
import { whyOperations } from '../../src/operations/rest/why.controller';
import { sqlOperations } from '../../src/operations/rest/sql.controller';
import { mappingOperations } from '../../src/operations/rest/mappings.controller';
import { productApi } from '../../src/services/products/api';
import { sourceOperations } from '../../src/services/products/sources.controller';
import { TOPICS } from '../../src/domain/topics';
import { anyDeliveryApi } from '../../src/services/subscriptions/deliveries.controller';
import { messageOperations } from '../../src/services/subscriptions/subscriptions.module';
import { transactionApi } from '../../src/services/transactions/api';
import { voucherApi } from '../../src/services/vouchers/api';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { TestApp } from '../support/app';
import { compiledBody, filled, isTemplate, parseTemplate } from '../../src/domain/subscriptions/template';
import { type DescribedOperation, OpenApiDocument } from '../support/openapi';
import { SEARCH_KEYS } from '../api/document-tables';
import { NETWORK } from '../api/network';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

describe('the description of the interface (decisions A8)', () => {
  interface Problem {
    readonly ruleId: string;
    readonly message: string;
  }

  interface Document {
    readonly openapi: string;
    readonly info: { readonly license: { readonly url: string } };
    readonly servers: readonly { readonly url: string }[];
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly components: {
      readonly schemas: Readonly<Record<string, unknown>>;
      readonly securitySchemes: object;
      readonly responses: Readonly<Record<string, { readonly description: string }>>;
    };
  }

  interface Parameter {
    readonly name?: string;
    readonly in?: string;
    readonly schema?: object;
    readonly explode?: boolean;
    readonly required?: boolean;
  }

  let operations: readonly Operation[];
  let text: string;
  beforeAll(async () => {
    operations = operationsOf(app.http.get(ModulesContainer));
    text = (await app.get('/1.0/openapi.json')).body;
  });

  /** What a public linter finds. */
  async function lint(document: string): Promise<readonly Problem[]> {
    const running = promisify(execFile)(process.execPath, [join(__dirname, '../support/lint-openapi.mjs')]);
    running.child.stdin?.end(document);
    return JSON.parse((await running).stdout) as readonly Problem[];
  }

  it('names no header of an answer that scripts of other origins cannot read', async () => {
    const sent = operations.flatMap(({ text: { sends = {} } }) => Object.keys(sends));
    expect(sent).toContain('X-Page-Size');
    const { headers } = await app.get('/1.0/openapi.json', { headers: { origin: 'https://shop.example' } });
    const exposed = String(headers['access-control-expose-headers']).split(', ');
    expect(exposed).toEqual(expect.arrayContaining(sent));
  });

  it('is served without a token, as JSON only, with an ETag', async () => {
    const { headers, statusCode } = await app.get('/1.0/openapi.json');
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const again = await app.get('/1.0/openapi.json', { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    for (const other of ['', '.xml']) expect((await app.get(`/1.0/openapi${other}`)).statusCode).toBe(404);
  });

  it('passes a public linter', async () => {
    // The ids of claims and vouchers are integers, so only one of the two paths can be meant; the
    // rule does not look at types.
    const unambiguous = ['claims', 'vouchers'].map((module) => {
      const paths = `\`/1.0/${module}/{id}/versions\` and \`/1.0/${module}/subscriptions/{id}\``;
      return `Paths should resolve unambiguously. Found two ambiguous paths: ${paths}.`;
    });
    expect((await lint(text)).map(({ message }) => message).toSorted()).toEqual(unambiguous);
  });

  it('has addresses relative to itself, and no dangling references', () => {
    const document = JSON.parse(text) as Document;
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: '..' }] });
    // openapi-generator needs an absolute one for the licence; namespaces of XML are as in answers.
    expect(text.replaceAll('xmlns=\\"https://api.example/', '').split('api.example')).toHaveLength(2);
    expect(document.info.license.url).toBe('https://api.example/docs');
    const references = [...text.matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, path = '']) => path.split('/'));
    expect(references.length).toBeGreaterThan(0);
    for (const path of references) {
      const found = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect([path, typeof found]).toEqual([path, 'object']);
    }
  });

  it('has each key as a typed query parameter, in the order of the documents (decisions A3, X36)', () => {
    const { paths } = JSON.parse(text) as Document;
    for (const { method, path, keys, text: its } of operations) {
      const views = [path, `${path}.{extension}`].flatMap((one) => {
        const described = paths[one.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
        return described === undefined ? [] : [(described as { parameters: Parameter[] }).parameters];
      });
      const all = views.at(-1)?.filter((parameter) => parameter.in === 'query') ?? [];
      expect([its.id, ...all.map(({ name }) => name)]).toEqual([its.id, ...Object.keys(keys)]);
      for (const { name = '', schema, explode, required = false } of all) {
        const { type, multiple, required: always = false, requiredByDefault = false } = keys[name]!;
        const value = type.schema ?? { type: 'string' };
        const expected = multiple ? { type: 'array', items: value } : value;
        expect([its.id, name, schema, explode, required]).toEqual([
          ...[its.id, name, expected, undefined, always || requiredByDefault],
        ]);
      }
    }
    const names = (path: string) =>
      (paths[path]?.get as { parameters: Parameter[] }).parameters.flatMap(({ name = [] }) => name);
    const documented = SEARCH_KEYS.filter((key) => !['token', 'pretty', 'jsonp'].includes(key));
    expect(names('/1.0/products').filter((name) => documented.includes(name))).toEqual(documented);
  });

  it('has the limits of posted bodies, as docs/operations.md lists them', () => {
    const { paths } = JSON.parse(text) as Document;
    const described = Object.values(paths).flatMap((methods) => Object.values(methods));
    const textOf = (id: string): string =>
      (described as { operationId?: string; description?: string }[]).find(
        ({ operationId }) => operationId === id,
      )?.description ?? '';
    for (const [id, ...limits] of [
      ['loadProducts', '1 GB by default', '256 KiB'],
      ['reportTransaction', '256 KiB'],
      ['reportTransactions', '10,000', '32 MiB', '256 KiB'],
      ['moveTransaction', '256 KiB'],
      ['moveTransactions', '10,000', '32 MiB', '256 KiB'],
      ['postVoucher', '1 MiB'],
      ['postVouchers', '1,000', '8 MiB', '1 MiB'],
      ['createClaims', '1,000', '900 KiB'],
      ['updateClaims', '1,000', '900 KiB'],
      ['createSubscription', '1 MiB', '128 KiB'],
      ['replaceClaimSubscription', '1 MiB', '128 KiB'],
      ['changeMappings', '16 MiB', '10,000', '200,000', '64 KiB'],
    ] as const)
      for (const limit of limits) expect(`${id}: ${textOf(id)}`).toContain(limit);
  });

  it('describes JSON at the path of an operation, and its other formats behind an extension (decisions X36)', () => {
    const { paths } = JSON.parse(text) as Document;
    const view = (path: string) => {
      const { operationId, parameters, responses } = paths[path]?.get as DescribedOperation;
      const { content = {} } = responses[200] as { content?: object };
      return [operationId, Object.keys(content), parameters.map(({ name }) => name).includes('csvEmbrace')];
    };
    const [json, xml, csv] = ['application/json', 'application/xml', 'text/csv'];
    expect(view('/1.0/products')).toEqual(['searchProducts', [json], false]);
    expect(view('/1.0/products.{extension}')).toEqual(['searchProductsAs', [xml, csv], true]);
    expect(Object.keys(paths).filter((path) => /vouchers\/bulk|mappings\./.test(path))).toEqual([
      '/1.0/vouchers/bulk',
    ]);
    const bodies = (path: string) => {
      const { requestBody } = paths[path]?.post as { requestBody: { content: object } };
      return Object.keys(requestBody.content);
    };
    expect(bodies('/1.0/claims')).toEqual([json]);
    expect(bodies('/1.0/claims.{extension}')).toEqual([xml, csv]);
  });

  it('has the operations of all services with their methods, callers, keys and formats', () => {
    const told = [
      ...[productApi, voucherApi, transactionApi, claimApi, mappingOperations],
      ...Object.values(TOPICS).map((topic) => messageOperations(topic)),
      anyDeliveryApi,
      networkClaimOperations,
      logOperations,
      whyOperations,
      asOfOperations,
      projectionOperations,
      sqlOperations,
      historyOperations,
      actionOperations,
      backupOperations,
      directoryOperations,
      serverOperations,
      parkedOperations,
      notificationOperations,
      loadOperations,
      metricsOperations,
      ...[sourceOperations, anySourceOperations],
    ].flatMap((one) => Object.values<{ readonly id: string }>(one).map(({ id }) => id));
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
      ...['error', 'file', 'file', 'follow', 'index', 'index', 'live', 'page', 'page', 'post'],
      ...['ready', 'root', 'schema', 'schema', 'send', 'start', 'start', 'version'],
    ]);
    expect(handlers.length).toBe(untold.length + operations.length);
  });

  it('has a token for each system, which its operations need (decisions A4, X82)', () => {
    const { paths, components } = JSON.parse(text) as Document;
    expect(Object.keys(components.securitySchemes).sort()).toEqual([...SYSTEMS].sort());
    for (const [path, methods] of Object.entries(paths))
      for (const operation of Object.values(methods)) {
        const { security, description } = operation as { security: object[]; description: string };
        const [, system = ''] = /, system (\w+)\./.exec(description) ?? [];
        expect([path, security]).toEqual([path, [{ [system]: [] }]]);
      }
  });

  it('describes legacy paths as deprecated, and no other ones (Document 3, Versioning)', () => {
    const { paths } = JSON.parse(text) as Document;
    const legacy = Object.keys(paths).filter((path) => path.startsWith('/1.0/uts/'));
    expect(legacy).toHaveLength(6);
    const deprecated = Object.entries(paths).filter(([, methods]) =>
      JSON.stringify(methods).includes('"deprecated":true'),
    );
    expect(deprecated.map(([path]) => path)).toEqual(legacy);
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

  it('bounds the texts of a posted claim and order (Document 3, Limits: Order number length; decisions C2, T2)', () => {
    const { PostedClaim, PostedTransaction } = (JSON.parse(text) as Document).components.schemas;
    expect(PostedClaim).toMatchObject({
      properties: {
        orderNumber: { maxLength: 240, description: 'Order number (at most 240 characters)' },
        epi: { maxLength: 255 },
        epi2: { maxLength: 255 },
        productName: { maxLength: 255 },
        trackingUrl: { maxLength: 2048 },
        proofOfClaims: { maxLength: 2048 },
        advertiserInformation: { maxLength: 4000 },
      },
    });
    expect(PostedTransaction).toMatchObject({ properties: { orderNumber: { maxLength: 240 } } });
  });

  it('bounds the one key of a new voucher, and the scores of suggestions (Document 2, Vouchers; decisions X60)', () => {
    const { VoucherKey, SuggestedCategory } = (JSON.parse(text) as Document).components.schemas;
    expect(VoucherKey).toMatchObject({ items: { type: 'integer' }, minItems: 1, maxItems: 1 });
    expect(JSON.stringify(SuggestedCategory)).toContain(
      '"score":{"type":"number","format":"double","minimum":0,"maximum":1,"description":',
    );
  });

  it('lists the codes of a service with its operations only, each at its status, and others as default', () => {
    const { paths, components } = JSON.parse(text) as Document;
    const codes = (path: string, method: string): Record<string, string[]> => {
      const { responses } = paths[path]?.[method] as { responses: Record<string, { $ref?: string }> };
      const told = Object.entries(responses).flatMap(([status, { $ref = '' }]) => {
        const description = components.responses[$ref.split('/').at(-1) ?? '']?.description;
        const listed = [...(description ?? '').matchAll(/^- `(\w+)`/gm)].map(([, code = '']) => code);
        return description === undefined ? [] : [[status, listed] as const];
      });
      return Object.fromEntries(told);
    };
    const ofVouchers = codes('/1.0/vouchers', 'post');
    expect(Object.keys(ofVouchers)).toEqual(['400', '403', 'default']);
    expect(ofVouchers[400]).toEqual(expect.arrayContaining(['1', '101', '102', '103']));
    expect([ofVouchers[403], ofVouchers.default]).toEqual([
      ['2'],
      expect.arrayContaining(['5', '415', '503']),
    ]);
    const ofProducts = codes('/1.0/products', 'post');
    expect(Object.values(ofProducts).flat()).toEqual(
      expect.arrayContaining(['1', '2', 'PF_200', 'PF_430', '415']),
    );
    expect(Object.values(ofProducts).flat()).not.toContain('101');
    const statuses = (path: string, method: string) => Object.keys(codes(path, method));
    expect(statuses('/1.0/claims', 'post')).toContain('409');
    expect(statuses('/1.0/claims', 'get')).not.toContain('409');
    // A legacy id may name several (decisions T1).
    for (const path of ['', '/transitions'])
      expect(codes(`/1.0/conversions/transactions/{id}${path}`, 'get')[409]).toContain('CON_550');
  });
});

describe('examples of faults, and webhooks (decisions X137)', () => {
  interface Document {
    readonly webhooks: Readonly<Record<string, { readonly post: DescribedOperation }>>;
    readonly components: {
      readonly responses: Readonly<
        Record<string, { description: string; content: Record<string, { examples: object }> }>
      >;
      readonly examples: Readonly<
        Record<string, { readonly summary: string; readonly value: { errors: { code: string }[] } }>
      >;
    };
  }

  let document: Document;
  let described: OpenApiDocument;
  beforeAll(async () => {
    document = (await app.get('/1.0/openapi.json')).json<Document>();
    described = await OpenApiDocument.of(app);
  });

  it('each code of an error response has one, which is an error list', async () => {
    const { responses, examples } = document.components;
    for (const { summary, value } of Object.values(examples)) {
      expect(value).toEqual({ errors: [{ code: expect.any(String), message: summary }] });
      const schema = { $ref: '#/components/schemas/ErrorList' };
      expect(await described.problemsIn(JSON.stringify(value), 'application/json', schema)).toEqual([]);
    }
    const unused = new Set(Object.keys(examples));
    for (const [name, { description, content }] of Object.entries(responses)) {
      const listed = [...description.matchAll(/^- `(\w+)`(?: \(\d+\))?: (.*)$/gm)].map(([, code, text]) => [
        code,
        text,
      ]);
      const references = Object.keys(content['application/json']!.examples);
      const shown = references.map((one) => [examples[one]!.value.errors[0]!.code, examples[one]!.summary]);
      expect([name, shown]).toEqual([name, listed]);
      expect(listed.length).toBeGreaterThan(0);
      for (const one of references) unused.delete(one);
    }
    expect([...unused]).toEqual([]);
  });

  it.each(Object.values(TOPICS).map((topic) => [topic.subject, topic] as const))(
    'the messages about a %s are described with their headers, and are as described in every state',
    async (subject, topic) => {
      const { operationId, parameters, requestBody } = document.webhooks[`${subject}Message`]!.post;
      expect(operationId).toBe(`${subject}Message`);
      expect(parameters.map(({ name }) => name)).toEqual([
        ...['webhook-id', 'webhook-timestamp', 'webhook-signature', 'webhook-attempt', 'webhook-sequence'],
        ...['webhook-redelivery', 'webhook-test'],
      ]);
      const { schema, example } = requestBody!.content['application/json']!;
      const problemsOf = (body: string) => described.problemsIn(body, 'application/json', schema);
      expect(await problemsOf(JSON.stringify(example))).toEqual([]);
      expect(Object.keys(schema.properties ?? {})).toEqual(topic.attributes);
      const body = `{${topic.attributes.map((one) => `"${one}": \${${one}}`).join()}}`;
      const template = parseTemplate(body);
      const compiled = compiledBody(isTemplate(template) ? template : [], 'JSON');
      for (const state of Object.keys(topic.states.ids)) {
        const { attributes } = topic.example(Number(state), new Date());
        const message = filled(compiled, attributes, Infinity) ?? '';
        expect(Object.keys(JSON.parse(message) as object)).toEqual(topic.attributes);
        expect([state, await problemsOf(message)]).toEqual([state, []]);
        expect(
          await problemsOf(message.replace(/("(?:orderValue|voucherId|feedId)": ?)[^,]*/, '$1"x"')),
        ).not.toEqual([]);
      }
    },
  );
});
