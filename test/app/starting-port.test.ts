import { once } from 'node:events';
import { createServer, Agent, get, type Server } from 'node:http';
import { connect } from 'node:net';
import { StartingPort } from '../../src/app/start';

const REASON = 'the read models are being built: 42 % of the log, about 12 s left';
const refused = (id: string) => ({
  errors: [{ code: '503', message: `The server is starting: ${REASON} (request ${id})` }],
});

describe('the port of a server that is starting (decisions X98, A16)', () => {
  let port: StartingPort;
  let url: string;
  let successor: Server;
  beforeEach(async () => {
    port = await StartingPort.open(0, '127.0.0.1', () => REASON);
    url = `http://127.0.0.1:${port.port}`;
    successor = createServer((_, response) => response.end('answered'));
  });
  afterEach(async () => {
    await port.close();
    if (!successor.listening) return;
    successor.close();
    successor.closeAllConnections();
    await once(successor, 'close');
  });

  it.each(['/1.0/products;fid=22?token=a', '/1.0/vouchers.xml', '/docs', '/'])(
    'answers %s with 503, the reason and Retry-After',
    async (path) => {
      const answer = await fetch(`${url}${path}`, { headers: { 'x-request-id': 'early' } });
      expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
        503,
        '5',
        refused('early'),
      ]);
      expect(answer.headers.get('x-request-id')).toBe('early');
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    },
  );

  it('is alive, but not ready', async () => {
    const live = await fetch(`${url}/health/live`);
    expect([live.status, await live.json()]).toEqual([200, { status: 'ok' }]);
    const ready = await fetch(`${url}/health/ready`);
    expect([ready.status, ready.headers.get('retry-after'), await ready.json()]).toEqual([
      503,
      '1',
      { status: 'waiting', waiting: { start: REASON } },
    ]);
  });

  it('answers a client that sends a large body before it reads', async () => {
    const body = 'x'.repeat(50_000_000);
    const answer = await fetch(`${url}/1.0/products;fid=22?token=a`, { method: 'POST', body });
    const id = answer.headers.get('x-request-id') ?? '';
    expect([answer.status, await answer.json()]).toEqual([503, refused(id)]);
  });

  it('is handed over to the application: no connection is refused, and no client stays behind', async () => {
    const agent = new Agent({ keepAlive: true });
    const before = await new Promise<number | undefined>((resolve) =>
      get(url, { agent }, (answer) => answer.resume().on('end', () => resolve(answer.statusCode))),
    );
    const early = connect(port.port, '127.0.0.1');
    await once(early, 'connect');
    const asked = Promise.all(Array.from({ length: 50 }, async () => (await fetch(url)).status));
    await port.handOver(successor);
    const after = await new Promise<number | undefined>((resolve) =>
      get(url, { agent }, (answer) => answer.resume().on('end', () => resolve(answer.statusCode))),
    );
    expect([before, after]).toEqual([503, 200]);
    expect((await asked).filter((status) => status !== 503 && status !== 200)).toEqual([]);
    early.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
    let text = '';
    for await (const part of early) text += String(part);
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close[^]*answered/);
    agent.destroy();
    // The port is now that of the application.
    await port.close();
    expect((await fetch(url)).status).toBe(200);
  });

  it('is refused when it is in use, and is free after a start that fails', async () => {
    await expect(StartingPort.open(port.port, '127.0.0.1', () => '')).rejects.toThrow(
      `listen EADDRINUSE: address already in use 127.0.0.1:${port.port}`,
    );
    const { port: number } = port;
    await port.close();
    const again = await StartingPort.open(number, '127.0.0.1', () => '');
    expect(again.port).toBe(number);
    await again.close();
  });
});
