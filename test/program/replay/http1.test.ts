import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { EventStoreDBClient } from '@eventstore/db-client';
import { collected } from '../../support/esdb-events';
import { startEsdbServer } from '../../support/esdb-server';
import { esdbFixture } from '../../support/esdb-fixture';

const tried = esdbFixture('read-only');

/** The preface of HTTP/2, which arrives in parts on a bad day. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const NO_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe('over HTTP/1.1', () => {
  test('/info describes the server', async () => {
    expect(await get('/info')).toMatchObject({
      status: 200,
      type: 'application/json',
      body: expect.stringMatching(/"esVersion":"24\.6\.0\.0","state":"leader"/),
    });
  });

  test('/ping is answered', async () => {
    expect(await get('/ping?x=1')).toMatchObject({
      status: 200,
      body: expect.stringMatching(/Ping request successfully handled/),
    });
  });

  test.each([
    ['GET', '/'],
    ['GET', '/web/index.html'],
    ['GET', '/streams/feed-1'],
    ['POST', '/info'],
    ['POST', '/streams/feed-1'],
  ])('%s %s is answered with an explanation', async (method, path) => {
    expect(await get(path, method)).toMatchObject({
      status: 404,
      type: 'text/plain; charset=utf-8',
      body: expect.stringMatching(/clients of EventStoreDB over gRPC/),
    });
  });
});

test('an HTTP/2 preface in many small parts is recognized', async () => {
  const socket = connect(tried.server.port, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  for (const part of PREFACE) {
    socket.write(part);
    await new Promise(setImmediate);
  }
  socket.write(NO_SETTINGS);
  const [answer] = (await once(socket, 'data')) as [Buffer];

  // A frame with settings.
  expect(answer[3]).toBe(4);
  socket.destroy();
});

test('closing ends connections whose protocol is still unknown', async () => {
  const server = await startEsdbServer('read-only');
  for (const said of ['', 'PRI', 'GET ']) {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(said);
  }
  const client = EventStoreDBClient.connectionString(server.url);
  expect(await collected(client.readAll())).toEqual([]);

  await server.stop();
  await client.dispose();
});

async function get(
  path: string,
  method = 'GET',
): Promise<{ status: number | undefined; type: string | undefined; body: string }> {
  const unary = request({ host: '127.0.0.1', port: tried.server.port, path, method, agent: false }).end();
  const [answer] = (await once(unary, 'response')) as [IncomingMessage];
  let body = '';
  for await (const part of answer) body += String(part);
  return { status: answer.statusCode, type: answer.headers['content-type'], body };
}
