/**
 * A link by which a publisher earns: parts such as `p(101)` behind the tracker's address, in their order; those without a
 * value are left out. Values are percent-encoded, parentheses too.
 */
export function clickLink(
  base: string,
  parts: Readonly<Record<string, string | number | undefined>>,
): string {
  const written = Object.entries(parts).map(([name, value]) =>
    value === undefined ? '' : `${name}(${encoded(String(value))})`,
  );
  return `${base}/click?${written.join('')}`;
}

function encoded(value: string): string {
  return encodeURIComponent(value).replaceAll('(', '%28').replaceAll(')', '%29');
}
