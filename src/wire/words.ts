import { type Word } from '../kernel/query';
import { ACCENTED, kindOf, LETTER, MARK, UNSPACED, VARIANT } from './letters';

/**
 * The tokens that a text is found by (`docs/decisions.md#p4`): each word in its one or two spellings, and of a run of a
 * script without spaces every one to `LONGEST` elements that stand together.
 */
export function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  let runs = 0;
  cutWords(text, tokens, {
    spelled: (plain, full) => tokens.push(plain, full),
    run(elements) {
      runs += 1;
      for (let length = 1; length <= LONGEST; length += 1)
        for (let at = 0; at + length <= elements.length; at += 1) tokens.push(partOf(elements, at, length));
    },
  });
  // Parts of runs are often repeated.
  return runs > 0 ? [...new Set(tokens)] : tokens;
}

/** A word to look for: a token, two spellings of one token each, or one of the parts of a run. */
export type SearchWord = Exclude<Word, { readonly prefixes: unknown }>;

/** The words of some texts in order, with repetitions: each as what `tokensOf` a text that has the word contains. */
export function queryWordsOf(...texts: readonly string[]): readonly SearchWord[] {
  const words: SearchWord[] = [];
  const add = {
    spelled: (plain: string, full: string) => words.push([[plain], [full]]),
    run(elements: readonly string[]) {
      const parts = new Set([partOf(elements, 0, LONGEST)]);
      for (let at = 1; at + LONGEST <= elements.length; at += 1) parts.add(partOf(elements, at, LONGEST));
      words.push([[...parts]]);
    },
  };
  for (const text of texts) cutWords(text, words, add);
  return words;
}

/** Most tokens of the words of one search (`docs/decisions.md#x14`): more take too long, and servers refuse them. */
const MOST_TOKENS = 1_000;

/** Why the values of a key are too many words to search for; undefined if they are not. */
export function tooManyWords(key: string, values: readonly string[]): string | undefined {
  const tokens = new Set(
    queryWordsOf(...values).flatMap((word) => (typeof word === 'string' ? word : word.flat())),
  );
  if (tokens.size <= MOST_TOKENS) return undefined;
  const counted = `each ${LONGEST} letters in a row of a word in a script without spaces count as one`;
  return `${key} has ${tokens.size} different words (${counted}): expected at most ${MOST_TOKENS}`;
}

/** Most elements of a run in one token. */
const LONGEST = 4;

function partOf(elements: readonly string[], at: number, length: number): string {
  return length === 1 ? (elements[at] ?? '') : elements.slice(at, at + length).join('');
}

/** Takes the words that are not simply found by themselves. */
interface Others {
  /** A word with two spellings. */
  readonly spelled: (plain: string, full: string) => void;
  /** A run of a script without spaces, by its letters, each with its marks. */
  readonly run: (elements: readonly string[]) => void;
}

/** Cuts a text into words: adds those with one spelling to `words`. */
function cutWords(text: string, words: SearchWord[], others: Others): void {
  const known = PERHAPS_UNKNOWN.test(text) ? withoutUnknown(text) : text;
  cutSegments(known.toLowerCase(), words, (segment, highest) => {
    if (highest < TABLE_END && !MARKS_IN_TABLE.test(segment)) cutByTable(segment, words, others);
    else new Cutter(words, others).cut(segment);
  });
}

/** For ASCII in lower case: 1 if the character is part of a word, 0 if it ends one. */
const IN_WORD = new Uint8Array(128);
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789_') IN_WORD[character.charCodeAt(0)] = 1;

/** Latin, Greek and Cyrillic end before it. */
const TABLE_END = 0x0530;
/** Those change the letters before them. */
const MARKS_IN_TABLE = /[\u0300-\u036f\u0483-\u0489]/;

/**
 * Adds the words in ASCII of a text in lower case, and has what else stands between ASCII and general punctuation cut
 * further. Decomposition and case folding never reach across these.
 */
function cutSegments(
  lower: string,
  words: SearchWord[],
  cut: (segment: string, highest: number) => void,
): void {
  const { length } = lower;
  let start = -1;
  let highest = 0;
  for (let at = 0; at <= length; at += 1) {
    const code = at < length ? lower.charCodeAt(at) : 0;
    if (code < 128 ? IN_WORD[code] === 0 : code >= 0x2000 && code < 0x2070) {
      if (start < 0) continue;
      const segment = lower.slice(start, at);
      if (highest < 128) words.push(segment);
      else cut(segment, highest);
      start = -1;
      highest = 0;
      continue;
    }
    if (start < 0) start = at;
    if (code > highest) highest = code;
  }
}

/** All but Latin, Cyrillic and usual symbols, where Unicode has no gaps. */
const PERHAPS_UNKNOWN = /[^\u0000-\u024f\u0400-\u052f\u2000-\u206f\u20a0-\u20bf\u2122]/;

/** A text with spaces in place of what is in no word: later versions of Unicode change the case of some of it. */
function withoutUnknown(text: string): string {
  let known = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.codePointAt(at) ?? 0;
    const next = code > 0xffff ? at + 1 : at;
    if (code >= 128 && kindOf(code) === 0 && !isWide(code)) {
      known += `${text.slice(from, at)} `;
      from = next + 1;
    }
    at = next;
  }
  return from === 0 ? text : known + text.slice(from);
}

/** Of full width or half width: what it is in the usual width decides. */
function isWide(code: number): boolean {
  return code >= 0xff01 && code <= 0xffee;
}

/** By code below `TABLE_END`: what it is folded to, and spelled in full; a space if it ends a word. */
interface FoldedLetters {
  readonly plain: readonly string[];
  readonly full: readonly string[];
}

let foldedLetters: FoldedLetters | undefined;

/** Of single characters by the general way, since none of these changes another one. */
function lettersInTable(): FoldedLetters {
  if (foldedLetters !== undefined) return foldedLetters;
  const plain = Array.from({ length: TABLE_END }, (_, code) => String.fromCharCode(code));
  const full = [...plain];
  for (let code = 128; code < TABLE_END; code += 1) {
    const words: SearchWord[] = [];
    const own = { spelled: (one: string, other: string) => words.push(one, other), run: () => undefined };
    new Cutter(words, own).cut(String.fromCharCode(code));
    const [one = ' ', other = one] = words.map(String);
    plain[code] = one;
    full[code] = other;
  }
  foldedLetters = { plain, full };
  return foldedLetters;
}

/** Cuts a text in lower case of letters in the table, without marks of their own. */
function cutByTable(segment: string, words: SearchWord[], others: Others): void {
  const letters = lettersInTable();
  let plain = '';
  let full: string | undefined;
  for (let at = 0; at <= segment.length; at += 1) {
    const code = segment.charCodeAt(at);
    const letter = letters.plain[code] ?? ' ';
    if (letter !== ' ') {
      const spelled = letters.full[code] ?? letter;
      if (full !== undefined) full += spelled;
      else if (spelled !== letter) full = plain + spelled;
      plain += letter;
      continue;
    }
    if (full !== undefined) others.spelled(plain, full);
    else if (plain !== '') words.push(plain);
    plain = '';
    full = undefined;
  }
}

/** What letters are spelled like if they cannot be typed: plain and in full. With marks see `FULL_MARKS`. */
const SPELLINGS: Readonly<Record<string, readonly [plain: string, full: string]>> = {
  ø: ['o', 'oe'],
  æ: ['ae', 'ae'],
  œ: ['oe', 'oe'],
};

/** What a letter with a mark has in addition if it is spelled in full: ä ö ü å. */
const FULL_MARKS: Readonly<Record<string, string>> = {
  'a\u0308': 'e',
  'o\u0308': 'e',
  'u\u0308': 'e',
  'a\u030a': 'a',
};

/** Full-width and half-width forms. */
const WIDE = /[\uff01-\uffee]+/g;
/** A mark that becomes a letter in upper case. */
const IOTA_BELOW = /\u0345/g;
/** Stretches an Arabic word, and means nothing. */
const TATWEEL = 'ـ';

/** Cuts any text in lower case. */
class Cutter {
  private plain = '';
  private full: string | undefined;
  private elements: string[] = [];
  /** The last letter, or empty. */
  private letter = '';

  constructor(
    private readonly words: SearchWord[],
    private readonly others: Others,
  ) {}

  cut(segment: string): void {
    const narrow = segment.replace(WIDE, (wide) => wide.normalize('NFKC'));
    for (const character of folded(narrow.normalize('NFD').replace(IOTA_BELOW, ''))) {
      const kind = kindOf(character.codePointAt(0) ?? 0);
      if ((kind & LETTER) !== 0) this.addLetter(character, kind);
      else if ((kind & MARK) !== 0) this.addMark(character, kind);
      else {
        this.end();
        this.letter = '';
      }
    }
    this.end();
  }

  private addLetter(character: string, kind: number): void {
    if (character === TATWEEL) return;
    this.letter = character;
    if ((kind & UNSPACED) !== 0) {
      if (this.plain !== '') this.end();
      this.elements.push(character);
      return;
    }
    if (this.elements.length > 0) this.end();
    const [plain, full] = SPELLINGS[character] ?? [character, character];
    if (this.full !== undefined) this.full += full;
    else if (full !== plain) this.full = this.plain + full;
    this.plain += plain;
  }

  private addMark(mark: string, kind: number): void {
    if (isAccent(this.letter, mark, kind)) {
      const more = FULL_MARKS[this.letter + mark];
      if (more !== undefined) this.full = (this.full ?? this.plain) + more;
      return;
    }
    if (this.elements.length > 0) this.elements.push((this.elements.pop() ?? '') + mark);
    else {
      this.plain += mark;
      if (this.full !== undefined) this.full += mark;
    }
  }

  private end(): void {
    if (this.elements.length > 0) this.others.run(this.elements.map((element) => element.normalize('NFC')));
    else if (this.full !== undefined && this.full !== this.plain)
      this.others.spelled(this.plain.normalize('NFC'), this.full.normalize('NFC'));
    else if (this.plain !== '') this.words.push(this.plain.normalize('NFC'));
    this.plain = '';
    this.full = undefined;
    this.elements = [];
  }
}

/** Cyrillic letters that acute and grave accents make another letter of. */
const NOT_STRESSED = 'гк';

/** Whether a mark after a letter is not part of its spelling; without a letter, none is. */
function isAccent(letter: string, mark: string, kind: number): boolean {
  const code = letter.codePointAt(0);
  if (code === undefined || (kind & VARIANT) !== 0 || (kindOf(code) & ACCENTED) !== 0) return true;
  if (code < 0x0400 || code > 0x052f) return false;
  return letter === 'е' && mark === '\u0308'
    ? true
    : (mark === '\u0300' || mark === '\u0301') && !NOT_STRESSED.includes(letter);
}

const MARKS = /\p{M}+/gu;
const WORDS = /[\p{L}\p{N}_]+/gu;

/** Words to compare names by, not for searches: without any marks, and each run of any script one word. */
export function plainWordsOf(text: string): string[] {
  const words: string[] = [];
  cutSegments(text.toLowerCase(), words, (segment) => {
    words.push(...(folded(segment.normalize('NFD').replace(MARKS, '')).match(WORDS) ?? []));
  });
  return words;
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

/**
 * A text with case ignored and marks kept (`docs/decisions.md#p5`): Unicode's full case folding (`ß` is `ss`)
 * of the decomposed text, so that what looks equal is equal.
 */
export function foldCase(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text.toLowerCase();
  return folded(text.normalize('NFD')).normalize('NFD');
}

const DOTLESS_I = 'ı';

/** Full case folding by the case mappings: the lower case of the upper case, but for `ı`, which folds to itself. */
function folded(text: string): string {
  const fold = (part: string) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  return text.split(DOTLESS_I).map(fold).join(DOTLESS_I);
}

/**
 * The name that a text seems to be a misspelling of (`docs/decisions.md#a14`): the same but for dashes and underscores,
 * or the closest of those that are close enough. `spellings`: names by their spellings, in lower case like the text.
 */
export function meantBy(
  sent: string,
  spellings: Iterable<readonly [spelling: string, name: string]>,
): string | undefined {
  const plain = sent.replace(/[_-]/g, '');
  const close = [...spellings]
    .map(([spelling, name]) => ({ name, distance: editDistance(plain, spelling), most: mostEdits(spelling) }))
    .filter(({ distance, most }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return close[0]?.name;
}

/** How many edits a misspelling of a name may have: short names differ by as many from each other. */
function mostEdits({ length }: string): number {
  return length < 4 ? 0 : length < 8 ? 1 : 2;
}

/** Letters inserted, removed, replaced, or swapped with their neighbour, that make one text of the other. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let twoBefore: readonly number[] = [];
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const edits = [
        (before[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (before[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (twoBefore[j - 2] ?? 0) + 1 : Infinity,
      ];
      row.push(Math.min(...edits));
    }
    twoBefore = before;
    before = row;
  }
  return before[b.length] ?? Infinity;
}
