import fc from 'fast-check';

/** Halves of surrogate pairs are no characters. */
const HALVES = { from: 0xd800, count: 0x800 } as const;

/**
 * One character, of all that there are: what fast-check's unit `binary` is, which takes a second and a table of a
 * million to begin with, in each file of tests.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - HALVES.count })
  .map((at) => String.fromCodePoint(at < HALVES.from ? at : at + HALVES.count), placeOf);

/** The way back, by which fast-check learns which texts it may begin with. */
function placeOf(character: unknown): number {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== character) throw new Error('not one character');
  return code < HALVES.from ? code : code - HALVES.count;
}

/** Texts of any characters. */
export function anyCharacters(
  lengths: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: anyCharacter });
}
