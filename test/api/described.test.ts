import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe';
import { ReadQueue } from '../../src/http/read-queue';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { type Response, TestApp } from '../support/app';
import { type DescribedOperation, OpenApiDocument, targetOf } from '../support/openapi';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { buildNow, holdSource, park, rebuildSome } from './asked-operations';
import { CLAIM_NETWORK, CLAIM_TOKENS } from './claim-network';
import { AT_NETWORK, claimClientFor, fileDescribedClaims } from './described-claims';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, FULL, product } from './posted';
import { subscriptionsAt, targetWithIds } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { NOW, VOUCHER_TOKENS } from './voucher-network';
import {
  type Asked,
  EXAMPLE_EVENT,
  EXAMPLE_FEED,
  REQUESTS,
  transactionId,
  transactions,
} from './described-requests';

const { german } = FEEDS;

let app: TestApp;
let backups: string;
let deliveries: AppDeliveries;
/** Of a load of the feed. */
let loadId = '';
let described: OpenApiDocument;
/** Requests that the queue of heavy reads has admitted. */
let queued: jest.SpyInstance;
let operations: ReadonlyMap<string, Operation>;
const { post } = clientOf(() => app);

beforeAll(async () => {
  const feed = { id: EXAMPLE_FEED, programIds: [101], name: 'Of examples', language: 'de' };
  const event = { id: EXAMPLE_EVENT, name: 'Of examples', kind: 'sale', pendingDays: 30 };
  const programs = CLAIM_NETWORK.programs.map((program) => {
    const { id, events } = program as { id: number; events: readonly object[] };
    return id === 101 ? { ...program, events: [...events, event] } : program;
  });
  const network = { ...CLAIM_NETWORK, programs, feeds: [...CLAIM_NETWORK.feeds, feed] };
  backups = await mkdtemp(join(tmpdir(), 'affilog-backups-'));
  app = await TestApp.start({ network, now: () => new Date(NOW), settings: { BACKUP_DIR: backups } });
  queued = jest.spyOn(app.http.get(ReadQueue), 'run');
  deliveries = await projectDeliveries(app, () => NOW);
  described = await OpenApiDocument.of(app);
  const all = operationsOf(app.http.get(ModulesContainer));
  operations = new Map(all.map((operation) => [operation.text.id, operation]));
  await post(german, [{ ...FULL, price: 1 }, product('bare', { categories: [{ name: 'Own' }] })]);
  await post(german, [FULL]);
  loadId = String(
    (await post(german, [product('bare', { categories: [{ name: 'Own' }] })])).headers['x-load-id'],
  );
  await park(app, 'claim-batches', '1', '2');
  await fileDescribedClaims(app);
  await buildNow(app);
  await rebuildSome(app);
  // Those of the examples.
  for (const name of ['first', 'old']) await buildNow(app, name);
});
afterAll(async () => {
  await deliveries.stop();
  await app.close();
  await rm(backups, { recursive: true });
});

/** A token for an operation. */
function tokenFor({ path, callers }: Operation): string {
  if (path.startsWith('/ops/')) return OTHER_TOKENS.operator;
  if (path.startsWith('/1.0/conversions/')) return CONVERSION_TOKENS.nord;
  if (/^\/1.0\/(claim|uts)/.test(path))
    return CLAIM_TOKENS[subscriptionsAt(path) !== undefined ? 'nord' : claimClientFor(callers)];
  const tokens = path.startsWith('/1.0/vouchers') ? VOUCHER_TOKENS : TOKENS;
  return callers.includes('advertiser') ? tokens.nord : tokens.preisblick;
}

/** The operation that a described one is a view of: with JSON, or with other formats. */
function routedId({ operationId }: DescribedOperation): string {
  return operationId.replace(/As$/, '');
}

/** The extensions that its path may have; one empty one for JSON. */
function extensionsOf({ parameters }: DescribedOperation): readonly string[] {
  const schema = parameters.find(({ name }) => name === 'extension')?.schema;
  return (schema?.enum as readonly string[] | undefined) ?? [''];
}

function idsFor({ path }: DescribedOperation): Readonly<Record<string, string>> {
  const subjects = Object.fromEntries(
    ['transactionId', 'claimId', 'voucherId', 'productId'].map((name) => [name, '{subjectId}']),
  );
  if (subscriptionsAt(path) !== undefined)
    return { ...subjects, id: '{id}', receiverId: '{receiverId}', messageId: '{messageId}' };
  if (path.startsWith('/1.0/claims')) return {};
  if (path.startsWith('/ops/1.0/history/'))
    return { feedId: String(german), sourceProductId: 'bare', kind: 'program', id: '101' };
  if (path.startsWith('/ops/1.0/parked')) return {};
  if (path.startsWith('/ops/1.0/feeds/')) return { feedId: String(german), loadId: '{loadId}' };
  if (/^\/ops\/1\.0\/(deliveries|receivers|subscriptions)\//.test(path))
    return { subscriptionId: '{id}', receiverId: '{receiverId}', messageId: '{messageId}' };
  if (path.endsWith('/release')) return { id: String(AT_NETWORK.release) };
  if (path.endsWith('/reject')) return { id: String(AT_NETWORK.reject) };
  return { id: path.startsWith(transactions) ? transactionId : '2' };
}

const asked = new Map<string, number[]>();

/** Answers in XML. */
const inXml: (readonly [id: string, target: string, answer: Response])[] = [];

/** Operations that read and have been asked with success, and whether each answer was queued. */
const reads = new Map<string, Set<boolean>>();

/** Their answers are short, or the file of a download. */
const NOT_QUEUED = [
  'askSql',
  'downloadFeed',
  'getLastUpdated',
  'getMetrics',
  'listClaimStatuses',
  'listLegacyClaimStatuses',
  'readLog',
];

async function ask([id, target, details = {}]: Asked): Promise<Response> {
  const operation = operations.get(id);
  if (operation === undefined) throw new Error(`there is no ${id}`);
  if (/sources\/(fetch|accept)/.test(target)) await holdSource(app, EXAMPLE_FEED);
  queued.mockClear();
  const whole = await targetWithIds(app, target.replace('{loadId}', loadId), deliveries);
  const answer = await app.request(operation.method as 'GET', whole, {
    token: tokenFor(operation),
    ...details,
  });
  asked.set(id, [...(asked.get(id) ?? []), answer.statusCode]);
  if (operation.method === 'GET' && answer.statusCode === 200)
    reads.set(id, (reads.get(id) ?? new Set()).add(queued.mock.calls.length === 1));
  return answer;
}

describe('real answers match the description', () => {
  it.each(REQUESTS.map(([id, target, details = {}]) => [id, target, details] as const))(
    '%s, asked as %s, answers as described',
    async (id, target, details) => {
      const answer = await ask([id, target, details]);
      if (String(answer.headers['content-type']).includes('xml')) inXml.push([id, target, answer]);
      else expect(await described.problemsOf(id, answer)).toEqual([]);
    },
  );

  it('those in XML answer as described', async () => {
    expect(inXml.length).toBeGreaterThan(50);
    // Together: each run of libxml2 takes longer than many answers.
    const problems = inXml.map(async ([id, target, answer]) => [
      ...[id, target, await described.problemsOf(id, answer)],
    ]);
    expect(await Promise.all(problems)).toEqual(inXml.map(([id, target]) => [id, target, []]));
  });

  it('each POST that is sent again with its Idempotency-Key is answered as before (decisions A22)', async () => {
    const repeated = new Set<string>();
    for (const [id, given, details = {}] of REQUESTS) {
      if (operations.get(id)?.method !== 'POST' || id === 'loadProducts' || repeated.has(id)) continue;
      const target = await targetWithIds(app, given, deliveries);
      const headers = { ...details.headers, 'idempotency-key': SYSTEM_CLOCK.uuid() };
      const sent: Asked = [id, target, { ...details, headers }];
      const [first, second] = [await ask(sent), await ask(sent)];
      expect([id, second.statusCode, second.body]).toEqual([id, first.statusCode, first.body]);
      if (second.headers['idempotent-replayed'] === 'true') repeated.add(id);
    }
    const posts = [...operations.values()]
      .filter(({ method }) => method === 'POST')
      .map(({ text }) => text.id);
    expect(posts.filter((id) => id !== 'loadProducts' && !repeated.has(id))).toEqual([]);
  });

  it('each operation was tested with a success and a failure', () => {
    const untried = [...operations.keys()]
      .map((id) => [id, asked.get(id) ?? []] as const)
      .filter(([, statuses]) => !statuses.some((status) => status < 300))
      .map(([id]) => id);
    expect(untried).toEqual([]);
    const failed = [...asked.values()].flat().filter((status) => status >= 400);
    expect(failed.length).toBeGreaterThan(10);
  });

  it('whatever reads waits in the queue of heavy reads, but for short answers and downloads (decisions X70)', () => {
    expect(reads.size).toBeGreaterThan(20);
    const unqueued = [...reads].filter(([, was]) => was.has(false)).map(([id]) => id);
    expect(unqueued.toSorted()).toEqual(NOT_QUEUED);
    for (const id of NOT_QUEUED) expect([id, reads.get(id)]).toEqual([id, new Set([false])]);
  });

  it('an answer with additional or missing fields does not match', async () => {
    const answer = await ask(['listVouchers', '/1.0/vouchers']);
    const [first, ...others] = answer.json<Record<string, unknown>[]>();
    for (const changed of [
      { ...first, more: 1 },
      { ...first, id: 'x' },
      { ...first, title: undefined },
    ]) {
      const body = JSON.stringify([changed, ...others]);
      expect(await described.problemsOf('listVouchers', { ...answer, body })).not.toEqual([]);
    }
    expect(await described.problemsOf('deleteVoucher', answer)).toEqual(['status 200']);
  });

  it('each operation refuses requests without a token, with the error list as described', async () => {
    const answers: (readonly [path: string, id: string, answer: Response])[] = [];
    for (const operation of described.operations) {
      const { method, path } = operation;
      const answer = await app.request(method, targetOf(operation, { extension: 'xml' }));
      answers.push([path, routedId(operation), answer]);
      expect([path, answer.statusCode, answer.body.includes('Missing token')]).toEqual([path, 400, true]);
    }
    const problems = await Promise.all(
      answers.map(async ([path, id, answer]) => [path, await described.problemsOf(id, answer)]),
    );
    expect(problems).toEqual(answers.map(([path]) => [path, []]));
  });
});

/** Contents that an operation posts or answers with success, with the statuses of the latter. */
function contentsOf({ requestBody, responses }: DescribedOperation) {
  const answers = Object.entries(responses).flatMap(([status, answer]) =>
    '$ref' in answer ? [] : [[status, answer.content ?? {}] as const],
  );
  return [['body', requestBody?.content ?? {}] as const, ...answers].flatMap(([of, content]) =>
    Object.entries(content).map(([type, described]) => ({ of, type, ...described })),
  );
}

const textOf = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example);

describe('the examples of the description', () => {
  it('are there for each body, each answer and each required key, and match it (decisions X137)', async () => {
    const problems: unknown[] = [];
    const checks = described.operations.flatMap((operation) => {
      const { operationId, parameters } = operation;
      for (const { name, required, example } of parameters)
        if (required && example === undefined) problems.push([operationId, name]);
      return contentsOf(operation).map(async ({ of, type, schema, example }) => {
        const found =
          example === undefined ? ['no example'] : await described.problemsIn(textOf(example), type, schema);
        if (found.length > 0) problems.push([operationId, of, type, ...found]);
      });
    });
    await Promise.all(checks);
    expect(problems).toEqual([]);
    const posted = described.operation('postVoucher').requestBody?.content['application/json'];
    const wrong = JSON.stringify({ ...(posted?.example as object), programId: 'x' });
    expect(await described.problemsIn(wrong, 'application/json', posted?.schema ?? {})).not.toEqual([]);
  });

  it('of posts match the description and are accepted', async () => {
    const examples = described.operations.flatMap((operation) =>
      Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema, example }]) => {
        const body = typeof example === 'string' ? example : JSON.stringify(example);
        return { operation, id: routedId(operation), type, schema, body };
      }),
    );
    const problems = await Promise.all(
      examples.map(async ({ id, type, schema, body }) => [
        id,
        await described.problemsIn(body, type, schema),
      ]),
    );
    expect(problems).toEqual(examples.map(({ id }) => [id, []]));
    for (const { operation, id, type, body } of examples) {
      const answer = await ask([
        id,
        targetOf(operation, { extension: 'xml', ...idsFor(operation) }),
        { headers: { 'content-type': type }, body },
      ]);
      expect([id, type, answer.statusCode < 300 ? '' : answer.body]).toEqual([id, type, '']);
      expect(answer.body).not.toMatch(/"code"|<code>/);
    }
  });

  it('of keys are accepted', async () => {
    const answers: (readonly [id: string, extension: string, answer: Response])[] = [];
    for (const operation of described.operations.filter(({ requestBody }) => requestBody === undefined)) {
      const id = routedId(operation);
      for (const extension of extensionsOf(operation)) {
        const answer = await ask([id, targetOf(operation, { extension, ...idsFor(operation) })]);
        expect([id, extension, answer.statusCode < 300 ? '' : answer.body]).toEqual([id, extension, '']);
        const csv = contentsOf(operation).find(({ type }) => type === 'text/csv')?.example;
        if (extension === 'csv') expect(textOf(csv)).toMatch(answer.body.slice(0, answer.body.indexOf('\n')));
        answers.push([id, extension, answer]);
      }
    }
    const problems = await Promise.all(
      answers.map(async ([id, extension, answer]) => [
        ...[id, extension, await described.problemsOf(id, answer)],
      ]),
    );
    expect(problems).toEqual(answers.map(([id, extension]) => [id, extension, []]));
  });
});
