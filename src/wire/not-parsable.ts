/** A malformed body: the message describes what was expected, and where. */
export class NotParsable extends Error {
  override readonly name = 'NotParsable';
}
