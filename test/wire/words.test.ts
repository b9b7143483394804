import fc from 'fast-check';
import { foldCase, wordsOf } from '../../src/wire/words';
import { anyCharacters } from '../support/any-characters';

/** Step by step as the decision says, character by character. */
function wordsByTheBook(text: string): string[] {
  const words = [''];
  for (const character of text.normalize('NFD')) {
    if (/\p{M}/u.test(character)) continue;
    for (const folded of caseFolded(character)) {
      if (/[\p{L}\p{N}_]/u.test(folded)) words.push(`${words.pop() ?? ''}${folded}`);
      else words.push('');
    }
  }
  return words.filter((word) => word !== '');
}

function caseFolded(character: string): string {
  if (character === 'ı') return character;
  return character.toLowerCase().toUpperCase().toLowerCase().replace('ς', 'σ');
}

const characters = fc.oneof(
  fc.constantFrom(...Array.from('aZ09_ -.,;:&İıßẞςΣéÅǅﬃŉ\u0301\u0345\u037e\u0130中文١𝒜Ω')),
  anyCharacters({ minLength: 1, maxLength: 1 }),
);

describe('words of a text (decisions P4)', () => {
  it('are those found step by step', () => {
    fc.assert(
      fc.property(fc.array(characters), (parts) => {
        const text = parts.join('');
        expect(wordsOf(text)).toEqual(wordsByTheBook(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('are the same around every character that has case, marks or parts', () => {
    const all = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code));
    const special = all.filter((character) => /[^\p{Lo}\p{Cn}\p{Co}\p{Cs}]/u.test(character));
    const text = special.join('y z');
    expect(wordsOf(text)).toEqual(wordsByTheBook(text));
  });

  it.each([
    ['Samsung Galaxy-S7 (edge)', ['samsung', 'galaxy', 's7', 'edge']],
    ['Straße STRASSE ẞ', ['strasse', 'strasse', 'ss']],
    ['Café CAFE\u0301', ['cafe', 'cafe']],
    ['ΟΔΟΣ οδος', ['οδοσ', 'οδοσ']],
    ['snake_case 4½ x²', ['snake_case', '4½', 'x²']],
    ['10,5 kg', ['10', '5', 'kg']],
    ['', []],
    ['!?', []],
  ])('%j are %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('may be any number in a text without ASCII', () => {
    expect(wordsOf('é。'.repeat(200_000))).toHaveLength(200_000);
  });
});

describe('case folding (decisions P5, X19)', () => {
  it('ignores case and keeps marks', () => {
    expect(foldCase('Größe ÉTÉ')).toBe(foldCase('GRÖSSE été'));
    expect(foldCase('été')).not.toBe(foldCase('ete'));
    expect(foldCase('é')).toBe(foldCase('e\u0301'));
    expect(foldCase('Black & White')).toBe('black & white');
  });

  it('is the same of what is folded already', () => {
    fc.assert(
      fc.property(fc.array(characters), (parts) => {
        const folded = foldCase(parts.join(''));
        expect(foldCase(folded)).toBe(folded);
      }),
    );
  });
});
