import { ModulesContainer } from '@nestjs/core';
import { operationsOf } from '../../src/http/describe/operations';
import { type Config } from '../../src/settings/config';
import { product } from './posted';
import { type Response, TestApp } from '../support/app';
import { goodKeys, tokenFor } from './asked-operations';
import { CLAIM_NETWORK } from './claim-network';
import { FEEDS, TOKENS } from './network';

let app: TestApp;
afterEach(() => app.close());

async function start(config: Partial<Config>): Promise<void> {
  app = await TestApp.start({ network: CLAIM_NETWORK, config });
}

it('the body of every operation is counted (decisions X100)', async () => {
  // Less than the smallest body counts.
  await start({ bodyMemory: 1024, maxBody: 1024 });
  const operations = operationsOf(app.http.get(ModulesContainer)).filter(({ method }) => method !== 'GET');
  const refused: string[] = [];
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:\w+/g, '1');
    const { statusCode, body } = await app.request(
      operation.method as 'POST',
      `${path}${goodKeys(operation)}`,
      {
        token: tokenFor({ ...operation, callers: operation.callers.filter((kind) => kind !== 'publisher') }),
        body: '{}',
      },
    );
    if (/of memory, of which there are at most \d+ for it \(BODY_MEMORY\)/.test(body))
      refused.push(`${operation.text.id} ${statusCode}`);
  }
  const expected = operations.filter(({ text }) => text.body !== undefined).map(({ text }) => text.id);
  expect(refused.map((one) => one.split(' ')[0]).sort()).toEqual(expected.sort());
});

const post = (body: string): Promise<Response> =>
  app.post(`/1.0/products;fid=${FEEDS.german}`, { token: TOKENS.nord, body });
const outcome = ({ statusCode, body }: Response): [number, string | undefined] => [
  statusCode,
  /BODY_\w+/.exec(body)?.[0],
];

it('products count with what their load makes of them, and where it spools them (decisions X100)', async () => {
  await start({ bodyMemory: 1024 ** 2, bodySpace: 200 * 1024, maxBody: 1024 ** 2 });
  const large = `{"products":[${' '.repeat(90_000)}]}`;
  const refused = `{"products":[${'{},'.repeat(20_000)}{}]}`;
  expect(outcome(await post(large))).toEqual([200, undefined]);
  expect(outcome(await post(`${large}${' '.repeat(20_000)}`))).toEqual([413, 'BODY_SPACE']);
  // 10,000 faults, which are listed.
  expect(outcome(await post(refused))).toEqual([413, 'BODY_MEMORY']);
  // What they have used is free again.
  expect(outcome(await post(large))).toEqual([200, undefined]);
});

it('a feed is replaced whatever memory its ids take, if nothing else is received (decisions X100)', async () => {
  await start({ bodyMemory: 1024 ** 2 });
  const products = Array.from({ length: 12_000 }, (_, at) => product(`${at}`.padStart(80, 'x')));
  const body = JSON.stringify({ products });
  const path = `/1.0/products;fid=${FEEDS.german};mode=replace`;
  expect(outcome(await app.post(path, { token: TOKENS.nord, body }))).toEqual([200, undefined]);
});
