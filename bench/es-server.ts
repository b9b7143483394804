import { randomUUID } from 'node:crypto';

/** A read store of one's own on the server that TEST_READ_STORE names. */
export function ownStore(): { readonly server: string; readonly prefix: string; readonly url: string } {
  const server = process.env['TEST_READ_STORE'];
  if (server === undefined || server === '')
    throw new Error('TEST_READ_STORE names no server: npm run elasticsearch -- npm run bench -- es-project');
  const prefix = `bench-${randomUUID()}`;
  return { server, prefix, url: new URL(`/${prefix}`, server).href };
}
