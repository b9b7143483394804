/**
 * A link by which a publisher earns: parts such as `p(101)` behind the tracker's address, in their order; those without a
 * value are left out. Values are percent-encoded, parentheses too.
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
