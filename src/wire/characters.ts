const NOT_IN_XML =
  /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** The first character of a text that XML 1.0 does not allow. */
export interface ForbiddenCharacter {
  /** In UTF-16 units. */
  readonly index: number;
  readonly codePoint: number;
}

/**
 * The first character that XML does not allow (Document 1, Conventions 9), lone surrogates
 * included.
 */
export function forbiddenCharacter(text: string): ForbiddenCharacter | undefined {
  const index = text.search(NOT_IN_XML);
  return index < 0 ? undefined : { index, codePoint: text.charCodeAt(index) };
}

const EVERY_ONE = new RegExp(NOT_IN_XML, 'g');

/** The text with such characters replaced by U+FFFD. */
export function withoutForbidden(text: string): string {
  return NOT_IN_XML.test(text) ? text.replace(EVERY_ONE, '\ufffd') : text;
}
