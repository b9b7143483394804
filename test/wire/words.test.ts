import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  foldCase,
  plainWordsOf,
  queryWordsOf,
  type SearchWord,
  tokensOf,
  tooManyWords,
} from '../../src/wire/words';
import { ACCENTED, kindOf, LETTER, MARK } from '../../src/wire/letters';
import { anyCharacters } from '../support/any-characters';
import { cutWords } from '../support/oracle-words';

/** Words without marks, step by step, character by character. */
function plainWordsByTheBook(text: string): string[] {
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

/** Whether a search for a text finds another one. */
function finds(text: string, query: string): boolean {
  const tokens = new Set(tokensOf(text));
  const isFound = (word: SearchWord): boolean =>
    typeof word === 'string'
      ? tokens.has(word)
      : word.some((spelling) => spelling.every((token) => tokens.has(token)));
  return queryWordsOf(query).every(isFound);
}

/** Its parts of up to four elements. */
function partsOf(elements: readonly string[]): readonly string[] {
  const parts = elements.flatMap((_, at) => [1, 2, 3, 4].map((length) => elements.slice(at, at + length)));
  return [...new Set(parts.map((part) => part.join('')))];
}

const characters = fc.oneof(
  fc.constantFrom(...Array.from('aZ09_ -.,;:&İıßẞςΣéÅǅﬃŉ\u0301\u0345\u037e\u0130中文١𝒜Ω')),
  anyCharacters({ minLength: 1, maxLength: 1 }),
);

/** Letters of scripts whose words are as they were before scripts without spaces: all but those with two spellings. */
const OTHERS = Array.from('aZ09_ -.,;:&İıßẞςΣéçñőşẚﬃŉ½²ª\u0301\u0345\u037e\u0130١مُحَأΑΰשָ’“–™€');

describe('words of a text (decisions P4)', () => {
  it.each<[text: string, found: readonly string[], notFound: readonly string[]]>([
    [
      'ビジネスシューズ',
      ['シューズ', 'ビジネス', 'ズ', 'ビジネスシューズ', 'ｼｭｰｽﾞ'],
      ['シュース', 'ジネスー', 'ビジネスシューズズ'],
    ],
    ['ガス', ['ガ', 'ｶﾞｽ', 'カ\u3099ス'], ['カス', 'か']],
    ['東京タワー', ['タワー', '京タ', '東京', '東京タワー'], ['東タ', '東京タワーズ']],
    ['東京都と京都', ['京都', '東京都'], ['都京']],
    ['iPhone15プロ', ['iphone15', 'プロ', 'ｉＰｈｏｎｅ１５', 'プロ iphone15'], ['iphone', '15']],
    ['USB充電器 5個', ['usb', '充電', '5', '個'], ['us']],
    ['หูฟังไร้สาย', ['ไร้สาย', 'หูฟัง', 'ฟังไร้'], ['ไรสาย', 'หฟง']],
    ['สาย ๑๒', ['๑๒', 'สาย'], ['๑']],
    ['पुल', ['पुल'], ['पल', 'पु']],
    ['Йод', ['йод', 'и\u0306од'], ['иод']],
    ['Ёлка за́мок', ['елка', 'ёлка', 'замок'], ['зáмокк']],
    ['Ќош Їжак', ['ќош', 'їжак'], ['кош', 'іжак']],
    ['مُحَمَّد أحمد', ['محمد', 'محـمد', 'احمد'], ['محم']],
    ['שָׁלוֹם', ['שלום'], ['שלו']],
    ['café CAFE\u0301', ['cafe', 'CAFÉ'], ['caf']],
    ['Ελλάδα', ['ελλαδα', 'ΕΛΛΑΔΑ'], []],
    ['Việt', ['viet'], ['vie']],
    ['Kopfhörer', ['kopfhorer', 'kopfhoerer', 'KOPFHÖRER', 'kopfho\u0308rer'], ['kopfhrer']],
    ['Kopfhoerer', ['Kopfhörer', 'kopfhoerer'], ['kopfhorer']],
    ['Kopfhorer', ['Kopfhörer', 'kopfhorer'], ['kopfhoerer']],
    ['poet', ['poet', 'pöt'], ['pot']],
    ['Ølkrus', ['olkrus', 'oelkrus', 'ølkrus', 'ölkrus'], []],
    ['Ångström', ['angstrom', 'aangstroem', 'ångström'], ['angstroem']],
    ['Größe', ['groesse', 'grosse', 'GRÖSSE'], ['grose']],
    ['Æbleskiver cœur', ['aebleskiver', 'coeur', 'æbleskiver', 'CŒUR'], ['cur']],
    ['Noël naïve pingüino', ['noel', 'naive', 'pinguino', 'pingüino'], []],
    ['葛\u{e0100}飾区', ['葛飾', '葛\u{e0101}飾区'], []],
    ['1\ufe0f\u20e3 ❤\ufe0f', ['1'], []],
    ['한국어', ['한국어', '한국어'.normalize('NFD')], ['한국']],
  ])('%s is found by %j, not by %j', (text, found, notFound) => {
    for (const spelling of [text, text.normalize('NFD')]) {
      expect(found.filter((query) => !finds(spelling, query))).toEqual([]);
      expect(notFound.filter((query) => finds(spelling, query))).toEqual([]);
    }
  });

  it('are all one to four elements of a run in a row, without repetitions', () => {
    expect(tokensOf('abc ああがい')).toEqual([
      'abc',
      'あ',
      'が',
      'い',
      'ああ',
      'あが',
      'がい',
      'ああが',
      'あがい',
      'ああがい',
    ]);
    expect(queryWordsOf('東京タワー 東京 タワー Öl')).toEqual([
      [['東京タワ', '京タワー']],
      [['東京']],
      [['タワー']],
      [['ol'], ['oel']],
    ]);
    expect(tokensOf('あ'.repeat(100_000))).toHaveLength(4);
  });

  it('are those found step by step, where a script has spaces and a letter one spelling', () => {
    const others = fc.constantFrom(...OTHERS);
    fc.assert(
      fc.property(fc.array(others), (parts) => {
        const text = parts.join('');
        expect(tokensOf(text)).toEqual(plainWordsByTheBook(text));
        expect(plainWordsOf(text)).toEqual(tokensOf(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('are as they are without marks, for every other character of Latin, Greek, Hebrew and Arabic, and every symbol', () => {
    const text = Array.from({ length: 0x20000 }, (_, code) => code)
      .filter((code) => (kindOf(code) & ACCENTED) !== 0 || kindOf(code) === 0)
      .map((code) => String.fromCodePoint(code))
      .filter((one) => kindOf(one.codePointAt(0)!) !== 0 || /[^\p{L}\p{M}\p{N}\p{C}]/u.test(one))
      .filter(
        (one) => !/[øæœ\u0640\uff3f]|[aou]\p{M}*\u0308|a\u030a/u.test(one.toLowerCase().normalize('NFD')),
      )
      .join('y z');
    expect(tokensOf(text)).toEqual(plainWordsByTheBook(text));
  });

  it('find the text that has them, in any spelling of it; any part of a run does', () => {
    const letters = fc.oneof(
      fc.constantFrom(...Array.from('がかビジネスー東京都ไร้สายकुпйёaöøßäZ0 -\u3099\u0308あ。')),
      characters,
    );
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 30 }), fc.nat(30), fc.nat(30), (parts, from, length) => {
        const text = parts.join('');
        const query = parts.slice(from, from + length).join('');
        expect(tokensOf(text.normalize('NFD'))).toEqual(tokensOf(text.normalize('NFC')));
        expect(finds(text, text)).toBe(true);
        expect(finds(`${text} ${query} がくせい`, `${query} くせ`)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('any part of a run finds it, by whole elements', () => {
    const elements = fc.array(fc.constantFrom('が', 'か', 'ー', '東', '京', 'ร้', 'ส', 'า'), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(elements, elements, fc.nat(12), fc.nat(12), (run, other, from, length) => {
        const part = run.slice(from, from + length);
        expect(finds(`${other.join('')} x${run.join('')}y`, part.join(''))).toBe(true);
        const query = other.slice(0, 4).join('|');
        const isPart = `|${run.join('|')}|`.includes(`|${query}|`);
        expect(finds(run.join(''), other.slice(0, 4).join(''))).toBe(isPart);
      }),
    );
  });

  it('are those that the oracle of searches cuts, around each character', () => {
    const special = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code)).filter(
      (one) => /[^\p{C}]/u.test(one) && !/^(?!.\p{M})[\u3400-\u4dbf\u4e00-\ua48c\uac00-\ud7a3]/u.test(one),
    );
    const wrong = special
      .flatMap((one) => [`x${one}y`, `и${one}`, `か${one}。`])
      .filter((text) => {
        const words = cutWords(text).flatMap(({ spellings, elements }) => [
          ...spellings,
          ...partsOf(elements),
        ]);
        return words.toSorted().join() !== tokensOf(text).toSorted().join();
      });
    expect(wrong).toEqual([]);
  });

  it('may be any number in a text without ASCII', () => {
    expect(tokensOf('é。'.repeat(200_000))).toHaveLength(200_000);
  });

  it('are few enough, or the message says what counts (decisions X14)', () => {
    const kana = (count: number) =>
      Array.from({ length: count }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
    expect(tooManyWords('q', [kana(1_003), ''])).toBeUndefined();
    expect(tooManyWords('q', [kana(500), kana(500)])).toBeUndefined();
    expect(tooManyWords('q', [kana(1_005)])).toBe(
      'q has 1002 different words (each 4 letters in a row of a word in a script without spaces count as one): ' +
        'expected at most 1000',
    );
  });
});

describe('the table of letters (decisions P4)', () => {
  const all = Array.from({ length: 0x110000 }, (_, code) => code);

  it('has only what Unicode calls letters, digits and marks', () => {
    const wrong = all.filter((code) => {
      const [kind, character] = [kindOf(code), String.fromCodePoint(code)];
      if (code >= 0x20000 && code < 0x40000) return false;
      return (
        (kind & (LETTER | MARK)) !==
          (/\p{M}/u.test(character) ? MARK : /[\p{L}\p{N}_]/u.test(character) ? LETTER : 0) && kind !== 0
      );
    });
    expect(wrong).toEqual([]);
  });

  it('gives each version of Node.js the same tokens', () => {
    const hash = createHash('sha256');
    // Beyond it, no character has case or parts.
    for (let from = 0; from < 0x32000; from += 1_024) {
      const characters = all.slice(from, from + 1_024).map((code) => String.fromCodePoint(code));
      hash.update(JSON.stringify(tokensOf(characters.map((one) => `${one} x${one}y и${one} `).join(''))));
    }
    hash.update(Uint8Array.from(all, kindOf));
    expect(hash.digest('hex')).toBe('a92a1d014c16cc5625d224fa554a956ed50a73a5f2eb312301cb4d8f0aa58f34');
  });
});

describe('plain words, for names of categories', () => {
  it('are those found step by step', () => {
    fc.assert(
      fc.property(fc.array(characters), (parts) => {
        const text = parts.join('');
        expect(plainWordsOf(text)).toEqual(plainWordsByTheBook(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('are the same around every character that has case, marks or parts', () => {
    const all = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code));
    const special = all.filter((character) => /[^\p{Lo}\p{Cn}\p{Co}\p{Cs}]/u.test(character));
    const text = special.join('y z');
    expect(plainWordsOf(text)).toEqual(plainWordsByTheBook(text));
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
  ])('%j are %j, and so are those of a search (decisions P4)', (text, words) => {
    expect(plainWordsOf(text)).toEqual(words);
    expect(tokensOf(text)).toEqual(words);
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
