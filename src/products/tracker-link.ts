/**
 * The link by which a publisher earns (`docs/decisions.md#p12`): the target wrapped in the tracker's address. Every part
 * is percent-encoded, parentheses too.
 */
export function trackerLink(
  trackerUrl: string,
  parts: {
    readonly siteId: number | undefined;
    readonly programId: number;
    readonly feedId: number;
    readonly sourceProductId: string;
    readonly target: string;
  },
): string {
  const site = parts.siteId === undefined ? '' : `a(${parts.siteId})`;
  const product = `product(${parts.feedId}-${encoded(parts.sourceProductId)})`;
  return `${trackerUrl}/click?${site}p(${parts.programId})${product}ttid(19)url(${encoded(parts.target)})`;
}

function encoded(part: string): string {
  return encodeURIComponent(part).replaceAll('(', '%28').replaceAll(')', '%29');
}
