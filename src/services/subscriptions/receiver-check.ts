import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import {
  compiledBody,
  isTemplate,
  MAX_URL,
  namesIn,
  parseTemplate,
  sentUrl,
  type Template,
  UnusableTemplate,
} from '../../domain/subscriptions/template';
import { type Receiver, type ReceiverFormat } from '../../domain/subscriptions/subscription';
import { isPosted, isUnset, type Refusals, wrong } from '../../wire/api/posted';
import { parsedUrl } from '../../wire/url';
import { type FoundReceiver } from './fields';

export interface ReceiverRules {
  /** Names of placeholders, the custom attribute included. */
  readonly names: readonly string[];
  /** What is wrong with host and port of a URL, if anything (`docs/decisions.md#n9`). */
  readonly addressProblem: (url: URL) => string | undefined;
}

/** Checks what the table of a receiver does not (CON_270 to CON_390, CON_440). `place` is its path: `receivers[0]`. */
export function checkReceiver(
  found: FoundReceiver,
  { posted, place }: { readonly posted: unknown; readonly place: string },
  rules: ReceiverRules,
  refusals: Refusals,
): void {
  const { httpMethod, receiverUrl, receiverBody, receiverFormat } = found;
  const field = (name: keyof Receiver | 'receiverBody' | 'receiverFormat') => `${place}.${name}`;
  const sent = (name: string): unknown => (isPosted(posted) ? posted[name] : undefined);
  if (receiverUrl !== undefined)
    checkUrl(receiverUrl, { place: field('receiverUrl'), isPost: httpMethod === 'POST' }, rules, refusals);
  if (httpMethod === 'GET') {
    const expected = 'none where httpMethod is GET';
    for (const [name, its] of [
      ['receiverBody', fault.bodyOfGet],
      ['receiverFormat', fault.formatOfGet],
    ] as const)
      if (!isUnset(sent(name))) refusals.add(its, wrong(field(name), sent(name), expected));
    return;
  }
  if (httpMethod === 'POST') {
    const more = ' where httpMethod is POST';
    if (isUnset(sent('receiverFormat'))) refusals.missing(field('receiverFormat'), more, fault.noFormat);
    if (isUnset(sent('receiverBody'))) refusals.missing(field('receiverBody'), more);
  }
  if (receiverBody === undefined) return;
  const template = templateIn(receiverBody, field('receiverBody'), fault.bodySyntax, refusals);
  if (template === undefined) return;
  checkNames(template, field('receiverBody'), rules, refusals);
  const problem = receiverFormat && bodyProblem(template, receiverFormat);
  if (problem === undefined) return;
  const expected = `${receiverFormat} once its placeholders are replaced (${problem})`;
  refusals.add(fault.bodySyntax, wrong(field('receiverBody'), receiverBody, expected));
}

function checkUrl(
  url: string,
  { place, isPost }: { readonly place: string; readonly isPost: boolean },
  rules: ReceiverRules,
  refusals: Refusals,
): void {
  const template = templateIn(url, place, fault.urlSyntax, refusals);
  if (template === undefined) return;
  const problem = urlFault(template, rules.addressProblem);
  if (problem !== undefined) {
    const its = problem.is === 'protocol' ? fault.urlProtocol : fault.urlSyntax;
    refusals.add(its, `${place}: ${problem.reason}, got '${url.slice(0, 100)}'`);
  }
  if (isPost && namesIn(template).length > 0)
    refusals.add(
      fault.urlSyntax,
      wrong(place, url, 'no placeholders where httpMethod is POST: use receiverBody'),
    );
  checkNames(template, place, rules, refusals);
}

function templateIn(
  text: string,
  place: string,
  syntax: typeof fault.urlSyntax,
  refusals: Refusals,
): Template | undefined {
  const parsed = parseTemplate(text);
  if (isTemplate(parsed)) return parsed;
  refusals.add(syntax, `${place}: ${parsed.reason}`);
  return undefined;
}

function checkNames(template: Template, place: string, { names }: ReceiverRules, refusals: Refusals): void {
  for (const name of namesIn(template))
    if (!names.includes(name))
      refusals.add(fault.attribute, wrong(place, `\${${name}}`, `placeholders among ${names.join(', ')}`));
}

/** What is wrong with the URL of a receiver: its protocol, or anything else about it. */
interface UrlFault {
  readonly is: 'protocol' | 'syntax';
  /** Follows the field's name. */
  readonly reason: string;
}

/** Scheme, authority, and the rest of a URL. */
const PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** Stands for a placeholder: a letter is allowed wherever placeholders are. */
const SAMPLE = 'x';

/** What is wrong with a URL with placeholders in path, query and fragment (`docs/decisions.md#n9`, `#n10`). */
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

function filled(template: Template, sample: string): string {
  return template.map((part) => (part.is === 'text' ? part.text : sample)).join('');
}

/** Why a body would not be in its format whatever its values are (`docs/decisions.md#n10`), if so. */
function bodyProblem(template: Template, format: ReceiverFormat): string | undefined {
  try {
    compiledBody(template, format);
    return encodingProblem(template, format);
  } catch (error) {
    if (error instanceof UnusableTemplate) return error.message;
    throw error;
  }
}

/** Not checked when messages are made: bodies that were accepted before this check are sent as they are. */
function encodingProblem([first]: Template, format: ReceiverFormat): string | undefined {
  const beginning = first?.is === 'text' ? first.text : '';
  switch (format) {
    case 'JSON':
      return beginning.startsWith('\ufeff')
        ? 'it begins with a byte order mark, U+FEFF; expected none'
        : undefined;
    case 'XML':
      return declarationProblem(beginning);
    case 'custom':
      return undefined;
  }
}

const DECLARATION = /^\ufeff?<\?xml\s([^>]*)\?>/;

/** `xml`: the beginning of a well-formed document. */
function declarationProblem(xml: string): string | undefined {
  const declaration = DECLARATION.exec(xml)?.[1] ?? '';
  const valueOf = (name: string): string | undefined =>
    new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)["']`).exec(declaration)?.[1];
  const [version, encoding] = [valueOf('version'), valueOf('encoding')];
  if (version !== undefined && version !== '1.0')
    return `its XML declaration has version ${version}; expected 1.0`;
  if (encoding !== undefined && encoding.toUpperCase() !== 'UTF-8')
    return `its XML declaration has encoding ${encoding}; expected UTF-8, or none`;
  return undefined;
}
