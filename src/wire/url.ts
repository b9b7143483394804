/**
 * Undefined: the text is no URL. `URL.canParse` is not used for texts that may have other characters than those of
 * ASCII: in Node.js 20 and 22 it is false for a host with `ä`, once V8 has optimised the caller.
 */
export function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const SHAPE = /^https?:\/\/([^\s/?#\\]+)(?:[/?#]\S*)?$/i;

/** Hosts seen to be well-formed: feeds name few of them, a million times. */
const sound = new Set<string>();
const MOST = 10_000;

/** True for an absolute http or https URL without white space. */
export function isWebUrl(value: string): boolean {
  const authority = SHAPE.exec(value)?.[1];
  if (authority === undefined) return false;
  if (sound.has(authority)) return true;
  // After a well-formed authority, URL parsers take any path, query and fragment.
  if (parsedUrl(`http://${authority}/`) === undefined) return false;
  if (sound.size === MOST) sound.clear();
  sound.add(authority);
  return true;
}

/**
 * A link by which a publisher earns: parts such as `p(101)` behind the tracker's address, in their order; those without
 * a value are left out. Values are percent-encoded, parentheses too.
 */
export function clickLink(
  base: string,
  parts: Readonly<Record<string, string | number | undefined>>,
): string {
  let link = `${base}/click?`;
  for (const [name, value] of Object.entries(parts))
    if (value !== undefined) link += `${name}(${encoded(String(value))})`;
  return link;
}

function encoded(value: string): string {
  const text = encodeURIComponent(value);
  return /[()]/.test(text) ? text.replaceAll('(', '%28').replaceAll(')', '%29') : text;
}
