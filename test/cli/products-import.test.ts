import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createGunzip, gzipSync } from 'node:zlib';
import { runCli } from '../../src/cli/run-cli';
import { TestApp } from '../support/app';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { cliFolder, run, type Run } from './run';

const FEED = 302;
const { fileOf, pathOf } = cliFolder();

let app: TestApp;
let server: string;
/** A shop, or a server that fails. */
let other: Server;
let respond: Parameters<typeof createServer>[1];

beforeAll(async () => {
  app = await TestApp.start({ network: smallNetwork() });
  await app.http.listen(0, '127.0.0.1');
  server = urlOf(app.http.getHttpServer());
  other = createServer((request, response) => respond?.(request, response));
  await once(other.listen(0, '127.0.0.1'), 'listening');
});

afterAll(async () => {
  other.closeAllConnections();
  other.close();
  await app.close();
});

function urlOf(one: Server): string {
  return `http://127.0.0.1:${(one.address() as AddressInfo).port}`;
}

const importing = (source: string, ...more: readonly string[]): Promise<Run> =>
  run(['products', 'import', source, '--feed', String(FEED), ...more], {
    AFFILOG_TOKEN: tokenNamed('fjord'),
    AFFILOG_SERVER: server,
  });

const HEADER = 'sourceProductId,name,description,productUrl,price,imageUrl,categories';
const row = (id: string, price = '12.50') =>
  `${id},Lykt,En lykt,https://fjord.example/1,${price},https://img.example/1.png,Lykter`;
const csv = (...rows: readonly string[]) => `${HEADER}\n${rows.join('\n')}\n`;
const RSS = `<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Fjord</title><item><g:id>a</g:id>
  <title>Lykt</title><description>En lykt</description><link>https://fjord.example/1</link><g:price>12.50 NOK</g:price>
  <g:image_link>https://img.example/1.png</g:image_link><g:product_type>Lykter</g:product_type></item></channel></rss>`;

const counts = (text: string): unknown => / (new=\d+, revised=\d+, .*)\n$/.exec(text)?.[1];
const NOTHING = 'new=0, revised=0, repriced=0, unchanged=2, removed=0, refused=0, unmapped=0';

describe('affilog products import (decisions P37)', () => {
  it('sends a file, and changes nothing when it is sent again, compressed or not', async () => {
    const file = await fileOf(csv(row('a'), row('b')), 'feed.csv');
    const first = await importing(file, '--replace');
    expect([first.code, first.out]).toEqual([
      0,
      expect.stringMatching(/^load [\da-f-]{36}: new=2, revised=0, .*, refused=0, unmapped=2\n$/),
    ]);
    expect(first.err).toMatch(/^sending the products: \d+ of \d+ KB, .*\nwaiting for the server: /);
    expect(counts((await importing(file)).out)).toBe(NOTHING);
    const packed = await fileOf(gzipSync(csv(row('a'), row('b'))), 'feed.gz');
    expect(counts((await importing(packed)).out)).toBe(NOTHING);
  });

  it('prints the faults of refused rows with line and column, stores the others, and exits with 1', async () => {
    const file = await fileOf(csv(row('a', '9.50'), row('b', '1.555')), 'feed.csv');
    const { code, out, err } = await importing(file, '--dry-run');
    expect(code).toBe(1);
    expect(out).toMatch(/^PF_\d+\tb\tline 3: /);
    expect(out).toMatch(/dry run, nothing was stored: new=0, revised=0, repriced=1, .*refused=1/);
    expect(err).toMatch(/affilog: 1 product was refused, the others would be stored\n$/);
    const json = await importing(file, '--json');
    const lines = json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      expect.objectContaining({ code: expect.stringMatching(/^PF_/) as string, sourceProductId: 'b' }),
      expect.objectContaining({ dryRun: false, counts: expect.objectContaining({ repriced: 1 }) as object }),
    ]);
    expect(json.err).toMatch(/1 product was refused, the others are stored\n$/);
  });

  it('reads columns by a mapping, a Google Merchant feed, and standard input', async () => {
    const mapped = await fileOf(csv(row('m')).replace('name', 'Navn').replace('price', 'Pris'), 'feed.csv');
    expect(counts((await importing(mapped, '--map', 'name=Navn,price=Pris')).out)).toContain('new=1');
    expect(counts((await importing(await fileOf(RSS, 'feed.xml'), '--format', 'google')).out)).toContain(
      'refused=0',
    );
    const piped = csv(row('p')).replaceAll(',', '|');
    expect(counts((await importing(await fileOf(piped, 'feed.csv'), '--separator', '|')).out)).toContain(
      'new=1',
    );
    const parts = await sentByPipe(server, [Buffer.from(csv(row('s')))]);
    expect(parts.code).toBe(0);
    expect(parts.out).toContain('new=1');
    expect(await importing(mapped, '--map', 'name')).toMatchObject({ code: 2 });
  });

  it('sends another encoding in UTF-8, by what it is named, or its byte order mark or its server says (decisions P42)', async () => {
    const text = csv(row('å', '7.00'));
    const latin1 = await fileOf(Buffer.from(text, 'latin1'), 'feed.csv');
    expect((await importing(latin1)).err).toContain('--charset');
    expect(counts((await importing(latin1, '--charset', 'windows-1252')).out)).toContain('new=1');
    expect(await importing(latin1, '--charset', 'klingon')).toMatchObject({ code: 2 });
    const zipped = await fileOf(gzipSync(Buffer.from(text, 'latin1')), 'feed.csv.gz');
    expect(counts((await importing(zipped, '--charset', 'latin1')).out)).toContain('unchanged=1');
    const broken = await fileOf(gzipSync(Buffer.from(text, 'latin1')).subarray(0, -9), 'feed.csv.gz');
    expect(await importing(broken, '--charset', 'latin1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the source cannot be decompressed') as string,
    });
    expect((await importing(latin1, '--charset', 'utf-16le')).err).toContain('the source: ');
    const utf16 = await fileOf(Buffer.from(`\ufeff${text}`, 'utf16le'), 'feed.csv');
    expect(counts((await importing(utf16)).out)).toContain('unchanged=1');
    respond = (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/csv; charset=ISO-8859-1' })
        .end(Buffer.from(text, 'latin1'));
    expect(counts((await importing(urlOf(other))).out)).toContain('unchanged=1');
  });

  it('is never ahead of a server by more than what lies in buffers, whatever the size of the file', async () => {
    const [size, most] = [128, 32].map((megabytes) => megabytes * 1024 * 1024) as [number, number];
    const [chunk] = [Buffer.from(randomBytes(192 * 1024).toString('base64'))];
    let [read, received, ahead] = [0, 0, 0];
    function* file(): Generator<Buffer> {
      for (; read < size; read += chunk.length) yield chunk;
    }
    respond = (request, response) => {
      request.pipe(createGunzip()).on('data', ({ length }: Buffer) => {
        received += length;
        ahead = Math.max(ahead, read - received);
      });
      request.on('end', () => response.writeHead(200, { 'x-load-counts': 'new=1' }).end('{"errors":[]}'));
    };
    const { code } = await sentByPipe(urlOf(other), file());
    expect([code, read >= size, ahead < most]).toEqual([0, true, true]);
  });

  it('takes a URL, and refuses one that ends before its declared length, or is not there', async () => {
    const text = csv(row('a'), row('u'));
    respond = (_, response) => response.writeHead(200, { 'content-type': 'text/csv' }).end(text);
    expect(counts((await importing(`${urlOf(other)}/feed?key=x`)).out)).toContain('new=1');
    respond = (_, response) => response.writeHead(404).end();
    expect(await importing(urlOf(other))).toMatchObject({
      code: 1,
      err: 'affilog: the source: the status is 404, expected 200\n',
    });
    const stopping = new AbortController();
    let asked = 0;
    respond = (_, response) => {
      asked += 1;
      if (asked > 1) {
        stopping.abort();
        response.destroy();
        return;
      }
      response.writeHead(200, { 'content-length': '100000' });
      response.write(text, () => response.destroy());
    };
    const cut = await run(
      ['products', 'import', urlOf(other), '--feed', String(FEED), '--replace'],
      { AFFILOG_TOKEN: tokenNamed('fjord'), AFFILOG_SERVER: server },
      { stopping },
    );
    expect([cut.code, cut.out]).toEqual([1, '']);
    expect(cut.err).toContain(
      'the source: the connection was closed before it was complete: it is sent again in 2 s',
    );
    // Nothing was removed or stored.
    respond = (_, response) => response.end(text);
    expect(counts((await importing(urlOf(other))).out)).toContain(
      'new=0, revised=0, repriced=0, unchanged=2',
    );
  });

  it('is sent again if the server has no time, and says why it is refused', async () => {
    let asked = 0;
    const file = await fileOf(csv(row('a')), 'feed.csv');
    respond = (request, response) => {
      request.resume();
      asked += 1;
      if (asked === 1) response.writeHead(503, { 'retry-after': '0' }).end('{"errors":[]}');
      else
        response
          .writeHead(200, { 'x-load-counts': 'new=1, refused=0', 'x-load-id': 'the load' })
          .end('{"errors":[]}');
    };
    const again = await importing(file, '--server', urlOf(other));
    expect([again.code, asked, again.out]).toEqual([0, 2, 'load the load: new=1, refused=0\n']);
    expect(again.err).toContain('the server answered 503: it is sent again in 0 s');
    expect(await importing(await fileOf('id;x\n1;2\n', 'feed.csv'))).toMatchObject({
      ...{ code: 1, out: '' },
      err: expect.stringContaining('PF_210: the body cannot be parsed: no column for name') as string,
    });
    const env = { AFFILOG_TOKEN: 'f'.repeat(40), AFFILOG_SERVER: server };
    const unknown = await run(['products', 'import', file, '--feed', String(FEED)], env);
    expect(unknown.code).toBe(1);
    expect(unknown.err).not.toContain('f'.repeat(40));
    expect(await run(['products', 'import', file, '--feed', '1'], {})).toMatchObject({
      code: 2,
      err: expect.stringContaining('AFFILOG_TOKEN is not set') as string,
    });
    await appendFile(pathOf('token'), tokenNamed('fjord'));
    const named = { AFFILOG_TOKEN: `@${pathOf('token')}`, AFFILOG_SERVER: server };
    await writeFile(file, csv(row('a')));
    expect((await run(['products', 'import', file, '--feed', String(FEED)], named)).code).toBe(0);
  });
});

async function sentByPipe(
  to: string,
  sent: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<{ readonly code: number; readonly out: string }> {
  const chunks: string[] = [];
  const sink = { write: (chunk: string) => chunks.push(chunk) } as unknown as NodeJS.WritableStream;
  const code = await runCli(['products', 'import', '-', '--feed', String(FEED)], {
    environment: { AFFILOG_TOKEN: tokenNamed('fjord'), AFFILOG_SERVER: to },
    stdout: sink,
    stderr: { write: () => true } as unknown as NodeJS.WritableStream,
    stdin: Readable.from(sent),
    stopSignal: () => new AbortController().signal,
    start: () => Promise.reject(new Error('unexpected start')),
    threads: false,
  });
  return { code, out: chunks.join('') };
}
