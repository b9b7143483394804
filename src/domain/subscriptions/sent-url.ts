import { parsedUrl } from '../../wire/url';

/** Most bytes of a URL as it is sent (`docs/decisions.md#n10`). */
export const MAX_URL = 8 * 1024;

/**
 * The URL of a message as it is sent and signed: normalised, without a fragment (`docs/decisions.md#n10`). Its `href`
 * is its origin, path and query. Undefined: the text is no URL.
 */
export function sentUrl(text: string): URL | undefined {
  const url = parsedUrl(text);
  if (url === undefined) return undefined;
  // Setting a part has the URL parsed again, and few URLs need it.
  if (url.href.includes('#')) url.hash = '';
  if (url.search === '' && url.href.endsWith('?')) url.search = '';
  return url;
}
