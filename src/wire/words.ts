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

/**
 * Full case folding by the case mappings: it is the lower case of the upper case, but for `ı`, which folds to
 * itself.
 */
function folded(text: string): string {
  const fold = (part: string) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  return text.split(DOTLESS_I).map(fold).join(DOTLESS_I);
}
