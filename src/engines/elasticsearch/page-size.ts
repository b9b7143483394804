/** Documents of the first page, most of a page, and characters that a page shall have. */
const PAGE = { first: 200, most: 2_000, characters: 4_000_000 } as const;

/** How many documents to ask for after these bodies: so many as bound what an answer may hold. */
export function nextPageSize(bodies: readonly string[]): number {
  if (bodies.length === 0) return PAGE.first;
  const characters = bodies.reduce((sum, { length }) => sum + length, 0);
  return Math.min(PAGE.most, Math.max(1, Math.floor((PAGE.characters * bodies.length) / (characters + 1))));
}
