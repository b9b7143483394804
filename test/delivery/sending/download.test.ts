import { Downloads, type DownloadOptions, type Validators } from '../../../src/delivery/sending/download';
import { AllowedAddresses } from '../../../src/delivery/sending/addresses';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { answer, sendingTo } from './receivers';

const { keep, receiver } = sendingTo();
const allowed = AllowedAddresses.parse('127.0.0.0/8');
const never = new AbortController().signal;

function downloads(options: Partial<DownloadOptions> = {}): Downloads {
  return keep(new Downloads({ clock: SYSTEM_CLOCK, allowed, most: 10_000, ...options }));
}

async function read(from: Downloads, url: string, known: Validators = {}, signal = never): Promise<string> {
  const file = await from.get(url, known, signal);
  if (file.is === 'unchanged') return 'unchanged';
  const chunks: Buffer[] = [];
  for await (const chunk of file.bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('files that are fetched (decisions P40)', () => {
  it('arrive as they are sent, with what they are recognised by', async () => {
    const server = await receiver((socket, request) => {
      const isKnown = request.includes('if-none-match: "v1"');
      socket.write(
        isKnown ? answer(304) : answer(200, 'x'.repeat(9000), ['etag: "v1"', 'last-modified: then']),
      );
    });
    const all = downloads();
    const url = `http://127.0.0.1:${server.port}/feed?key=1`;
    expect(await all.get(url, {}, never)).toMatchObject({ is: 'file', etag: '"v1"', lastModified: 'then' });
    expect((await read(all, url)).length).toBe(9000);
    expect(await read(all, url, { etag: '"v1"', lastModified: 'then' })).toBe('unchanged');
    expect(server.requests.at(-1)).toMatch(
      /^GET \/feed\?key=1 HTTP\/1.1\r\n[^]*accept-encoding: gzip[^]*if-modified-since: then/,
    );
    await server.idle();
  });

  it.each([
    ['a status', answer(500), 'the status is 500'],
    [
      'another encoding',
      answer(200, 'x', ['content-encoding: br']),
      'the content encoding is not gzip, which was asked for',
    ],
    [
      'too much',
      answer(200, 'x'.repeat(10_001)),
      'the file has more than 10000 bytes, which are the most that are read',
    ],
    [
      'a part',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf',
      'the connection was closed before the file was complete',
    ],
    [
      'a part in chunks',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
      'the connection was closed before the file was complete',
    ],
    ['nothing', '', 'the connection was closed before there was an answer'],
    ['a way to nowhere', answer(302), 'a redirect names no usable address'],
    [
      'a way to a private address',
      answer(302, '', ['location: http://10.0.0.1/x']),
      'the address is not public',
    ],
    ['a way to a file', answer(302, '', ['location: file:///etc/passwd']), 'the scheme is not http or https'],
    ['a way in circles', answer(302, '', ['location: /again']), 'more than 5 redirects, one after the other'],
  ])('are refused if the server sends %s', async (_, sent, message) => {
    const server = await receiver((socket) => void socket.end(sent));
    const failed = await read(downloads(), `http://127.0.0.1:${server.port}/secret`).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ message, isOurs: false });
    await server.idle();
  });

  it('may be elsewhere', async () => {
    const server = await receiver((socket, request) => {
      const isThere = request.startsWith('GET /there');
      socket.write(isThere ? answer(200, 'here') : answer(301, '', ['location: /there']));
    });
    expect(await read(downloads(), `http://127.0.0.1:${server.port}/`)).toBe('here');
  });

  it('have their time, and are given up when asked to', async () => {
    const server = await receiver(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
    );
    const url = `http://127.0.0.1:${server.port}/`;
    await expect(read(downloads({ answerMs: 50 }), url)).rejects.toThrow(
      'the server sent nothing for 0.05 s',
    );
    await expect(read(downloads({ totalMs: 50 }), url)).rejects.toThrow('the file did not arrive in time');
    const ending = new AbortController();
    const reading = read(downloads(), url, {}, ending.signal);
    ending.abort();
    await expect(reading).rejects.toMatchObject({ message: 'the fetch was stopped', isOurs: true });
    await server.idle();
  });

  it('wait for whoever reads them', async () => {
    const server = await receiver((socket) => void socket.write(answer(200, 'x'.repeat(5_000_000))));
    const file = await downloads({ most: 6_000_000, answerMs: 200 }).get(
      `http://127.0.0.1:${server.port}/`,
      {},
      never,
    );
    let length = 0;
    if (file.is === 'file')
      for await (const chunk of file.bytes) {
        // Longer than the server may be silent.
        if (length === 0) await SYSTEM_CLOCK.pause(400);
        length += chunk.length;
      }
    expect(length).toBe(5_000_000);
  });

  it('are not asked for at addresses that are not public', async () => {
    const all = downloads({ allowed: AllowedAddresses.none });
    for (const url of [
      'http://127.0.0.1:8080/',
      'http://10.0.0.1/',
      'http://[::1]/',
      'http://169.254.169.254/latest',
    ])
      await expect(read(all, url)).rejects.toThrow('the address is not public');
    await expect(read(all, 'http://me:secret@1.1.1.1/')).rejects.toThrow('a user or password is not allowed');
    const rebinding = downloads({ allowed: AllowedAddresses.none, resolve: async () => ['127.0.0.1'] });
    await expect(read(rebinding, 'http://shop.example/')).rejects.toThrow('the address is not public');
  });
});
