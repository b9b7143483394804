/** A body that is not what its format demands: the message says what was expected, and where. */
export class NotParsable extends Error {
  override readonly name = 'NotParsable';
}
