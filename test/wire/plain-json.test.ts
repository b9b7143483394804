import fc from 'fast-check';
import { plainJson } from '../../src/wire/json/write';

describe('JSON in which nothing needs to be escaped', () => {
  it('is written as JSON.stringify writes it', () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.json({ stringUnit: 'grapheme', maxDepth: 4 }), (text) => {
        fc.pre(!text.includes('\\'));
        plain += 1;
        const value: unknown = JSON.parse(text);
        expect(plainJson(value)).toBe(JSON.stringify(value));
      }),
    );
    expect(plain).toBeGreaterThanOrEqual(100);
  });

  it.each(['[]', '{}', '{"":[{},[],""]}', '[-0,1.5e300,true,false,null]', '{"2":1,"1":"ü\u2028"}'])(
    'as in %s',
    (text) => {
      expect(plainJson(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(text)));
    },
  );
});
