/**
 * The name that a text seems to be a misspelling of (`docs/decisions.md#a14`): the same but for dashes and underscores, or the
 * closest of those that are close enough. `spellings`: names by their spellings, in lower case like the text.
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
