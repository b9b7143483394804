import { ean13 } from '../../src/demo/catalogue';
import { demoLines, exampleCalls } from '../../src/demo/create-demo';
import { demoNetwork } from '../../src/demo/network';

const BASE_URL = 'http://127.0.0.1:3000';

describe('The demo', () => {
  it('prints each token with its owner, and example calls with the tokens', () => {
    const tokens = demoNetwork().tokens.map((entry, number) => ({ ...entry, token: `token-${number}` }));
    const lines = demoLines(tokens, BASE_URL);
    expect(lines[0]).toBe('token-0  PRODUCTS  advertiser Kaufhaus Lindner');
    expect(lines[2]).toBe('token-2  PRODUCTS  publisher Preisfuchs, site Preisfuchs');
    expect(lines.filter((line) => line.includes('?token=token-2'))).toHaveLength(7);
    expect(lines.filter((line) => line.includes('?token=token-0'))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('?token=token-8'))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('?token=token-11'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('?token=token-12'))).toHaveLength(1);
    expect(lines).toContain('export CONVERSION_ADVERTISER=token-10 CONVERSION_PUBLISHER=token-11');
    expect(lines).toContainEqual(
      expect.stringMatching(/^export CONVERSION_OPERATOR=token-12 OPS=token-\d+$/),
    );
    expect(lines.filter((line) => line.includes('?token=token-13'))).toHaveLength(1);
    expect(lines).toContain('export CLAIM_ADVERTISER=token-13 CLAIM_PUBLISHER=token-14');
  });

  it('prints calls that can be pasted into a shell', () => {
    const some = { advertiser: 'a', publisher: 'p', operator: 'o' };
    const tokens = { products: some, vouchers: some, conversions: some, claims: some };
    const calls = exampleCalls(BASE_URL, tokens);
    for (const call of calls) expect(call).toMatch(/^(#.*|curl ([^'`$]|'[^']*')*)$/);
    const ean = /"ean":"(\d+)"/.exec(calls.join())?.[1] ?? '';
    expect(ean).toBe(ean13(ean.slice(0, 12)));
  });
});
