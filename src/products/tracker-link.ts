import { clickLink } from '../wire/click-link';

/** The link by which a publisher earns: the target wrapped in the tracker's address (`docs/decisions.md#p12`). */
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
  return clickLink(trackerUrl, {
    a: parts.siteId,
    p: parts.programId,
    product: `${parts.feedId}-${parts.sourceProductId}`,
    ttid: 19,
    url: parts.target,
  });
}
