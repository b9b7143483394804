import { createHash } from 'node:crypto';

/** What a token looks like: 40 hexadecimal digits (Document 1, Limits). */
export const TOKEN = /^[0-9a-f]{40}$/i;

/** The form in which a token is kept and looked up; upper and lower case are the same digits. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token.toLowerCase()).digest('hex');
}
