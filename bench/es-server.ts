import { randomUUID } from 'node:crypto';

/** A new read store on the server in TEST_READ_STORE. */
export function ownStore(): { readonly server: string; readonly prefix: string; readonly url: string } {
  const server = process.env['TEST_READ_STORE'];
  if (server === undefined || server === '')
    throw new Error('TEST_READ_STORE is not set: run npm run elasticsearch -- npm run bench -- es-project');
  const prefix = `bench-${randomUUID()}`;
  return { server, prefix, url: new URL(`/${prefix}`, server).href };
}
