/**
 * Undefined: the text is no URL. `URL.canParse` is not used for texts that may have other characters than those of ASCII: in
 * Node.js 20 and 22 it is false for a host with `ä`, once V8 has optimised the caller.
 */
export function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
