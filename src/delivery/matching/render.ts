import { APPEND_LIMITS } from '../../kernel/event-log';
import { type MessageRequest } from '../../domain/deliveries/delivery-events';
import { MAX_URL, sentUrl } from '../../domain/subscriptions/sent-url';
import { type Receiver, type ReceiverFormat } from '../../domain/subscriptions/subscription';
import {
  compiledBody,
  type CompiledTemplate,
  compiledUrl,
  filled,
  isTemplate,
  parseTemplate,
  sample,
  type Template,
  UnusableTemplate,
} from '../../domain/subscriptions/template';
import { type Attributes } from '../../domain/subscriptions/topic';

/** A message as it is sent, or why it cannot be. */
type RenderedMessage = { readonly request: MessageRequest } | { readonly unsendable: string };

/** Renders the messages to a receiver. */
export interface Renderer {
  (attributes: Attributes): RenderedMessage;
  /** The attributes that its messages show. */
  readonly names: ReadonlySet<string>;
}

/** Most bytes of a body (`docs/decisions.md#n10`). */
const MAX_BODY = 256 * 1024;
/**
 * UTF-16 units of a URL before it is normalised, which makes it shorter by less than the template's 2,048 characters.
 */
const MAX_URL_TEXT = 2 * MAX_URL;
/** A body in the delivery log, as JSON: an append has to hold it. */
const MAX_STORED_BODY = APPEND_LIMITS.bytes - 64 * 1024;

const CONTENT_TYPES: Readonly<Record<ReceiverFormat, string>> = {
  JSON: 'application/json; charset=utf-8',
  XML: 'application/xml; charset=utf-8',
  custom: 'text/plain; charset=utf-8',
};

/** Compiles the templates of a receiver, once for many messages. */
export function rendererOf(receiver: Receiver): Renderer {
  try {
    const path = compiledField('receiverUrl', receiver.receiverUrl, compiledUrl);
    const url = urlRenderer(path);
    if (receiver.httpMethod === 'GET')
      return renderer([path], (attributes) => {
        const rendered = url(attributes);
        return 'unsendable' in rendered ? rendered : { request: { method: 'GET', url: rendered.text } };
      });
    const { receiverBody, receiverFormat } = receiver;
    const body = compiledField('receiverBody', receiverBody, (template) =>
      compiledBody(template, receiverFormat),
    );
    return renderer([path, body], (attributes) =>
      post(url(attributes), bodyOf(body, attributes), CONTENT_TYPES[receiverFormat]),
    );
  } catch (error) {
    if (!(error instanceof UnusableTemplate)) throw error;
    const { message } = error;
    return renderer([], () => ({ unsendable: message }));
  }
}

/** As `rendererOf`, compiled when it is used first: a subscription has several, of which often one is needed. */
export function lazyRenderer(receiver: Receiver): Renderer {
  let compiled: Renderer | undefined;
  const own = (): Renderer => (compiled ??= rendererOf(receiver));
  return Object.defineProperty(((attributes) => own()(attributes)) as Renderer, 'names', {
    get: () => own().names,
  });
}

function renderer(
  templates: readonly CompiledTemplate[],
  render: (attributes: Attributes) => RenderedMessage,
): Renderer {
  const names = templates.flat().flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]));
  return Object.assign(render, { names: new Set(names) });
}

type RenderedPart = { readonly text: string } | { readonly unsendable: string };

function post(url: RenderedPart, body: RenderedPart, contentType: string): RenderedMessage {
  if ('unsendable' in url) return url;
  if ('unsendable' in body) return body;
  return { request: { method: 'POST', url: url.text, contentType, body: body.text } };
}

const URL_TOO_LONG = { unsendable: `its URL is longer than ${MAX_URL} bytes` } as const;

function urlRenderer(template: CompiledTemplate): (attributes: Attributes) => RenderedPart {
  const expected = dotSegmentsIn(sample(template, 'x'));
  return (attributes) => {
    const text = filled(template, attributes, MAX_URL_TEXT);
    if (text === undefined) return URL_TOO_LONG;
    const sent = sentUrl(text)?.href ?? text;
    if (Buffer.byteLength(sent) > MAX_URL) return URL_TOO_LONG;
    if (dotSegmentsIn(text) !== expected)
      return { unsendable: 'a value in the path of its URL is "." or "..", which would change the path' };
    return { text: sent };
  };
}

const DOT_SEGMENT = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/gi;

/** The number of segments `.` and `..` of the path, which URL parsers resolve; encoding does not prevent that. */
function dotSegmentsIn(url: string): number {
  const end = url.search(/[?#]/);
  return (end < 0 ? url : url.slice(0, end)).match(DOT_SEGMENT)?.length ?? 0;
}

/** Control characters and halves of surrogate pairs, which JSON writes as six characters. */
const SIX_IN_JSON = /[\u0000-\u001f\ud800-\udfff]/;

function bodyOf(template: CompiledTemplate, attributes: Attributes): RenderedPart {
  const text = filled(template, attributes, MAX_BODY);
  if (text === undefined || Buffer.byteLength(text) > MAX_BODY)
    return { unsendable: `its body is longer than ${MAX_BODY} bytes` };
  // Other characters take at most twice their bytes in JSON, which always fits.
  if (
    6 * text.length > MAX_STORED_BODY &&
    SIX_IN_JSON.test(text) &&
    Buffer.byteLength(JSON.stringify(text)) > MAX_STORED_BODY
  )
    return { unsendable: 'its body has too many control characters' };
  return { text };
}

function compiledField(
  field: string,
  text: string,
  compile: (template: Template) => CompiledTemplate,
): CompiledTemplate {
  try {
    const template = parseTemplate(text);
    if (!isTemplate(template)) throw new UnusableTemplate(template.reason);
    return compile(template);
  } catch (error) {
    throw error instanceof UnusableTemplate ? new UnusableTemplate(`${field}: ${error.message}`) : error;
  }
}
