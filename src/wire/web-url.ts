import { parsedUrl } from './parsed-url';

const SHAPE = /^https?:\/\/([^\s/?#\\]+)(?:[/?#]\S*)?$/i;

/** Hosts seen to be well-formed: feeds name few of them, a million times. */
const sound = new Set<string>();
const MOST = 10_000;

/** True for an absolute http or https URL without white space. */
export function isWebUrl(value: string): boolean {
  const authority = SHAPE.exec(value)?.[1];
  if (authority === undefined) return false;
  if (sound.has(authority)) return true;
  // After a well-formed authority, URL parsers take any path, query and fragment.
  if (parsedUrl(`http://${authority}/`) === undefined) return false;
  if (sound.size === MOST) sound.clear();
  sound.add(authority);
  return true;
}
