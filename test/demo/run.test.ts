import { exampleCalls } from '../../src/demo/examples';
import { type DemoOperations, runDemo } from '../../src/demo/run';
import { demoNetwork } from '../../src/demo/network';
import { ean13 } from '../../src/demo/generate';

const NOW = new Date('2026-11-21T12:00:00Z');
const BASE_URL = 'http://127.0.0.1:3000';

/** Runs the demo on an empty system or a filled one, and records its operations. */
async function run(isEmpty: boolean) {
  const done: { what: string; at: Date; bytes: number }[] = [];
  const operations: DemoOperations = {
    isEmpty: async () => isEmpty,
    importNetwork: async (_, at) => {
      done.push({ what: 'network', at, bytes: 0 });
      return demoNetwork().tokens.map((entry, number) => ({ ...entry, token: `token-${number}` }));
    },
    load: async (feedId, body, at) => {
      done.push({ what: `feed ${feedId}`, at, bytes: Buffer.byteLength(body) });
    },
    postVoucher: async (_, posted, at) => {
      const { voucherTypeId } = posted as { voucherTypeId: number };
      done.push({ what: `voucher of type ${voucherTypeId}`, at, bytes: JSON.stringify(posted).length });
    },
  };
  return { lines: (await runDemo(operations, NOW))(BASE_URL), done };
}

describe('Running the demo', () => {
  it('imports the network, then posts all feeds, price changes and vouchers of all types in chronological order', async () => {
    const { done } = await run(true);
    expect(done.slice(0, 5).map(({ what }) => what)).toEqual([
      'network',
      'feed 1001',
      'feed 1002',
      'feed 2001',
      'feed 2002',
    ]);
    expect(done).toHaveLength(5 + 4 * 16 + 7);
    const vouchers = done.slice(5 + 4 * 16).map(({ what }) => what);
    expect(new Set(vouchers)).toEqual(new Set([1, 2, 3, 4, 5, 6].map((type) => `voucher of type ${type}`)));
    const times = done.map(({ at }) => at.getTime());
    expect(times).toEqual([...times].sort((one, other) => one - other));
  });

  it('prints each token with its owner, and example calls with the tokens', async () => {
    const { lines } = await run(true);
    expect(lines[0]).toBe('token-0  PRODUCTS  advertiser Kaufhaus Lindner');
    expect(lines[2]).toBe('token-2  PRODUCTS  publisher Preisfuchs, site Preisfuchs');
    expect(lines.filter((line) => line.includes('?token=token-2'))).toHaveLength(7);
    expect(lines.filter((line) => line.includes('?token=token-0'))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('?token=token-8'))).toHaveLength(2);
  });

  it('adds nothing to a system that is not empty', async () => {
    expect(await run(false)).toEqual({ lines: [], done: [] });
  });

  it('prints calls that can be pasted into a shell', () => {
    const calls = exampleCalls(BASE_URL, { advertiser: 'a', publisher: 'p', voucherPublisher: 'v' });
    for (const call of calls) expect(call).toMatch(/^(#.*|curl ([^'`$]|'[^']*')*)$/);
    const ean = /"ean":"(\d+)"/.exec(calls.join())?.[1] ?? '';
    expect(ean).toBe(ean13(ean.slice(0, 12)));
  });
});
