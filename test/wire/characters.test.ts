import { forbiddenCharacter, withoutForbidden } from '../../src/wire/xml/write';

/** The character ranges of XML 1.0. */
const isXmlCharacter = (code: number) =>
  code === 0x9 ||
  code === 0xa ||
  code === 0xd ||
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  code >= 0x10000;

describe('characters that XML forbids (Document 1, Conventions 9)', () => {
  it('are exactly those outside of its ranges', () => {
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const found = forbiddenCharacter(`a${String.fromCodePoint(code)}b`);
      const expected = isXmlCharacter(code) ? undefined : { index: 1, codePoint: code };
      if (found?.codePoint !== expected?.codePoint) expect(found).toEqual(expected);
    }
  });

  it.each([
    ['\ud83d', 0],
    ['\ude00', 0],
    ['ok \ude00\ud83d', 3],
    ['\ud83d\ude00\ude00', 2],
  ])('include lone surrogates: %j at %i', (text, index) => {
    expect(forbiddenCharacter(text)).toEqual({ index, codePoint: text.charCodeAt(index) });
  });

  it('are replaced where they must not be written', () => {
    expect(withoutForbidden('a\0b\ud83d\ude00\ud83d\uffff')).toBe('a\ufffdb\ud83d\ude00\ufffd\ufffd');
  });
});
