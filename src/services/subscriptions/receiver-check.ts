import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Receiver } from '../../domain/subscriptions/subscription';
import { isTemplate, namesIn, parseTemplate, type Template } from '../../domain/subscriptions/template';
import { isPosted, isUnset, type Refusals, wrong } from '../../wire/api/posted';
import { bodyProblem } from './body-check';
import { type FoundReceiver } from './fields';
import { urlFault } from './url-check';

/** What the receivers of a subscription are checked against. */
export interface ReceiverRules {
  /** Names of placeholders, the custom attribute included. */
  readonly names: readonly string[];
  /** What is wrong with host and port of a URL, if anything (`docs/decisions.md#n9`). */
  readonly addressProblem: (url: URL) => string | undefined;
}

/**
 * Checks what the table of a receiver does not: Document 2, Subscription errors, CON_270 to CON_390 and CON_440. `posted` is the
 * receiver as it was posted, `place` its path: `receivers[0]`.
 */
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
