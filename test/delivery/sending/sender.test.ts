import { type Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { version } from '../../../package.json';
import { rendererOf } from '../../../src/delivery/matching/messages-of';
import { Secrets } from '../../../src/domain/subscriptions/subscription';
import { signatureOf } from '../../../src/delivery/sending/attempt';
import { accepting, answer, attemptTo, type Behaviour, sendingTo } from './receivers';

const { sender, receiver } = sendingTo();

/** The parts of a request. */
function partsOf(request = ''): {
  readonly line: string;
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const pairs = lines.map((one): [string, string] => {
    const colon = one.indexOf(': ');
    return [one.slice(0, colon), one.slice(colon + 2)];
  });
  return { line, headers: Object.fromEntries(pairs), body: Buffer.from(body, 'latin1').toString() };
}

describe('a request', () => {
  it('has the headers of Standard Webhooks, and those of ours (decisions N5)', async () => {
    const to = await receiver(accepting);
    const url = `http://127.0.0.1:${to.port}/hook?x=1#part`;
    expect(await sender().attempt(attemptTo(url))).toMatchObject({ end: 'success', status: 200 });
    const { line, headers, body } = partsOf(to.requests[0]);
    expect(line).toBe('POST /hook?x=1 HTTP/1.1');
    expect(body).toBe('{"a":"ü"}');
    expect(headers).toEqual({
      host: `127.0.0.1:${to.port}`,
      connection: 'keep-alive',
      'user-agent': `Affilog/${version}`,
      'content-type': 'application/json; charset=utf-8',
      'content-length': '10',
      'webhook-id': 'msg_0123456789abcdefghijklmnopqrstuv',
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
      'webhook-attempt': '1',
      'webhook-sequence': '7',
    });
  });

  it('marks redeliveries, tests and the number of the attempt (decisions N5)', async () => {
    const to = await receiver(accepting);
    const change = { number: 3, isManual: true, isTest: true };
    await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`, change));
    expect(partsOf(to.requests[0]).headers).toMatchObject({
      'webhook-attempt': '3',
      'webhook-redelivery': 'manual',
      'webhook-test': 'true',
    });
  });

  it('is verified by the published library, with either secret while they rotate (decisions N5)', async () => {
    const to = await receiver(accepting);
    const secrets = new Secrets(Buffer.alloc(32, 7));
    const bytes = [2, 1].map((number) => secrets.bytes('abc', number));
    await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`, { secrets: bytes }));
    const { headers, body } = partsOf(to.requests[0]);
    for (const number of [1, 2])
      expect(new Webhook(secrets.text('abc', number)).verify(body, headers)).toEqual({ a: 'ü' });
    const other = new Webhook(secrets.text('abc', 3));
    expect(() => other.verify(body, headers)).toThrow('No matching signature found');
    const first = new Webhook(secrets.text('abc', 1));
    expect(() => first.verify(`${body} `, headers)).toThrow('No matching signature found');
  });

  it('is verified by the published library if it is a GET, whose target is signed too (decisions N5)', async () => {
    const to = await receiver(accepting);
    const secrets = new Secrets(Buffer.alloc(32, 7));
    const bytes = [secrets.bytes('abc', 1)];
    const url = `http://127.0.0.1:${to.port}/hook/ä?x=${encodeURIComponent('1 €')}&y="`;
    await sender().attempt(attemptTo(url, { request: { method: 'GET', url }, secrets: bytes }));
    const { line, headers, body } = partsOf(to.requests[0]);
    expect(line).toBe('GET /hook/%C3%A4?x=1%20%E2%82%AC&y=%22 HTTP/1.1');
    expect([body, headers['content-length'], headers['content-type']]).toEqual(['', undefined, undefined]);
    const library = new Webhook(secrets.text('abc', 1));
    library.verify('', headers);
    const target = headers['webhook-signature-target'] ?? '';
    const asTarget = { ...headers, 'webhook-signature': target };
    library.verify(line.split(' ')[1] ?? '', asTarget, { jsonParse: false });
    const signed = { id: headers['webhook-id'] ?? '', timestamp: Number(headers['webhook-timestamp']) };
    expect(signatureOf(bytes, signed, '/other')).not.toBe(target);
  });

  it('has the URL that was stored when it was made, so that its owner can check the signature (decisions N5, N14)', async () => {
    const to = await receiver(accepting);
    const secrets = new Secrets(Buffer.alloc(32, 7));
    const receiverUrl = `http://127.0.0.1:${to.port}/ä/../b;ü|?a='ö'&b="\${epi}&?#\${epi}`;
    const rendered = rendererOf({ httpMethod: 'GET', receiverUrl })({ epi: "it's 1 €" });
    if (!('request' in rendered)) throw new Error(rendered.unsendable);
    const change = { request: rendered.request, secrets: [secrets.bytes('abc', 1)] };
    await sender().attempt(attemptTo('', change));
    const { line, headers } = partsOf(to.requests[0]);
    const target = rendered.request.url.slice(`http://127.0.0.1:${to.port}`.length);
    expect(line).toBe(`GET ${target} HTTP/1.1`);
    expect(target).toBe('/b;%C3%BC|?a=%27%C3%B6%27&b=%22it%27s%201%20%E2%82%AC&?');
    const asTarget = { ...headers, 'webhook-signature': headers['webhook-signature-target'] ?? '' };
    new Webhook(secrets.text('abc', 1)).verify(target, asTarget, { jsonParse: false });
  });

  it('uses connections again (decisions N7)', async () => {
    const to = await receiver(accepting);
    const sending = sender();
    for (let count = 0; count < 20; count += 1)
      await sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/${count}`));
    expect(to.requests).toHaveLength(20);
    // The first connection is not free at once for the second message.
    expect(to.connections).toBeLessThanOrEqual(2);
  });

  it('opens at most 16 connections to one host (decisions N7)', async () => {
    const to = await receiver((socket) => {
      waiting.push(() => socket.write(answer(200)));
    });
    const waiting: (() => void)[] = [];
    const sending = sender();
    const attempts = Array.from({ length: 40 }, () =>
      sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`)),
    );
    while (to.requests.length < 40) {
      await new Promise(setImmediate);
      if (waiting.length === 16 || to.requests.length > 24) for (const go of waiting.splice(0)) go();
    }
    for (const go of waiting.splice(0)) go();
    for (const { end } of await Promise.all(attempts)) expect(end).toBe('success');
    expect(to.connections).toBe(16);
  });
});

describe('an answer', () => {
  it.each([
    [200, 'success', undefined],
    [204, 'success', undefined],
    [299, 'success', undefined],
    [301, 'failure', 'the status is 301: redirects are not followed'],
    [304, 'failure', 'the status is 304: redirects are not followed'],
    [400, 'failure', 'the status is 400'],
    [410, 'gone', 'the status is 410'],
    [500, 'failure', 'the status is 500'],
    [599, 'failure', 'the status is 599'],
  ])('of status %d is a %s (decisions N4)', async (status, end, error) => {
    const to = await receiver((socket) => void socket.write(answer(status)));
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(result).toEqual({ end, error, status, at: expect.any(Number), ms: expect.any(Number) });
  });

  it('is kept as text, up to the first KiB (decisions N4)', async () => {
    const body = `${'x'.repeat(1022)}€ and more`;
    const to = await receiver((socket) => void socket.write(answer(500, body)));
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(result.answer).toBe('x'.repeat(1022));
  });

  it('is kept without control characters and invalid UTF-8 (decisions N4)', async () => {
    const bytes = Buffer.from('a\u0000\u001b[31mb\r\n\tc\u202ed\u0085\u007f\xff', 'utf8');
    const body = Buffer.concat([bytes, Buffer.from([0xff, 0x80, 0x41])]);
    const to = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(result.answer).toBe('a[31mb\n\tcdÿ\ufffd\ufffdA');
  });

  it.each([
    [16 * 1024, 1],
    [16 * 1024 + 1, 2],
  ])(
    'of %d bytes: connections for two messages: %d, since no more than 16 KiB are read (decisions N4)',
    async (length, connections) => {
      const to = await receiver((socket) => void socket.write(answer(200, 'x'.repeat(length))));
      const sending = sender();
      for (let count = 0; count < 2; count += 1) {
        const result = await sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
        expect([result.end, result.answer]).toEqual(['success', 'x'.repeat(1024)]);
        // The connection is free once the event loop has turned.
        await new Promise(setImmediate);
      }
      expect(to.connections).toBe(connections);
    },
  );

  it.each([
    [429, '120', 120_000],
    [503, '0', 0],
    [503, '99999999999', 24 * 60 * 60 * 1000],
    [429, 'Mon, 01 Jan 2024 00:00:00 GMT', 0],
    [429, 'Fri, 01 Jan 2100 00:00:00 GMT', 24 * 60 * 60 * 1000],
    [500, '120', undefined],
    [200, '120', undefined],
    [429, '-1', undefined],
    [429, '1.5', undefined],
    [429, 'tomorrow', undefined],
    [429, 'Mon, 99 Foo 2024 99:99:99 GMT', undefined],
  ])(
    'of status %d may ask for a pause by Retry-After: %s (decisions N3)',
    async (status, value, expected) => {
      const to = await receiver((socket) => void socket.write(answer(status, '', [`Retry-After: ${value}`])));
      const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
      expect([result.status, result.retryAfter]).toEqual([status, expected]);
    },
  );

  it('may ask for a pause until a time, in ms from now (decisions N3)', async () => {
    const at = new Date(Date.now() + 3_600_000).toUTCString();
    const to = await receiver((socket) => void socket.write(answer(503, '', [`Retry-After: ${at}`])));
    const { retryAfter = 0 } = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(retryAfter).toBeLessThanOrEqual(3_600_000);
    expect(retryAfter).toBeGreaterThan(3_500_000);
  });

  const INTERIM = {
    'a 100 that was not asked for': 'HTTP/1.1 100 Continue\r\n\r\n',
    'one with headers': 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n',
    'several, with empty lines':
      'HTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.0 102 Processing\r\n\r\nHTTP/1.1 100 \r\nx: 1\r\n\r\n',
    '32 of them': 'HTTP/1.1 100 \n\n'.repeat(32),
  };
  describe.each(Object.entries(INTERIM))('may follow %s (decisions N4; RFC 9110, 15.2)', (_, interim) => {
    it.each<readonly [string, Behaviour]>([
      ['at once', (socket) => void socket.write(interim + answer(201, 'made'))],
      [
        'byte by byte',
        (socket) => {
          const text = interim + answer(201, 'made');
          let at = 0;
          const timer = setInterval(() => {
            if (at === text.length || socket.destroyed) clearInterval(timer);
            else socket.write(text.charAt(at++));
          }, 1);
        },
      ],
    ])('%s, on each connection', async (_how, behaviour) => {
      const to = await receiver(behaviour);
      const sending = sender();
      for (let count = 0; count < 3; count += 1) {
        const result = await sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
        expect(result).toMatchObject({ end: 'success', status: 201, answer: 'made' });
        await new Promise(setImmediate);
      }
      expect(to.connections).toBe(1);
    });
  });

  it('may follow interim answers of 16 KB (decisions N4)', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nx: \r\n\r\n';
    const long = interim.replace('x: ', `x: ${'y'.repeat(16 * 1024 - interim.length)}`);
    const to = await receiver((socket) => void socket.write(long + answer(200, 'made')));
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(result).toMatchObject({ end: 'success', status: 200, answer: 'made' });
  });

  it('may be sent before the request (decisions N4)', async () => {
    const onConnection = (socket: Socket): void => void socket.write(INTERIM['a 100 that was not asked for']);
    const to = await receiver(accepting, { onConnection });
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    expect(result).toMatchObject({ end: 'success', status: 200 });
  });

  it('of status 101 says that it is one (decisions N4)', async () => {
    const to = await receiver((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    });
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    const error = 'the status is 101: no change of protocol was asked for';
    expect(result).toMatchObject({ end: 'failure', status: 101, error });
  });

  it('may have a body that looks like an interim answer (decisions N4)', async () => {
    const body = 'HTTP/1.1 100 Continue\r\n\r\n';
    const to = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      setTimeout(() => socket.write(body), 20);
    });
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    // Line ends are kept, carriage returns are not.
    expect(result).toMatchObject({ end: 'success', answer: 'HTTP/1.1 100 Continue\n\n' });
  });
});
