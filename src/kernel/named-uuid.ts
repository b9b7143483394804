import { hash } from 'node:crypto';

/** UUID v5: the same for the same name in the same namespace, for ever. The namespace has 16 bytes. */
export function namedUuid(namespace: Uint8Array, name: string): string {
  const hex = hash('sha1', Buffer.concat([namespace, Buffer.from(name)]), 'hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return `${groups.join('-')}-${hex.slice(20, 32)}`;
}
