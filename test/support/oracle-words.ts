import { kindOf } from '../../src/wire/letters';

/** A word of a text: its spellings, and the elements of one in a script without spaces. */
export interface OracleWord {
  readonly spellings: readonly string[];
  readonly elements: readonly string[];
}

/**
 * Words as decision P4 has them, by properties of Unicode. Only which characters are in Unicode 15.0 is not found so.
 */
export function cutWords(text: string): readonly OracleWord[] {
  const known = cut.get(text);
  if (known !== undefined) return known;
  const words: OracleWord[] = [];
  let letters: Letter[] = [];
  const end = () => {
    if (letters.length > 0) words.push(wordOf(letters));
    letters = [];
  };
  let isOpen = false;
  const usual = text.replaceAll(/[\uff01-\uffee]/g, (one) => one.normalize('NFKC'));
  for (const character of usual.normalize('NFD')) {
    const last = letters.at(-1);
    if (kindOf(character.codePointAt(0)!) === 0) {
      end();
      isOpen = false;
    } else if (/\p{M}/u.test(character)) {
      if (last !== undefined && isOpen) last.marks += character;
    } else if (isLetter(character)) {
      if (character === '\u0640') continue;
      const isUnspaced = UNSPACED.test(character);
      if (last !== undefined && last.isUnspaced !== isUnspaced) end();
      letters.push({ base: withoutCase(character), marks: '', isUnspaced });
      isOpen = true;
    } else {
      end();
      isOpen = false;
    }
  }
  end();
  cut.set(text, words);
  return words;
}

/** Whether a word is in one of the texts, or one that begins with it. */
export function isWordIn(word: OracleWord, texts: readonly string[], begins = false): boolean {
  return texts.some((text) => {
    const words = cutWords(text);
    if (word.elements.length === 0)
      return words.some(({ spellings }) =>
        spellings.some((spelling) =>
          word.spellings.some((one) => spelling === one || (begins && spelling.startsWith(one))),
        ),
      );
    const needed = word.elements.map((_, at) => word.elements.slice(at, at + 4));
    return needed
      .slice(0, Math.max(1, word.elements.length - 3))
      .every((part) => words.some(({ elements }) => isPart(part, elements)));
  });
}

interface Letter {
  readonly base: string;
  marks: string;
  readonly isUnspaced: boolean;
}

/** Cached words of texts. */
const cut = new Map<string, readonly OracleWord[]>();

/** The planes of ideographs are letters throughout. */
function isLetter(character: string): boolean {
  return /[\p{L}\p{N}_\u{20000}-\u{3ffff}]/u.test(character);
}

const UNSPACED =
  /(?!\p{N})[\u{20000}-\u{3ffff}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Yi}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tai_Le}\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Ahom}ー〆々〱-〵〼]|[〇]/u;
const ACCENTED = /[\p{sc=Latin}\p{sc=Greek}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Common}\p{N}]/u;

function wordOf(letters: readonly Letter[]): OracleWord {
  if (letters[0]!.isUnspaced)
    return { spellings: [], elements: letters.map((one) => `${one.base}${ownMarks(one)}`.normalize('NFC')) };
  const spelled = (how: 0 | 1) =>
    letters
      .map((one) => `${spellingsOf(one)[how]}${ownMarks(one)}`)
      .join('')
      .normalize('NFC');
  return { spellings: [...new Set([spelled(0), spelled(1)])], elements: [] };
}

function spellingsOf({ base, marks }: Letter): readonly [string, string] {
  if (base === 'ø') return ['o', 'oe'];
  if (base === 'æ') return ['ae', 'ae'];
  if (base === 'œ') return ['oe', 'oe'];
  if (/^[aou]$/.test(base) && marks.includes('\u0308')) return [base, `${base}e`];
  return base === 'a' && marks.includes('\u030a') ? ['a', 'aa'] : [base, base];
}

/** The marks that belong to a letter. */
function ownMarks({ base, marks }: Letter): string {
  if (ACCENTED.test(base)) return '';
  const own = marks.replaceAll(
    /[\u0345\u034f\u180b-\u180f\u20d0-\u20ff\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu,
    '',
  );
  if (!/\p{sc=Cyrillic}/u.test(base)) return own;
  const stressed = /[гк]/.test(base) ? own : own.replaceAll(/[\u0300\u0301]/g, '');
  return base === 'е' ? stressed.replaceAll('\u0308', '') : stressed;
}

function isPart(part: readonly string[], whole: readonly string[]): boolean {
  return whole.some((_, at) => part.every((element, n) => whole[at + n] === element));
}

/** Full case folding per character; only the dotless i shares its capital with another letter. */
export function withoutCase(text: string): string {
  let folded = '';
  for (const character of text.normalize('NFD'))
    folded += character === 'ı' ? character : character.toLowerCase().toUpperCase().toLowerCase();
  return folded.normalize('NFD').replaceAll('ς', 'σ');
}
