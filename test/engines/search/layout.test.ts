import { createHash } from 'node:crypto';
import { SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { BlobCache } from '../../../src/engines/embedded/search/storage';
import { LAYOUT_VERSION } from '../../../src/engines/embedded/store/layout';
import { indexed, MemoryBlobs, type SomeDocument } from './naive';
import { SCHEMA, idOf, append, finish } from './some-index';

describe('the bytes of an index are those of this LAYOUT_VERSION: raise LAYOUT_VERSION if they change', () => {
  const documents = (count: number): readonly SomeDocument[] =>
    Array.from({ length: count }, (_, row) => ({
      id: idOf(row),
      row,
      tokens: ['w0', `t${row % 3}`, 'シューズ'].join('\n'),
      numbers: {
        price: row * 1_000,
        ...(row === 1 ? {} : { modified: 1_700_000_000_000 + row * 60_000 }),
        stock: row % 2 === 0 ? row / 4 : -row,
        group: row % 5 === 0 ? -1 : row,
        brand: 7,
      },
    }));

  test('of a small segment', () => {
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    append(index, 0, documents(4));
    const segment = Buffer.from(blobs.stored.get('1/pack') ?? []).toString('base64');
    expect({ LAYOUT_VERSION, segment: segment.match(/.{1,100}/g) }).toEqual({
      LAYOUT_VERSION: 10,
      segment: [
        'IwEAAFtbIjEvaWRzLzAiLDI5XSxbIjEvaWRzL2luZGV4IiwxN10sWyIxL3Rlcm1zLzAiLDQ1XSxbIjEvdGVybXMvaW5kZXgiLDE4',
        'XSxbIjEvcm93cy8wIiwyMF0sWyIxL3JhbmtzLzAiLDIwXSxbIjEvY29sdW1uL3ByaWNlLzAiLDI0XSxbIjEvb3JkZXIvcHJpY2Uv',
        'MCIsMjBdLFsiMS9jb2x1bW4vbW9kaWZpZWQvMCIsMzJdLFsiMS9jb2x1bW4vc3RvY2svMCIsMjBdLFsiMS9jb2x1bW4vZ3JvdXAv',
        'MCIsMjBdLFsiMS9tZW1iZXJzL2dyb3VwLzAiLDE5XSxbIjEvY29sdW1uL2JyYW5kLzAiLDE2XSxbIjEvaGVhZCIsNDVdXQAAATAB',
        'AgADw6QxAQMABO+9njMBAAAF8J+YgDIBAQAAAAQAAAABAAAAAAAAAAEAAAAwAAAAAAAAAAACdDACAAIBATEBAwEBMgEBAAJ3MAQA',
        'AQEBAAzjgrfjg6Xjg7zjgroEAAEBAQAAAAUAAAABAAAAAAAAAAIAAAB0MAAAAAAAAAAAAAAAAAAAAQAAAAQAAAAEAwECAAAAAAAA',
        'AAAAAAAAAQAAAAQAAAADBAECAAAAAAAAAAAAAAAAAgAAAAQAAAC5C9EHAQDpAwAAAAAAAAAAAQAAAAQAAAADBAIBAAAAAAAAgFb+',
        'vHhCBAAAAAQAAAAhvwIAwdQBAAEAAAAAAAAAAAAAAAAACMABAAAABAAAAAEEBAMAAAAAAAAAAAAA8L8BAAAABAAAAAUEAQMAAAAA',
        'AAAAAAAAAAABAAAAAwAAAAQCAQAAAAAAAAAAAAAAHEAAAAAABAAAAHsicHJlc2VudCI6eyJwcmljZSI6NH0sIm1lbWJlcnMiOnsi',
        'Z3JvdXAiOjN9fQAAADWXHsQ=',
      ],
    });
  });

  test('of a large segment, and of what is recorded', () => {
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    const added = documents(5_000).map((one) => indexed(SCHEMA, one));
    index.record([{ partition: 3, joining: [], deleted: ['x'], added }]);
    const digest = createHash('sha256');
    const digestAll = (): void => {
      for (const [name, bytes] of blobs.stored) digest.update(name).update(bytes);
    };
    digestAll();
    finish(index.build(true));
    digestAll();
    expect({ LAYOUT_VERSION, digest: digest.digest('hex') }).toEqual({
      LAYOUT_VERSION: 10,
      digest: '2ce4806a7d3c6e956fd6357ddfbb22f2303ffee08cfddd4063c7d87f2c29e44e',
    });
  });
});
