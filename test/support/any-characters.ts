import fc from 'fast-check';

/** Lone surrogates are not characters. */
const HALVES = { from: 0xd800, count: 0x800 } as const;

/**
 * Any character. Equivalent to fast-check's unit `binary`, which takes a second to build a table of a million entries in each
 * test file.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - HALVES.count })
  .map((at) => String.fromCodePoint(at < HALVES.from ? at : at + HALVES.count), indexOf);

/** The inverse mapping, which fast-check needs to shrink given values. */
function indexOf(character: unknown): number {
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
