import { GrowingBytes } from '../../src/wire/bytes';

it('takes at most twice the memory of the bytes, also if each comes in a chunk of its own (decisions X100)', () => {
  const bytes = new GrowingBytes();
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  for (let round = 0; round < 2; round += 1) {
    for (let at = 0; at < sent.length; at += 1) bytes.add(sent.subarray(at, at + 1));
    expect(bytes.length).toBe(sent.length);
    const taken = bytes.take();
    expect(taken.equals(sent)).toBe(true);
    expect(taken.buffer.byteLength).toBeLessThanOrEqual(2 * sent.length);
    expect(bytes.take()).toHaveLength(0);
  }
});
