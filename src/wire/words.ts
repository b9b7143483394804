/** For ASCII in lower case: 1 if the character is part of a word, 0 if it ends one. */
const IN_WORD = new Uint8Array(128);
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789_') IN_WORD[character.charCodeAt(0)] = 1;

/**
 * The words of a text as searches compare them (`docs/decisions.md#p4`): maximal runs of letters, digits and
 * `_` after decomposition, with marks removed and case folded. In order, with repetitions.
 */
export function wordsOf(text: string): string[] {
  const lower = text.toLowerCase();
  const { length } = lower;
  const words: string[] = [];
  let start = -1;
  let plain = true;
  for (let at = 0; at <= length; at += 1) {
    const code = at < length ? lower.charCodeAt(at) : 0;
    // Decomposition and case folding never reach across an ASCII character that is not part of a word.
    if (code < 128 && IN_WORD[code] === 0) {
      if (start < 0) continue;
      const run = lower.slice(start, at);
      if (plain) words.push(run);
      else for (const word of foldedWords(run)) words.push(word);
      start = -1;
      plain = true;
      continue;
    }
    if (start < 0) start = at;
    if (code >= 128) plain = false;
  }
  return words;
}

const MARKS = /\p{M}+/gu;
const WORDS = /[\p{L}\p{N}_]+/gu;

function foldedWords(run: string): readonly string[] {
  return folded(run.normalize('NFD').replace(MARKS, '')).match(WORDS) ?? [];
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
