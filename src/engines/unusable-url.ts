/** A URL names no server in a way that can be used. It is not told itself: it may hold a password. */
export class UnusableUrl extends Error {
  override readonly name = 'UnusableUrl';
}
