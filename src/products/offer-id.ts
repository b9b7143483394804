import { hash } from 'node:crypto';

/** Ours alone: names under it are `<feedId>:<sourceProductId>`. */
const NAMESPACE = Buffer.from('5c9a7f2e1b4d4e0f9d3a6b8c7e1f2a30', 'hex');

/** The platform's id of an offer (`docs/decisions.md#p11`): UUID v5 of feed id and sourceProductId, stable for ever. */
export function offerId(feedId: number, sourceProductId: string): string {
  const name = Buffer.from(`${feedId}:${sourceProductId}`);
  const hex = hash('sha1', Buffer.concat([NAMESPACE, name]), 'hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
