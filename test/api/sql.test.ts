import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { type AnswerSql } from '../../src/operations/sql/remote';
import { type Response, TestApp } from '../support/app';
import { NETWORK, OTHER_TOKENS, TOKENS } from './network';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

const ask = (q: string, token = OTHER_TOKENS.operator): Promise<Response> =>
  app.get(`/ops/1.0/sql;q=${encodeURIComponent(q)}`, { token });

type Row = Readonly<Record<string, unknown>>;
const rowsOf = ({ body }: Response): readonly Row[] =>
  body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);

/** The session of an operator in the console. */
async function cookieAt(url: string): Promise<string> {
  const { headers } = await fetch(`${url}/console/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ key: OTHER_TOKENS.operator }).toString(),
  });
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

describe('SQL over HTTP (decisions X116)', () => {
  it('answers a line of JSON for each row, and as of which positions', async () => {
    const head = await app.engines.log.head();
    const answer = await ask('SELECT programId, name, status FROM programs ORDER BY programId');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      200,
      'application/x-ndjson; charset=utf-8',
    ]);
    expect(answer.headers['x-as-of']).toBe(`log=${head}, programs=${head}`);
    const rows = rowsOf(answer);
    expect(rows).toHaveLength(NETWORK.programs.length);
    expect(rows).toContainEqual({ programId: 101, name: expect.any(String) as string, status: 'active' });
  });

  it('has what was just written, in the log and in read models', async () => {
    const product = {
      sourceProductId: 'sql-1',
      name: 'Lamp',
      description: 'A lamp',
      productUrl: 'https://shop.example/p/1',
      productImage: { url: 'https://shop.example/1.png' },
      price: { value: '12.34' },
      categories: [{ name: 'Lamps' }],
    };
    const [feed] = NETWORK.feeds;
    const posted = await app.post(`/1.0/products;fid=${feed.id}`, {
      token: TOKENS.nord,
      body: JSON.stringify({ products: [{ ...product, price: 12.34 }] }),
    });
    expect([posted.statusCode, posted.body]).toEqual([200, '{"errors":[]}']);
    for (const table of ['ProductListed', 'products', 'price_history'])
      expect(rowsOf(await ask(`SELECT feedId, price FROM ${table}`))).toEqual([
        { feedId: feed.id, price: 12.34 },
      ]);
  });

  it('is for operators, and says what is wrong', async () => {
    expect((await ask('SELECT 1', TOKENS.nord)).statusCode).toBe(403);
    const refused = await ask('SELECT * FROM nothing');
    expect(refused.statusCode).toBe(400);
    expect(refused.body).toContain('Table with name nothing does not exist');
    expect((await ask("COPY (SELECT 1) TO 'x'")).statusCode).toBe(400);
    expect((await ask("SELECT * FROM read_text('/etc/passwd')")).body).toContain(
      'reads tables only: no files',
    );
  });

  it.each(['when its client leaves', 'when the server stops'])('ends a statement %s', async (when) => {
    let running = 0;
    const sql: AnswerSql = async (_, signal) => {
      running += 1;
      await once(signal, 'abort');
      running -= 1;
      throw signal.reason;
    };
    const own = await app.again({ sql });
    await own.listen(0, '127.0.0.1');
    const url = `${await own.getUrl()}/ops/1.0/sql;q=SELECT%201?token=${OTHER_TOKENS.operator}`;
    const leaving = new AbortController();
    const page = `${await own.getUrl()}/console/sql?q=SELECT%201`;
    const cookie = await cookieAt(await own.getUrl());
    const clients = [
      fetch(url, { signal: leaving.signal }),
      fetch(page, { signal: leaving.signal, headers: { cookie } }),
    ];
    while (running < 2) await turn();
    expect((await fetch(url)).status).toBe(503);
    const isLeaving = when.includes('client');
    if (isLeaving) leaving.abort();
    else await own.close();
    const ended = await Promise.allSettled(clients);
    while (running > 0) await turn();
    expect(ended.map(({ status }) => status)).toEqual(
      isLeaving ? ['rejected', 'rejected'] : ['fulfilled', 'fulfilled'],
    );
    if (isLeaving) await own.close();
  });

  it('answers two statements at a time', async () => {
    const answers = await Promise.all(['SELECT 1', 'SELECT 2', 'SELECT 3'].map((one) => ask(one)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 503]);
    expect(answers.find(({ statusCode }) => statusCode === 503)?.headers['retry-after']).toBe('1');
    expect((await ask('SELECT 4')).statusCode).toBe(200);
  });
});
