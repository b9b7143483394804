/** The headers of a list that is paged through by cursor, as they are described. */
export const PAGE_HEADERS = {
  'X-Total-Count': 'The number of all that match',
  'X-Next-Cursor': 'Value of cursor for the next page',
  'X-Page-Size': 'The size of the page, if the request asked for more than 1000',
} as const;

/**
 * The header that names the size of pages when a request asked for larger ones than there are (`docs/decisions.md#p3`, `#v16`,
 * `#t6`).
 */
export function pageSizeHeader(requested: number, applied: number): Readonly<Record<string, string>> {
  return requested > applied ? { 'X-Page-Size': String(applied) } : {};
}
