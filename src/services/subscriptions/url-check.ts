import { MAX_URL, sentUrl } from '../../domain/subscriptions/sent-url';
import { type Template } from '../../domain/subscriptions/template';
import { parsedUrl } from '../../wire/parsed-url';

/** What is wrong with the URL of a receiver: its protocol, or anything else about it. */
export interface UrlFault {
  readonly is: 'protocol' | 'syntax';
  /** Follows the field's name. */
  readonly reason: string;
}

/** Scheme, authority, and the rest of a URL. */
const PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** Stands for a placeholder: a letter is allowed wherever placeholders are. */
const SAMPLE = 'x';

/**
 * What is wrong with a URL whose placeholders may be in path, query and fragment (`docs/decisions.md#n9`, `#n10`).
 * `addressProblem` says what is wrong with its host and port, if anything.
 */
export function urlFault(
  template: Template,
  addressProblem: (url: URL) => string | undefined,
): UrlFault | undefined {
  const [first] = template;
  const beginning = first?.is === 'text' ? first.text : '';
  const scheme = SCHEME.exec(beginning)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https')
    return { is: 'protocol', reason: `its protocol is ${scheme}; expected http or https` };
  const syntax = syntaxProblem(template, addressProblem);
  return syntax === undefined ? undefined : { is: 'syntax', reason: syntax };
}

function syntaxProblem(
  template: Template,
  addressProblem: (url: URL) => string | undefined,
): string | undefined {
  const strange = template.find((part) => part.is === 'text' && /[\s\\\p{Cc}]/u.test(part.text));
  if (strange !== undefined)
    return 'it has white space, a control character or a backslash; expected it percent-encoded';
  const [whole = '', , authority = ''] = PARTS.exec(filled(template, SAMPLE)) ?? [];
  if (whole === '') return 'it is no absolute URL; expected https://host/path';
  if (authority === '') return 'it has no host; expected https://host/path';
  // With another sample, the authority is another one if a placeholder is in it.
  if (PARTS.exec(filled(template, 'y'))?.[2] !== authority || !startsWithScheme(template))
    return 'a placeholder is before its path; expected placeholders in path, query and fragment only';
  if (authority.includes('@')) return 'it has a user name or password; expected none';
  const url = parsedUrl(whole);
  if (url === undefined) return 'its host or port is malformed; expected https://host/path';
  const shortest = sentUrl(filled(template, ''))?.href.length ?? 0;
  if (shortest > MAX_URL)
    return `it has ${shortest} bytes as it is sent, without values; expected at most ${MAX_URL}`;
  return addressProblem(url);
}

function startsWithScheme([first]: Template): boolean {
  return first?.is === 'text' && /^https?:\/\//i.test(first.text);
}

/** The text with something in the place of each placeholder. */
function filled(template: Template, sample: string): string {
  return template.map((part) => (part.is === 'text' ? part.text : sample)).join('');
}
