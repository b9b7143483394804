import { EVENTS as DESCRIBED } from '../../src/operations/events/schemas';
import { request } from 'node:http';
import { type Response, TestApp } from '../support/app';
import { NETWORK, TOKENS } from '../api/network';
import { outcome } from '../api/posted';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

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
    /^default-src 'none'; style-src 'sha256-[\w+/]+=*'; img-src data:;/,
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
