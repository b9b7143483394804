import { createHash } from 'node:crypto';

/** Ours alone: names under it are `<feedId>:<sourceProductId>`. */
const NAMESPACE = Buffer.from('5c9a7f2e1b4d4e0f9d3a6b8c7e1f2a30', 'hex');

/** The platform's id of an offer (`docs/decisions.md#p11`): UUID v5 of feed id and sourceProductId, stable for ever. */
export function offerId(feedId: number, sourceProductId: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(`${feedId}:${sourceProductId}`).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
