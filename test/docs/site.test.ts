import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { claimFaultTable } from '../../src/domain/claims/faults';
import { productFaultTable } from '../../src/domain/products/feed';
import { conversionFaultTable } from '../../src/domain/subscriptions/faults';
import { voucherFaultTable } from '../../src/domain/vouchers/voucher';
import { DOCS_ROUTES } from '../../src/docs/docs.controller';
import { explainedErrors } from '../../src/docs/site';
import { type FaultTable } from '../../src/kernel/fault';
import { httpFaultTable, openApiFaultTable } from '../../src/wire/api/errors';
import { NETWORK, FEEDS, TOKENS } from '../api/network';
import { type Response, TestApp } from '../support/app';
import { OpenApiDocument } from '../support/openapi';

let app: TestApp;
let described: OpenApiDocument;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  described = await OpenApiDocument.of(app);
});
afterAll(() => app.close());

const TABLES: readonly FaultTable[] = [
  ...[openApiFaultTable, httpFaultTable, productFaultTable, voucherFaultTable],
  ...[conversionFaultTable, claimFaultTable],
];
/** Those of operators are HTTP statuses: only one of them is of theirs alone. */
const CODES = [...new Set([...TABLES.flatMap((table) => Object.values(table).map(([code]) => code)), '403'])];

/** The addresses that a page links to or loads, without their fragments, as a browser has them. */
function addressesIn(page: string, body: string): readonly string[] {
  return [...body.matchAll(/(?:src|href)="([^"]+)"/g)]
    .map(([, address = '']) => address.replaceAll('&#38;', '&'))
    .filter((address) => address !== 'data:,')
    .map((address) => new URL(address, `https://proxy.example/prefix${page}`))
    .filter(({ host }) => host === 'proxy.example')
    .map(({ pathname }) => pathname);
}

/** All pages that can be reached from the first one, and what they load. */
async function crawled(): Promise<ReadonlyMap<string, Response>> {
  const found = new Map<string, Response>();
  const next = ['/docs'];
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    if (found.has(path)) continue;
    const answer = await app.get(path);
    found.set(path, answer);
    if (!String(answer.headers['content-type']).startsWith('text/html')) continue;
    const addresses = addressesIn(path, answer.body);
    expect(addresses.filter((address) => !address.startsWith('/prefix/'))).toEqual([]);
    next.push(...addresses.map((address) => address.replace('/prefix', '')));
  }
  return found;
}

describe('the documentation (decisions A8, X82)', () => {
  let pages: ReadonlyMap<string, Response>;
  beforeAll(async () => {
    pages = await crawled();
  });

  it('has pages that are all reached from the first one, without a token, also behind a proxy with a prefix', () => {
    for (const [path, { statusCode }] of pages) expect([path, statusCode]).toEqual([path, 200]);
    const names = [
      'requests',
      'feeds',
      'following',
      'notifications',
      'decisions',
      'errors',
      'products',
      'vouchers',
    ];
    const services = ['claims', 'conversions', 'claim-subscriptions', 'operations'];
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/docs', ...[...names, ...services].map((name) => `/docs/${name}`)]),
    );
  });

  it('loads nothing from other hosts, and lets no page run what is written in it', () => {
    for (const [path, { body, headers }] of pages) {
      if (!String(headers['content-type']).startsWith('text/html')) continue;
      const policy = String(headers['content-security-policy']);
      if (path.startsWith('/docs'))
        expect([path, policy]).toEqual([
          path,
          expect.stringMatching(
            /^default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
          ),
        ]);
      expect([
        path,
        /<(?:script|link|img)[^>]+(?:src|href)="https?:|<script>|<style>| on\w+="/.test(
          body.replaceAll(/<style>(?=\n:root)/g, ''),
        ),
      ]).toEqual([path, false]);
    }
  });

  it('may be cached, and is asked for again by its ETag', async () => {
    for (const path of ['/docs', '/docs/products', '/docs/errors/PF_240', '/docs/files/script.js']) {
      const { headers } = await app.get(path);
      const known = { 'if-none-match': String(headers.etag) };
      expect([path, (await app.get(path, { headers: known })).statusCode]).toEqual([path, 304]);
    }
  });

  it('is compressed for those who accept it, with an ETag of its own (decisions X80)', async () => {
    for (const path of ['/docs/products', '/docs/files/style.css', '/1.0/openapi.json']) {
      const plain = await app.get(path);
      const headers = { 'accept-encoding': 'gzip' };
      const packed = await app.get(path, { headers });
      expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
      expect([packed.headers['content-encoding'], packed.headers.vary]).toEqual([
        'gzip',
        expect.stringContaining('Accept-Encoding'),
      ]);
      expect(packed.headers.etag).not.toBe(plain.headers.etag);
      const known = { ...headers, 'if-none-match': String(packed.headers.etag) };
      const again = await app.get(path, { headers: known });
      expect([again.statusCode, again.body, again.headers['content-encoding']]).toEqual([304, '', undefined]);
    }
  });

  it('has no other pages and files, and a single address', async () => {
    for (const path of [
      'package.json',
      '..%2fpackage.json',
      'errors/PF_999',
      'files/package.json',
      'architecture',
    ])
      expect([path, (await app.get(`/docs/${path}`)).statusCode]).toEqual([path, 404]);
    const { statusCode, headers } = await app.get('/docs/');
    expect([statusCode, headers.location]).toEqual([308, '../docs']);
    expect(DOCS_ROUTES).toEqual(['/docs', '/docs/:page', '/docs/errors/:code', '/docs/files/:file']);
  });

  it('has each operation of the description once, with its keys and its example in four languages', () => {
    const all = [...pages.values()].map(({ body }) => body).join('\n');
    for (const { operationId, path, parameters } of described.operations) {
      if (path.endsWith('.{extension}')) continue;
      const [, section = '', ...more] = all.split(`<section id="${operationId}"`);
      expect([operationId, more]).toEqual([operationId, []]);
      const own = section.split('</section>')[0] ?? '';
      for (const language of ['curl', 'TypeScript', 'Python', 'PHP'])
        expect([operationId, own]).toEqual([operationId, expect.stringContaining(`value="${language}"`)]);
      const shown = parameters.flatMap(({ name }) => name ?? []);
      expect(shown.filter((name) => !own.includes(`<code>${name}</code>`))).toEqual([]);
    }
  });

  it('escapes what it shows', async () => {
    const { body } = await app.get('/docs/operations');
    expect(body).toContain('Audio &#62; ');
    expect(body).not.toMatch(/Audio > /);
  });

  it('offers no token of anybody, and no other origin reads it', () => {
    for (const [path, { body, headers }] of pages) {
      expect([path, body.includes('data-token'), /\b[0-9a-f]{40}\b/.test(body)]).toEqual([
        path,
        false,
        false,
      ]);
      if (path.startsWith('/docs') && !path.includes('/files/'))
        expect([path, headers['access-control-allow-origin']]).toEqual([path, undefined]);
    }
  });
});

it('the documentation of a demonstration offers the tokens of those who may call an operation (decisions X140)', async () => {
  const token = 'b'.repeat(40);
  const demoTokens = [
    { system: 'PRODUCTS', kind: 'publisher', owner: 'Preisfuchs', token },
    { system: 'VOUCHERS', kind: 'publisher', owner: 'Preisfuchs', token: 'c'.repeat(40) },
  ];
  const demo = await app.again({ demoTokens });
  const { body, headers } = await demo.inject({
    url: '/docs/products',
    headers: { origin: 'https://shop.example' },
  });
  const sectionOf = (id: string) => body.split(`<section id="${id}"`)[1]?.split('</section>')[0];
  expect(sectionOf('searchProducts')).toContain(`<button data-token="${token}">Send as Preisfuchs</button>`);
  expect(sectionOf('loadProducts')).not.toContain('data-token');
  expect(body).not.toContain('c'.repeat(40));
  expect(headers['access-control-allow-origin']).toBeUndefined();
  await demo.close();
});

describe('the pages of errors (decisions X139)', () => {
  it('explain each code of all tables, and no other', async () => {
    const { body } = await app.get('/docs/errors');
    const linked = [...body.matchAll(/href="errors\/(\w+)"/g)].map(([, code]) => code);
    expect([...new Set(linked)].sort()).toEqual([...CODES].sort());
    expect([...explainedErrors().byCode.keys()].sort()).toEqual([...CODES].sort());
    // All tables of the source are among those above.
    const sources = readdirSync(join(__dirname, '../../src'), { recursive: true, encoding: 'utf8' });
    const tables = sources
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [
        ...readFileSync(join(__dirname, '../../src', name), 'utf8').matchAll(
          /^(?:export )?const \w+ = faultsOf\((\w+|\{)/gm,
        ),
      ])
      .map(([, table]) => table);
    expect(tables.sort()).toEqual(
      [
        ...[
          'claimFaultTable',
          'conversionFaultTable',
          'httpFaultTable',
          'openApiFaultTable',
          'operatorFaultTable',
        ],
        ...['productFaultTable', 'voucherFaultTable', '{'],
      ].sort(),
    );
  });

  it.each(CODES)(
    '%s has its meaning, what to do, an answer in JSON and XML, and operations',
    async (code) => {
      const { body } = await app.get(`/docs/errors/${code}`);
      const rows = TABLES.flatMap((table) => Object.values(table)).filter(([one]) => one === code);
      for (const [, status, text] of rows) {
        expect(body).toContain(`<div>${status}</div>`);
        expect(body).toContain(text.replaceAll("'", '&#39;'));
      }
      const explained = explainedErrors().byCode.get(code);
      expect(explained?.text.trim().length).toBeGreaterThan(20);
      expect(body).toContain(`&#34;code&#34;: &#34;${code}&#34;`);
      expect(body).toContain(`&#60;code&#62;${code}&#60;/code&#62;`);
      // Verbs of docs/errors.md begin ids of operations.
      const [, operations = ''] = body.split('Operations that may answer it');
      if (code !== '2') expect(operations).toMatch(/<li><a href="\.\.\/[\w-]+#\w+">|All operations/);
      const ids = described.operations.map(({ operationId }) => operationId);
      expect(explained?.verbs.filter((verb) => !ids.some((id) => id.startsWith(verb)))).toEqual([]);
    },
  );

  const own = `;fid=${FEEDS.german}`;
  const linkOf = (code: string) => `<https://api.example/docs/errors/${code}>; rel="help"`;
  const faulty = JSON.stringify({ products: [{ sourceProductId: 'a', price: 'x' }] });

  it.each([
    ['a refused request in JSON', 'GET', `/1.0/products.json${own};pageSize=0`, undefined, ['PF_430']],
    ['a refused request in XML', 'GET', `/1.0/products.xml${own};pageSize=0`, undefined, ['PF_430']],
    ['a refused script', 'GET', `/1.0/products.json${own};pageSize=0?jsonp=f`, undefined, ['PF_430']],
    [
      'products that are refused, each code once, in JSON',
      'POST',
      `/1.0/products.json${own}`,
      faulty,
      ['PF_240', 'PF_280'],
    ],
    ['products that are refused, in XML', 'POST', `/1.0/products.xml${own}`, faulty, ['PF_240', 'PF_280']],
    ['a path that does not exist', 'GET', '/1.0/unknown', undefined, ['7']],
  ] as const)('are linked by the answer to %s', async (_, method, target, body, codes) => {
    const { headers } = await app.request(method, target, {
      token: TOKENS.nord,
      ...(body === undefined ? {} : { body }),
    });
    const links = String(headers.link).split(', ');
    expect(links.sort()).toEqual(codes.map(linkOf));
    expect(String(headers['access-control-expose-headers']).split(', ')).toContain('Link');
  });

  it('are not linked by an answer without errors, whose shape is as it was', async () => {
    const { headers, body } = await app.request('GET', `/1.0/products${own}`, { token: TOKENS.nord });
    expect([headers.link, body]).toEqual([undefined, expect.stringContaining('"products"')]);
    const refused = await app.request('GET', `/1.0/products${own};pageSize=0`, { token: TOKENS.nord });
    const { errors } = refused.json<{ errors: readonly object[] }>();
    expect(errors.map((error) => Object.keys(error))).toEqual([['code', 'message']]);
  });
});
