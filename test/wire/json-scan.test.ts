import fc from 'fast-check';
import { jsonProblem, repeatedMembers, spellingsIn } from '../../src/wire/json/scan';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('scanning JSON for messages', () => {
  it('finds a problem exactly where JSON.parse does not accept a text', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      'a',
      '\\',
      'n',
      '0',
      '1',
      '-',
      '.',
      'e',
      'true',
      'null',
      ' ',
      '\t',
      'ü',
    ];
    const broken = fc
      .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom(...pieces), fc.nat(2))
      .map(([text, at, piece, cut]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + cut);
      });
    fc.assert(
      fc.property(
        fc.oneof(
          broken,
          fc.json(),
          fc.array(fc.constantFrom(...pieces)).map((all) => all.join('')),
        ),
        (text) => {
          expect([text, jsonProblem(Buffer.from(text)) === undefined]).toEqual([text, isJson(text)]);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('names a byte such that everything before it may begin a JSON text', () => {
    expect(jsonProblem(Buffer.from('{"ü":[1,]}'), 100)).toEqual({
      byte: 109,
      message: 'expected a value, found ], at byte 109',
    });
    expect(jsonProblem(Buffer.from(''))?.message).toBe('expected a value, found the end, at byte 0');
    expect(jsonProblem(Buffer.from('{} 😀'))?.message).toBe('expected nothing more, found 😀, at byte 3');
  });

  it('knows how a number is spelt that parsing changes', () => {
    const text = '{"a":{"b":[0,{"c":1e400}]},"c":-1.50, "c" : 12e30}';
    expect(['a.b[1].c', 'a.b[0]', 'c', 'd'].map(spellingsIn(text))).toEqual([
      '1e400',
      undefined,
      '12e30',
      undefined,
    ]);
    expect(spellingsIn('[{"x":1},{"x":90071992547409931}]')('[1].x')).toBe('90071992547409931');
  });

  it.each([
    ['{"a":1,"b":{"a":1,"b":2},"c":[{"a":1},{"a":1}]}', []],
    ['{"a.b":1,"a":{"b":1}}', []],
    ['{"a":"\\"a\\":1"}', []],
    ['{"a":1,"b":[{"c":1},{"c":1,"d":2,"c":3}],"a":2}', ['b[1].c', 'a']],
    [String.raw`\ufeff{"a":1, "\u0061" :1}`.replace(String.raw`\ufeff`, '\ufeff'), ['a']],
  ])('names the members that their object has already: %s', (text, paths) => {
    expect(repeatedMembers(text)).toEqual(paths);
  });
});
