/** A text of at most `most` characters of UTF-16, cut between characters: half of a surrogate pair cannot be encoded. */
export function beginningOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** The same, with an ellipsis for what was cut. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${beginningOf(text, most)}…`;
}
