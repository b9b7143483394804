/** The header that names the size of pages when a request asked for larger ones than there are (`docs/decisions.md#p3`, `#v16`, `#t6`). */
export function pageSizeHeader(requested: number, applied: number): Readonly<Record<string, string>> {
  return requested > applied ? { 'X-Page-Size': String(applied) } : {};
}
