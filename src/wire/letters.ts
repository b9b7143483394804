/** What a character is to the words of a text; flags. */
export const LETTER = 1;
/** Belongs to the letter before it. */
export const MARK = 2;
/** Of a script that is written without spaces between words. */
export const UNSPACED = 4;
/** A letter whose marks are accents, or points that are mostly left out, and not part of its spelling. */
export const ACCENTED = 8;
/** A mark that only chooses how the letter before it is drawn. */
export const VARIANT = 16;

/**
 * What a code point is: the letters (with digits and `_`) and marks of Unicode 15.0, whatever version the program runs
 * with, so that every process has the same words (`docs/decisions.md#p4`). The planes of ideographs are letters
 * throughout, assigned or not; any other character is 0, as are those that Unicode has added since.
 */
export function kindOf(code: number): number {
  if (code < END) return table()[code] ?? 0;
  if (code < 0x40000) return LETTER | UNSPACED;
  return code >= 0xe0100 && code < 0xe01f0 ? MARK | VARIANT : 0;
}

/** From here on, code points are ideographs, or not in the table. */
const END = 0x20000;

/**
 * Han, kana, bopomofo and Yi, and those which Unicode's line breaking calls complex (class SA): Thai, Lao, Myanmar,
 * Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom. Without their digits.
 */
const UNSPACED_RANGES = [
  ...[0x0e01, 0x0e4f, 0x0e81, 0x0ecf, 0x0edc, 0x0edf, 0x1000, 0x103f, 0x104a, 0x108f, 0x109a, 0x109d],
  ...[0x1780, 0x17df, 0x1950, 0x19cf, 0x1a20, 0x1a7f, 0x1aa7, 0x1aa7, 0x3005, 0x3007, 0x3031, 0x3035],
  ...[0x303b, 0x303c, 0x3041, 0x312f, 0x31a0, 0x31bf, 0x31f0, 0x31ff, 0x3400, 0x4dbf, 0x4e00, 0xa48c],
  ...[0xa9e0, 0xa9ef, 0xa9fa, 0xa9fe, 0xaa60, 0xaadf, 0xf900, 0xfaff, 0x11700, 0x1172f, 0x11740, 0x11746],
  ...[0x16fe3, 0x16fe3, 0x1aff0, 0x1b16f],
];

/** Latin and Greek, Hebrew, Arabic and Syriac; with letters of mathematics and presentation forms. */
const ACCENTED_RANGES = [
  ...[0x0000, 0x02ff, 0x0370, 0x03ff, 0x0590, 0x077f, 0x0860, 0x08ff, 0x1d00, 0x1dbf, 0x1e00, 0x1fff],
  ...[0x2070, 0x209f, 0x2100, 0x218f, 0x2c60, 0x2c7f, 0xa720, 0xa7ff, 0xab30, 0xab6f, 0xfb00, 0xfdff],
  ...[0xfe70, 0xfeff, 0x1d400, 0x1d7ff],
];

/** Iota below (of Greek), grapheme joiner, Mongolian and other variation selectors, marks around symbols. */
const VARIANT_RANGES = [0x0345, 0x0345, 0x034f, 0x034f, 0x180b, 0x180f, 0x20d0, 0x20ff, 0xfe00, 0xfe0f];

let known: Uint8Array | undefined;

/** 128 KB, made when the first text needs it. */
function table(): Uint8Array {
  if (known !== undefined) return known;
  const made = new Uint8Array(END);
  fill(made, LETTER, boundsOf(LETTERS));
  fill(made, MARK, boundsOf(MARKS));
  for (const character of '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_')
    made[character.charCodeAt(0)] = LETTER;
  fill(made, UNSPACED, UNSPACED_RANGES);
  fill(made, ACCENTED, ACCENTED_RANGES);
  fill(made, VARIANT, VARIANT_RANGES);
  known = made;
  return made;
}

/** Adds a flag to those of the ranges: pairs of the first and the last code point. */
function fill(kinds: Uint8Array, flag: number, bounds: readonly number[]): void {
  for (let at = 0; at < bounds.length; at += 2)
    for (let code = bounds[at] ?? 0; code <= (bounds[at + 1] ?? -1); code += 1) {
      const kind = kinds[code] ?? 0;
      // The first two flags mark that there is something at all.
      if (flag <= MARK || kind !== 0) kinds[code] = kind | flag;
    }
}

/** Ranges as the list below has them: how many code points lie before each, and how many it has; base 36. */
function boundsOf(ranges: readonly string[]): number[] {
  const numbers = ranges.flatMap((line) => line.split(' ')).map((digits) => Number.parseInt(digits, 36));
  let at = 0;
  return numbers.map((number, index) => {
    at += number;
    return index % 2 === 0 ? at : at - 1;
  });
}

/** General categories L and N of Unicode 15.0, from U+0080 to U+1FFFF. */
const LETTERS = [
  '4q 1 7 2 1 1 3 2 1 3 1 n 1 v 1 cq 4 c e 5 7 1 1 1 3l 5 1 2 2 4 1 1 6 1 1 3 1 1 1 k 1 2b 1 3v 8 4m 1 12 2 1',
  '6 15 1z r 4 4 19 17 l a 4 2 1 2r 1 1 f 2 7 f 2 1 g 1 1 u t 2h b 1 e 17 9 2 4 1 5 m 4 1 9 1 3 1 n p 7 b 5 o',
  '1 6 h 16 1m 1i 3 1 i 1 7 a 4 a 1 g 4 8 2 2 2 m 1 7 1 1 3 4 3 1 g 1 d 2 1 3 4 c 2 6 2 1 8 6 4 2 2 m 1 7 1 2',
  '1 2 1 2 v 4 1 1 7 a 2 3 g 9 1 3 1 m 1 7 1 2 1 5 3 1 i 1 f 2 4 a 9 1 b 8 2 2 2 m 1 7 1 2 1 5 3 1 u 2 1 3 4',
  'a 1 7 b 1 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c m 1 l d i 8 1 3 1 n 1 g 3 1 q 3 2 1 2 2 4 a 8 7 1 1 4 8 1 3',
  '1 n 1 a 1 5 3 1 v 2 1 2 4 a 1 2 h 9 1 3 1 15 2 1 g 1 5 3 1 a 4 j 1 6 5 i 3 o 1 9 1 1 2 7 v a h 1c 1 2 c 7',
  '9 a 13 2 1 1 1 5 1 o 1 1 1 a 1 2 9 1 2 5 1 1 9 a 2 4 w 1 v k c 8 1 10 r 5 37 17 k b 6 6 4 4 3 1 3 2 7 3 4',
  'd c 1 1 a 6 12 1 1 5 1 2 17 1 99 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v e k 3 g g',
  '2e 2 6 3 h8 2 h 1 q 5 23 3 b 7 i d j e i e d 1 3 f 1g z 1 4 1 3 a 6 a m a 6 2h 7 5 2 y 1 1 5 1y a v 13 14',
  '2 5 b 18 4 q 6 b 11 n 9 1h 17 a 6 a d 1 2l 1b h 8 3 a 15 u d 1k q 10 s a 3 1d 2 9 7 17 2 3 15 4 1 6 1 2 3',
  '1 5 5c 1s 7q 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 37 2 2 6 5 b 6 d 2t',
  '1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 1 1m k6 1o 26 m hi u vg 6d 6 4 3 2 9 1 2 12 1 1 5 1 2 1k',
  '7 1 g n 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 28 1 d1 3 p 9 7 5 2 5 4 2e 6 3 1 2i 1 4 5 17 1 2m 3 4 a w 1c g w a',
  'u 8 1 f w a 13 f 8w 534 1s h3h 1v 1a 2 7h 3 s k 1b g v 2 28 13 9 2 2v 2 1s 5 2 1 1 1 5 o g 1 3 1 4 1 n d 6',
  'a 1g e 1e s a o 6 3 1 1 2 1 12 a n p t 7 1b s b 6 5 1 p 1 15 n 3 1 8 4 a 6 n 3 1 3 1e 1 1 3 2 2 5 2 1 1 1',
  'o 3 2 b 7 3 c 6 2 6 2 6 9 7 1 7 1 17 1 e 6 37 d a 6 8mc c n 4 1d 6is a6 2 2y 12 7 c 5 5 1 1 a 1 d 1 5 1 1',
  '1 2 1 2 1 30 x a3 i 1s 2 1i 14 c 38 5 1 3r j a 7 q 6 q b 2h 3 6 2 6 2 6 2 3 z c 1 q 1 j 1 2 1 f 2 e y 3f c',
  '19 c 1l h 2 6s t 3 1d g r 4 10 9 u 5 12 a u 2 10 4 8 1 5 16 4e 2 a 6 10 4 10 4 14 8 1g c b 1 f 1 7 1 2 1 b',
  '1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n 2 v 2 12 8 9 1c j 1 2 5 x 4 q 1y 1k 4 k 2',
  '1b f 4 1 3 1 t a 9 n v 1 w w 8 1 s 6 5 g 1i a m 2 r 5 q n 7 28 21 1j 1f d 1f 7 16 c a 86 v 1 16 6 2 26 14',
  '8 m b 4 r i 1a s k n c 1h q u 1 2 2 1 d 19 w p 7 a 9 10 f a 4 1 2 1 8 z 3 1 c 1c e 4 b b 1 1 4 k b i 1 p j',
  '2 1r 7 1 1 1 4 1 f 1 a 7 1b h a b 8 2 2 2 m 1 7 1 2 1 5 3 1 i 1 c 5 4e 1h i 4 5 a 5 3 u 1c k 2 1 1 8 a 4m',
  '1b 15 4 10 1c k 1 b a 12 17 d 1 7 a 1i r l c 4 7 55 18 38 2b c 8 2 1 2 8 1 2 1 o f 1 1 1 e a 1y 8 2 13 g 1',
  '1 1 s 1 a 14 7 1 l 1 b 1a j 1 i 21 7b 9 1 11 h 1 f t 5 u 34 7 1 2 1 12 l 1 9 a 6 6 1 2 1 w e 1 7 a 8m j f',
  '1 1 d 1 y s a 2e 1 f l 17 pm 2u 33 h 5g 218 2p f ts h 6 33t g7 6nt ft 7 v 1 a 6 27 1 a 6 u i 1c g 4 c a 1',
  '7 1 l 5 j j4 2f 2x 23 5 1 1u d 1s 2 1 1 s 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 f 1 t 3 2 1 e 4 8 b0 1s4 2z 5 d',
  '3 9 7 a 4di k c k 30 p 3r 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2',
  'p 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 8 2 1e 1ds v 6 6 79 1q 42 19 a 7 2 a 4 1 8x u i 18 4 a d2 s 4 a km',
  '7 1 4 1 2 1 f 1 5h 2 9 1c 1w 7 1 4 a lz 1n 1 3 1 4 24 19 1 f 5e 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1',
  '1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h g4 d 25f a',
];

/** General category M. */
const MARKS = [
  'lc 34 7n 7 7b 19 1 1 1 2 1 2 1 1 20 b 1c l g 1 2t 7 2 6 2 2 1 4 z 1 u r 2j b 1m 9 9 1 o 4 1 9 1 3 1 5 17 3',
  '1o 8 16 o 1 x 1i 3 1 i 1 7 a 2 t 3 1k 1 1 7 2 2 2 3 9 1 a 2 q 1 2 3 1k 1 1 5 4 2 2 3 3 1 u 2 3 1 b 3 1k 1',
  '1 8 1 3 1 3 k 2 m 6 1 3 1k 1 1 7 2 2 2 3 7 3 a 2 u 1 1n 5 3 3 1 4 9 1 14 5 1j 1 1 7 1 3 1 4 7 2 b 2 t 3 1k',
  '1 1 7 1 3 1 4 7 2 b 2 f 1 c 4 1j 2 1 7 1 3 1 4 9 1 a 2 t 3 1y 1 4 6 1 1 1 8 i 2 1p 1 2 7 c 8 2q 1 2 9 b 7',
  '21 2 r 1 1 1 1 1 4 2 1d k 1 2 5 b 1 10 9 1 2s k n 4 4 3 1 3 2 7 3 4 d c 1 1 a 4 jj 3 qa 4 s 3 t 2 u 2 1s w',
  '9 1 19 3 1 1 39 2 y 1 3a c 4 c 63 5 1l a 1 t 2 1 1c v 1d 5 1b h 12 9 c 3 u d 1k e 1c k 48 3 1 l 4 1 6 1 2',
  '3 5i 1s k0 x 2da 3 3x 1 2o w fe 6 2x 2 n9w 4 1 a w 2 28 2 7k 1 3 1 4 1 n 5 4 1 2b 2 1e i q i d 1 12 8 p d',
  '18 4 1b e 10 1 1v e c 1 8 2 19 3 1e 1 1 3 2 2 5 2 1 1 15 5 5 2 6k 8 1 2 fn4 1 kh g g g r1 1 6a 1 45 5 1ae',
  '3 1 2 5 4 14 3 4 1 4l 2 fx 4 ar 2 28 3 1y b 1d 4 3e 3 1h f 15 1 2 2 a 4 19 b 7 1 1p 3 10 e g 2 18 1 c 3 1c',
  'e 8 4 1 2 2k c 6 1 2 1 4d c l 4 1j 2 1 7 2 2 2 3 9 1 a 2 2 7 3 5 5c i n 1 29 k 6j 7 2 9 r 2 2a h 2y d 2t f',
  '74 f 6t 6 1 2 2 4 1 1 1 2 3x 7 2 7 3 1 s a 14 7 1 4 8 1 9 b 1a g b9 8 1 8 2a m 1 e 3e 6 3 1 1 2 1 7 1 1 1u',
  '5 1 2 1 5 9n 4 9 2 1 1 1c 7 3 5 459 1 6 f asa 5 1n 7 t4 1 1 1j 7 4 29 1 b 2 f57 2 3mp 1a 2 n f2 5 3 6 8 8',
  '2 7 u 4 44 3 1iz 1j 4 1e 8 1 e 1 m 5 1 f 11s 7 1 h 2 7 1 2 1 5 2s 1 4g 7 af 1 1p 4 e4 4 rk 7 31 7',
];
