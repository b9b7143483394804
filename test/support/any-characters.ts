import fc from 'fast-check';

/** Surrogates are not characters. */
const HALVES = { from: 0xd800, count: 0x800 } as const;

/** Any character. Like fast-check's unit `binary`, which costs a second and a table of a million per test file. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - HALVES.count })
  .map((at) => String.fromCodePoint(at < HALVES.from ? at : at + HALVES.count), indexOf);

/** The inverse, which fast-check needs to start from given texts. */
function indexOf(character: unknown): number {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== character) throw new Error('not one character');
  return code < HALVES.from ? code : code - HALVES.count;
}

/** Strings of any characters. */
export function anyCharacters(
  lengths: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: anyCharacter });
}
