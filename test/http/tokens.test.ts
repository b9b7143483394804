import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AddressInfo } from 'node:net';
import { answerIn, exchange } from '../support/raw-http';
import { codesOf, type ErrorList, notes } from './asking-notes';
import { notesApp, TOKENS } from './notes-service';

const asked = notes();
const { advertiser, publisher } = TOKENS;

const answerTo = async (authorization: string, query = '') => {
  const { statusCode, body } = await asked.get(`/1.0/notes;word=a${query}`, { authorization });
  return { status: statusCode, body };
};

describe('a token in the Authorization header (decisions A13)', () => {
  it.each([
    [`Bearer ${publisher}`, ''],
    [`bearer ${publisher}`, ''],
    [`BEARER   ${publisher.toUpperCase()} `, ''],
    [`Bearer ${publisher}`, `?token=${publisher}`],
    [`Bearer ${publisher}`, `?token=${publisher.toUpperCase()}`],
    ['Basic dXNlcjpwYXNz', `?token=${publisher}`],
    ['Bearer', `?token=${publisher}`],
    ['Bearer ', `?token=${publisher}`],
    [`Bearer ${publisher}`, '?token='],
  ])('%j with the query %j is accepted', async (authorization, query) => {
    const { status, body } = await answerTo(authorization, query);
    expect([status, JSON.parse(body)]).toEqual([200, { organisation: 2, id: [], word: 'a' }]);
  });

  it.each([
    ['Basic dXNlcjpwYXNz', '', 400, '1'],
    ['Bearer', '', 400, '1'],
    [publisher, '', 400, '1'],
    [`Bearer${publisher}`, '', 400, '1'],
    ['Bearer nonsense', '', 403, '2'],
    [`Bearer ${publisher} ${publisher}`, '', 403, '2'],
    [`Bearer ${'d'.repeat(40)}`, '', 403, '2'],
    [`Bearer ${TOKENS.vouchers}`, '', 403, '2'],
    [`Bearer ${advertiser}`, `?token=${publisher}`, 400, 'N_301'],
    [`Bearer ${publisher}`, `?token=${publisher}&token=${publisher}`, 400, 'N_301'],
  ])('%j with the query %j: HTTP %i, code %s', async (authorization, query, status, code) => {
    const answer = await answerTo(authorization, query);
    expect([answer.status, codesOf(answer.body)]).toEqual([status, [code]]);
  });

  it('is allowed to scripts of other origins', async () => {
    const { statusCode, headers } = await asked.app.inject({
      method: 'OPTIONS',
      url: '/1.0/notes',
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
      },
    });
    expect([statusCode, headers['access-control-allow-headers']]).toEqual([
      204,
      'authorization, content-type',
    ]);
  });

  it('is a repeated token if several headers have different ones', async () => {
    const { app } = await notesApp();
    const answer = await overSocket(app, [advertiser, publisher]);
    expect([answer.status, codesOf(answer.body)]).toEqual([400, ['N_301']]);
    expect((await overSocket(app, [publisher, publisher])).status).toBe(200);
    await app.close();
  });
});

async function overSocket(app: NestFastifyApplication, tokens: readonly string[]) {
  if (app.getHttpServer().address() === null) await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const lines = [
    'GET /1.0/notes;word=a HTTP/1.1',
    'Host: x',
    ...tokens.map((one) => `Authorization: Bearer ${one}`),
  ];
  return answerIn(await exchange(port, [`${lines.join('\r\n')}\r\n\r\n`], /\r\n\r\n\{.*\}$/s));
}

describe('a token of another system (decisions A4)', () => {
  it('is answered with the name of its system, and nothing else', async () => {
    const answer = await asked.get(`/1.0/notes;word=a?token=${TOKENS.vouchers}`);
    expect(answer.statusCode).toBe(403);
    expect(answer.json<ErrorList>().errors).toEqual([
      { code: '2', message: 'the token is for VOUCHERS: expected one for PRODUCTS' },
    ]);
  });

  it('that is unknown has the same message as a malformed one', async () => {
    const messages = await Promise.all(
      ['d'.repeat(40), 'nonsense'].map(async (token) => (await answerTo(`Bearer ${token}`)).body),
    );
    expect(new Set(messages).size).toBe(1);
  });
});
