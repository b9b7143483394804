import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { streamOf } from '../../src/http/send-stream';

const CHUNK = Buffer.alloc(64 * 1024, 'a');

/** A body of so many chunks, and what has become of it. */
function body(chunks: number): { made: number; ended: boolean; of: AsyncIterable<Uint8Array> } {
  const seen = { made: 0, ended: false };
  async function* make(): AsyncGenerator<Uint8Array> {
    try {
      for (; seen.made < chunks; seen.made += 1) {
        await turn();
        yield CHUNK;
      }
    } finally {
      seen.ended = true;
    }
  }
  return Object.assign(seen, { of: make() });
}

describe('a streamed answer', () => {
  it.each([false, true])('is all of its body (gzip: %s)', async (gzip) => {
    const sent = body(100);
    const parts: Buffer[] = [];
    for await (const part of streamOf(sent.of, { gzip, leastRate: 1 })) parts.push(part as Buffer);
    const whole = Buffer.concat(parts);
    expect((gzip ? gunzipSync(whole) : whole).equals(Buffer.concat(Array(100).fill(CHUNK)))).toBe(true);
    expect(sent.ended).toBe(true);
  });

  it.each([false, true])('is made no faster than it is taken (gzip: %s)', async (gzip) => {
    const sent = body(Infinity);
    const stream = streamOf(sent.of, { gzip, leastRate: 1 });
    await once(stream, 'readable');
    // As long as anything is being made: compressed, a chunk is a few bytes.
    for (let before = -1; before < sent.made && sent.made < 2_000;) {
      before = sent.made;
      for (let turns = 0; turns < 500; turns += 1) await turn();
    }
    if (!gzip) expect(sent.made).toBeLessThan(20);
    stream.destroy();
    await once(stream, 'close');
    while (!sent.ended) await turn();
  });

  it('is given up for a client that takes too little (decisions X52)', async () => {
    const sent = body(Infinity);
    const stream = streamOf(sent.of, { gzip: false, leastRate: 10 * 1024 * 1024, patience: 20 });
    stream.read(1);
    const [error] = (await once(stream, 'error')) as [Error];
    expect(error.name).toBe('TooSlow');
    while (!sent.ended) await turn();
  });
});
