import { live, PATIENCE_MS, unexpectedFailures } from '../support/attack';
import { report } from '../support/attack-run';
import { answerIn, exchange } from '../support/raw-http';
import { ADVERTISER, folderWithNetwork, removeFolder, Server } from '../support/server';

let folder: string;
let server: Server;
let port: number;
beforeAll(async () => {
  folder = await folderWithNetwork();
  server = await Server.start(folder);
  port = Number(new URL(server.url).port);
});
afterAll(async () => {
  await live(server);
  expect(await unexpectedFailures(server)).toBe(0);
  expect(await server.end()).toBe(0);
  // These requests need no log output.
  expect(server.stderr).toBe('');
  await removeFolder(folder);
});

const JSON_TYPE = 'Content-Type: application/json; charset=utf-8';
const XML_TYPE = 'Content-Type: application/xml; charset=utf-8';
const token = `token=${ADVERTISER}`;
const post = `POST /1.0/products;fid=22?${token} HTTP/1.1`;

/** Name, request line and headers, body, expected status and expected code. */
type Case = readonly [
  name: string,
  head: readonly string[],
  body: string | undefined,
  status: number,
  code: string,
];

const withBody = (text: string, type: string): readonly string[] => [
  post,
  'Host: x',
  type,
  `Content-Length: ${Buffer.byteLength(text, 'latin1')}`,
];
const xml = (name: string, text: string, code: string): Case => [
  name,
  withBody(text, XML_TYPE),
  text,
  400,
  code,
];

/** Percent-encodings of the first letter of a path, in upper and lower case. */
const SPELLINGS: readonly Case[] = ['%70roducts', 'pr%6fducts', 'pr%6Fducts', '%70%72%6f%64%75%63%74%73'].map(
  (path) => [path, [`GET /1.0/${path}?fid=22 HTTP/1.1`, 'Host: x'], undefined, 400, '1'],
);

const CASES: readonly Case[] = [
  ...SPELLINGS,
  ...['QUERY', 'PROPFIND', 'LINK', 'NOSUCH', 'CONNECT'].map((method): Case => [
    method,
    [`${method} /1.0/products HTTP/1.1`, 'Host: x'],
    undefined,
    405,
    '405',
  ]),
  [
    'bytes beyond ASCII',
    [`GET /1.0/products;q=\xc3\xa9?${token} HTTP/1.1`, 'Host: x'],
    undefined,
    400,
    '400',
  ],
  ['no Host', [`GET /1.0/products;fid=22?${token} HTTP/1.1`], undefined, 400, '400'],
  ['two Hosts', [`GET /1.0/products;fid=22?${token} HTTP/1.1`, 'Host: x', 'Host: y'], undefined, 400, '400'],
  ['headers of 100 KB', ['GET / HTTP/1.1', 'Host: x', `X: ${'x'.repeat(100_000)}`], undefined, 431, '431'],
  ['an unknown expectation', [...withBody('{}', JSON_TYPE), 'Expect: x'], '{}', 417, '417'],
  [
    'a compressed transfer',
    [post, 'Host: x', JSON_TYPE, 'Transfer-Encoding: gzip, chunked'],
    'f\r\n{"products":[]}\r\n0\r\n\r\n',
    400,
    '400',
  ],
  xml('two byte order marks', '\xef\xbb\xbf\xef\xbb\xbf<products/>', 'PF_210'),
  xml('an undeclared prefix', '<x:products/>', 'PF_210'),
  xml('an undeclared prefix of a product', '<products><x:product sourceProductId="a"/></products>', 'PF_210'),
  [
    'Expect without a token',
    ['POST /1.0/products;fid=22 HTTP/1.1', 'Host: x', JSON_TYPE, 'Content-Length: 9', 'Expect: 100-continue'],
    undefined,
    400,
    '1',
  ],
];

it.each(CASES)('%s is answered like any other error', async (name, head, body, status, code) => {
  const received = await exchange(
    port,
    [`${head.join('\r\n')}\r\n\r\n${body ?? ''}`],
    /\r\n\r\n(\{.*\}|.*<\/Response>)$/s,
  );
  const answer = answerIn(received);
  const found = /"code":"(\w+)"|<code>(\w+)</.exec(answer.body);
  report(`${name}: ${answer.status}, code ${found?.[1] ?? found?.[2]}`);
  expect([answer.status, found?.[1] ?? found?.[2]]).toEqual([status, code]);
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  });
  expect(received).not.toContain('100 Continue');
});

it('9 MB of empty products block neither other loads nor health checks', async () => {
  const bad = `{"products":[${Array(3_000_000).fill('{}').join(',')}]}`;
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const begun = performance.now();
  const over = new AbortController();
  const attack = fetch(`${server.url}/1.0/products;fid=22?${token}`, { method: 'POST', headers, body: bad })
    .then(async (answer) => [answer.status, (await answer.text()).length])
    .finally(() => over.abort());
  const loads: number[] = [];
  const lives: number[] = [];
  while (!over.signal.aborted) {
    lives.push(await live(server));
    const asked = performance.now();
    const answer = await fetch(`${server.url}/1.0/products;fid=23?${token}`, {
      method: 'POST',
      headers,
      body: '{"products":[{"sourceProductId":"a"}]}',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await answer.arrayBuffer();
    loads.push(performance.now() - asked);
  }
  const [status] = await attack;
  const summary = (all: readonly number[]) => `${all.length}, the slowest ${Math.round(Math.max(...all))} ms`;
  report(
    `9 MB of {}: ${status} after ${Math.round(performance.now() - begun)} ms; meanwhile loads: ${summary(loads)}; live: ${summary(lives)}`,
  );
  expect(status).toBe(400);
});
