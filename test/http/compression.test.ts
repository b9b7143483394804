import { gunzipSync } from 'node:zlib';
import { Controller, Get } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Answer, ListAnswer } from '../../src/http/answer';
import { MatrixKeys } from '../../src/http/decorators';
import { Fault } from '../../src/kernel/fault';
import { INTEGER, type Keys, type KeyTable } from '../../src/wire/keys/keys';
import { jsonList, listPieces } from '../../src/wire/record/list';
import { token } from './asking-notes';
import { notesApp } from './notes-service';

const treeKeys = { count: { type: INTEGER, required: true } } as const satisfies KeyTable;

@Controller('1.0/noteTrees')
class TreesController {
  @Get()
  list(@MatrixKeys(treeKeys) { count }: Keys<typeof treeKeys>): ListAnswer {
    return new ListAnswer(async ({ view }) => ({ pieces: listPieces(jsonList(view), trees(count)) }));
  }

  @Get('refused')
  refused(): Answer {
    const faults = Array.from({ length: 50 }, (_, id) => new Fault('N_2', 400, `tree ${id} is no tree`));
    return Answer.errors(faults);
  }
}

async function* trees(count: number): AsyncGenerator<object[]> {
  for (let id = 0; id < count; id += 1) yield [{ id, text: 'A tree of notes' }];
}

let app: NestFastifyApplication;
beforeAll(async () => ({ app } = await notesApp({}, [TreesController])));
afterAll(() => app.close());

const get = (url: string, encoding?: string, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url, headers: encoding === undefined ? {} : { 'accept-encoding': encoding } });

const LONG = 'word '.repeat(400).trim().replaceAll(' ', '+');

describe('an answer from 1 KB on (decisions X80)', () => {
  it.each([
    ['JSON', `/1.0/notes.json;word=${LONG}?${token}`],
    ['XML', `/1.0/notes.xml;word=${LONG}?${token}`],
    ['CSV', `/1.0/notes.csv;word=${LONG}?${token}`],
    ['JSONP', `/1.0/notes.json;word=${LONG}?${token}&jsonp=f`],
    ['a list of one chunk', `/1.0/noteTrees;count=100?${token}`],
    ['a list of many chunks', `/1.0/noteTrees;count=20000?${token}`],
    ['a list of many chunks as JSONP', `/1.0/noteTrees;count=20000?${token}&jsonp=f`],
    ['a long answer', `/1.0/notes/all.xml?${token}`],
    ['what a post refuses', `/1.0/noteTrees/refused?${token}`],
  ])('is gzip for clients that accept it: %s', async (_, url) => {
    const plain = await get(url);
    const packed = await get(url, 'br, gzip;q=0.5');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
    for (const { headers } of [plain, packed]) expect(headers.vary).toBe('Accept, Accept-Encoding');
    expect(packed.headers['content-type']).toBe(plain.headers['content-type']);
  });

  it('is sent as it is to clients that refuse gzip', async () => {
    const { headers, body } = await get(`/1.0/notes;word=${LONG}?${token}`, 'gzip;q=0, identity');
    expect([headers['content-encoding'], body.startsWith('{"organisation"')]).toEqual([undefined, true]);
  });

  it.each([
    ['in one chunk', `/1.0/noteTrees;count=100?${token}`],
    ['in many chunks', `/1.0/noteTrees;count=20000?${token}`],
  ])('has the same headers for HEAD: %s', async (_, url) => {
    const [head, got] = [await get(url, 'gzip', 'HEAD'), await get(url, 'gzip')];
    expect(head.body).toBe('');
    for (const name of ['content-encoding', 'content-type', 'content-length', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]]);
  });
});

test('a smaller answer, and an error, are sent as they are (decisions X80)', async () => {
  for (const url of [`/1.0/notes;word=a?${token}`, `/1.0/noteTrees;count=${'9'.repeat(2_000)}?${token}`]) {
    const { headers, body } = await get(url, 'gzip');
    expect([headers['content-encoding'], body.startsWith('{')]).toEqual([undefined, true]);
  }
});
