/**
 * Whether an error is that of an aborted signal. It checks the name: under Jest, Node.js throws an instance of another realm's
 * class.
 */
export function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}
