import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { Directory } from '../../../src/network/directory';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { FingerprintCache } from '../../../src/services/products/load/fingerprint-cache';
import { type FeedFormat } from '../../../src/services/products/load/ingest/feed-body';
import { type FeedSource, loadFeed } from '../../../src/services/products/load/load-feed';
import { Loader } from '../../../src/services/products/load/loader';
import { type PostedProduct } from '../../../src/demo/products';
import { toJson, toXml } from '../../support/products';

let log: EventLog;
let folder: string;
let loader: Loader;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
  ({ log } = await openLog(join(folder, 'log.sqlite'), false));
  loader = new Loader({
    log,
    fingerprints: new FingerprintCache(SYSTEM_CLOCK, log, join(folder, 'cache')),
    spoolFolder: join(folder, 'spool'),
    directory: new Directory(),
    reached: async () => true,
    clock: SYSTEM_CLOCK,
  });
});

afterAll(async () => {
  await loader.close();
  await log.close();
  await rm(folder, { recursive: true });
});

const LAMP: PostedProduct = {
  sourceProductId: 'lamp',
  name: 'Lämp',
  description: 'A lamp',
  productUrl: 'https://shop.example/lamp',
  price: 12.5,
  productImage: { url: 'https://img.example/lamp.png' },
  categories: [{ name: 'Lamps' }],
};

let feeds = 0;

/** Loads bytes that come in pieces of this size into a new feed. */
async function load(format: FeedFormat, bytes: Buffer, size: number, more: Partial<FeedSource> = {}) {
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
  };
  const request = { feedId: (feeds += 1), mode: 'update', format, directoryPosition: START } as const;
  return await loadFeed(loader, request, { bytes: pieces(), most: 1_000_000, ...more });
}

const BODIES = { json: Buffer.from(toJson([LAMP])), xml: Buffer.from(toXml([LAMP])) };

describe('the bytes of a feed', () => {
  it.each([
    ['json', 1],
    ['json', 4096],
    ['xml', 1],
    ['xml', 4096],
  ] as const)('are %s, compressed or not, declared or recognised, in pieces of %i', async (format, size) => {
    const bytes = BODIES[format];
    for (const [given, sent] of [
      [format, bytes],
      [format, gzipSync(bytes)],
      ['any', bytes],
      ['any', gzipSync(bytes)],
      [
        'any',
        Buffer.concat([
          Buffer.from('\ufeff\r\n'),
          bytes.subarray(format === 'xml' ? bytes.indexOf('<products') : 0),
        ]),
      ],
      // Several members one after the other are one text (RFC 1952, 2.2).
      [format, Buffer.concat([gzipSync(bytes.subarray(0, 50)), gzipSync(bytes.subarray(50))])],
    ] as const)
      expect(await load(given, sent, size)).toMatchObject({ counts: { new: 1 }, faults: [] });
  });

  it.each([
    ['cut off', gzipSync(BODIES.json).subarray(0, 60), false, 'PF_210'],
    [
      'with a wrong checksum',
      Buffer.concat([gzipSync(BODIES.json).subarray(0, -8), Buffer.alloc(8)]),
      false,
      'PF_210',
    ],
    ['declared as gzip', BODIES.json, true, 'PF_210'],
    ['of one byte', Buffer.from([0x1f]), true, 'PF_210'],
    ['empty', Buffer.alloc(0), false, 'PF_210'],
    ['a bomb', gzipSync(Buffer.alloc(50_000_000, ' ')), false, '413'],
  ])('are refused if they are %s', async (_, bytes, isGzip, code) => {
    await expect(load('any', bytes, 4096, { isGzip })).rejects.toMatchObject({ code });
  });

  it('end the load if their source fails, compressed or not', async () => {
    for (const bytes of [BODIES.json, gzipSync(BODIES.json)]) {
      const failing = async function* (): AsyncGenerator<Buffer> {
        yield bytes.subarray(0, 40);
        throw new Error('the source failed');
      };
      await expect(load('json', bytes, 1, { bytes: failing() })).rejects.toThrow('the source failed');
    }
  });
});
