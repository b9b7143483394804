import { TestApp } from '../support/app';
import { NETWORK } from '../api/network';
import { RULES } from '../support/openapi-rules';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

describe('the description works with generators of clients (decisions X36)', () => {
  type Json = Readonly<Record<string, unknown>>;

  let document: Json;
  beforeAll(async () => {
    const answer = await app.get('/1.0/openapi.json');
    expect(answer.statusCode).toBe(200);
    document = answer.json<Json>();
  });

  const get = (operation: Json): Json => ({ paths: { '/a': { get: operation } } });
  const property = (schema: Json): Json => ({
    components: { schemas: { Shape: { type: 'object', properties: { a: schema } } } },
  });
  const named = (...names: readonly string[]): Json => ({
    components: { schemas: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
  });
  const list = { type: 'array', items: { type: 'string' } };

  /** What breaks each rule. */
  const BROKEN: Readonly<Record<keyof typeof RULES, readonly Json[]>> = {
    'integers have 64 bits, and numbers double precision': [
      property({ type: 'integer' }),
      property({ type: 'array', items: { type: 'number', format: 'float' } }),
      get({ parameters: [{ name: 'page', in: 'query', schema: { type: 'integer' } }] }),
    ],
    'a value has one type': [
      property({ anyOf: [{ type: 'integer' }, { type: 'string' }] }),
      property({ type: ['integer', 'string'] }),
      property({}),
      get({ responses: { 200: { content: { json: { schema: { oneOf: [{ $ref: '#/a' }] } } } } } }),
    ],
    'each object has a name': [
      property({ type: 'object', properties: {} }),
      property({ type: 'array', items: { type: 'object', properties: {} } }),
      get({ requestBody: { content: { json: { schema: { type: 'object', properties: {} } } } } }),
    ],
    'a list is repeated keys': [
      get({ parameters: [{ name: 'fid', in: 'query', explode: false, schema: list }] }),
      get({ parameters: [{ name: 'fid', in: 'query', style: 'pipeDelimited', schema: list }] }),
    ],
    'errors have statuses and a default, no ranges': [
      get({ responses: { 200: {}, '4XX': {}, default: {} } }),
      get({ responses: { 200: {}, 400: {} } }),
    ],
    'the address of the licence is absolute': [{ info: { license: { url: '../docs' } } }, {}],
    'names do not collide with those that generators derive': [
      named('Subscription', 'SubscriptionTest'),
      named('Delivery', 'delivery'),
    ],
    'only operations for operators name operators alone, and reading transactions is for all': [
      get({ description: 'For tokens of operators, system OPS.' }),
      get({ description: 'For anybody' }),
      {
        paths: {
          '/1.0/conversions/transactions': {
            get: { description: 'For tokens of advertisers and publishers, system CONVERSIONS.' },
          },
        },
      },
    ],
  };

  it.each(Object.entries(RULES))('%s', (name, brokenAt) => {
    expect(brokenAt(document)).toEqual([]);
    for (const broken of BROKEN[name] ?? []) expect([broken, brokenAt(broken)]).not.toEqual([broken, []]);
    expect(BROKEN[name]?.length).toBeGreaterThan(0);
  });

  it('bounds amounts alike as number and as text (decisions C2, T2)', async () => {
    const { schemas } = document.components as {
      readonly schemas: Record<string, { readonly properties: Record<string, Json> }>;
    };
    const maximum = Number(schemas.PostedTransaction?.properties.orderValue?.maximum);
    const xsd = (await app.get('/1.0/schemas/PostedTransaction_v1_0.xsd')).body;
    const [, pattern = ''] = /name="money".*?value="([^"]*)"/s.exec(xsd) ?? [];
    const isAmount = (amount: string): boolean => new RegExp(`^(?:${pattern})$`).test(amount);
    expect([maximum, isAmount(String(maximum)), isAmount(`${maximum}.00`)]).toEqual([1e11, true, true]);
    expect([isAmount(String(maximum + 1)), isAmount(`${maximum}.01`)]).toEqual([false, false]);
  });
});
