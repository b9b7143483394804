import { fieldPiece, gridPiece, type Html, markup, type Piece } from '../http/html';
import { type ExampleRequest, LANGUAGES } from './examples';
import { inline, type LinkTo, markdown } from './markdown';

/** What pages show of OpenAPI 3.1. */
export interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  /** Messages that are sent to subscribers. */
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, ApiParameter>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
    readonly schemas: Readonly<Record<string, ApiSchema>>;
  };
}

export interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  /** Of a message, which has no tag: the title of its service. */
  readonly 'x-service'?: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (ApiParameter | ApiReference)[];
  readonly requestBody?: { readonly content: ApiContent };
  readonly responses: Readonly<Record<string, ApiResponse | ApiReference>>;
}

interface ApiReference {
  readonly $ref: string;
}

interface ApiParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
  readonly example?: unknown;
}

interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  readonly content?: ApiContent;
}

type ApiContent = Readonly<Record<string, { readonly schema: ApiSchema; readonly example?: unknown }>>;

interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Whom an operation can be tried as, on a server of the demonstration. */
export interface OfferedToken {
  readonly system: string;
  readonly kind: string;
  readonly owner: string;
  readonly token: string;
}

/** An operation with what surrounds it. */
export interface ShownOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
  /** The same with other formats than JSON. */
  readonly others?: ApiOperation | undefined;
  /** It is sent by the network to those who subscribe, instead of being called. */
  readonly isWebhook: boolean;
}

export interface PageContext {
  readonly document: ApiDocument;
  /** The URL of the server, for examples. */
  readonly baseUrl: string;
  readonly linkTo: LinkTo;
  readonly toError: (code: string) => string;
  /** Whether an operation may be refused with a code of its service. */
  readonly mayRaise: (operationId: string, code: string) => boolean;
  readonly offered: readonly OfferedToken[];
}

/** Alternatives, of which one is shown: as tabs that need no script. */
export function tabsPiece(id: string, legend: string, texts: readonly (readonly [string, string])[]): Html {
  const tab = ([label]: readonly [string, string], at: number) =>
    markup`<input type="radio" name="${id}" id="${id}-${at}" value="${label}" ${at === 0 && 'checked'}><label for="${id}-${at}">${label}</label>`;
  const panel = ([, text]: readonly [string, string]) => markup`<pre tabindex="0">${text}</pre>`;
  return markup`<fieldset class="tabs"><legend>${legend}</legend>${texts.map(tab)}${texts.map(panel)}</fieldset>`;
}

export function operationPiece(shown: ShownOperation, { offered, ...around }: PageContext): Html {
  const { method, path, operation, isWebhook } = shown;
  const { operationId: id, summary, description = '', deprecated } = operation;
  const keys = parametersOf(operation, around.document);
  const body = examplesOf(shown, ({ requestBody }) => requestBody?.content);
  const fold = (title: string, isOpen: boolean, inner: Piece) =>
    markup`<details class="fold" ${isOpen && 'open'}><summary>${title}</summary>${inner}</details>`;
  const place = isWebhook ? 'your receiver' : path;
  const bodyFields = fieldsIn(operation.requestBody?.content, around, isWebhook ? 'always' : 'required');
  return markup`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title"><a href="#${id}">${summary}</a></h2>
<p><span class="method">${method}</span> <code>${place}</code>${deprecated === true && markup` <span class="waiting">deprecated</span>`}</p>
${markdown(description, around.linkTo, 3)}
${!isWebhook && tabsPiece(`${id}-request`, 'Example', requestTexts(shown, around))}
${keys.length > 0 && fold(isWebhook ? 'Headers' : `Keys (${keys.length})`, keys.length <= MOST_OPEN, keysPiece(isWebhook ? 'Header' : 'Key', keys, around))}
${bodyFields.length > 0 && fold('Fields of the body', bodyFields.length <= MOST_OPEN, gridPiece(['Field', 'Type', 'Meaning'], bodyFields))}
${body.length > (isWebhook ? 0 : 1) && tabsPiece(`${id}-body`, 'Body', body)}
${answersPiece(shown, around, fold)}
${!isWebhook && tryPiece(shown, keys, body, offered)}
</section>`;
}

/** Rows up to which a table is shown unfolded. */
const MOST_OPEN = 8;

/** The target with the examples of its parameters, as a client would send it. */
function requestOf(
  { method, path, operation }: ShownOperation,
  { document, baseUrl }: PageFacts,
): ExampleRequest {
  const given = parametersOf(operation, document).filter(({ example }) => example !== undefined);
  const valueOf = (wanted: string) => encoded(given.find(({ name }) => name === wanted)?.example);
  const query = given.filter((one) => one.in === 'query').map(({ name }) => `${name}=${valueOf(name)}`);
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => valueOf(name));
  const url = `${baseUrl}${target}${query.length === 0 ? '' : `?${query.join('&')}`}`;
  const body = operation.requestBody?.content[JSON_TYPE]?.example;
  const isJson = successesOf(operation, document).some(([, { content = {} }]) => JSON_TYPE in content);
  return { method, url, isJson, ...(body === undefined ? {} : { body }) };
}

type PageFacts = Omit<PageContext, 'offered'>;

const JSON_TYPE = 'application/json';

/** Percent-encoded for a URL that stands in quotes of any kind. */
function encoded(value: unknown): string {
  const text = [value ?? ''].flat().map(String).join(',');
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2C', ',');
}

/** How an operation is called, by language. */
export function requestTexts(
  shown: ShownOperation,
  around: PageFacts,
): readonly (readonly [string, string])[] {
  const request = requestOf(shown, around);
  return Object.entries(LANGUAGES).map(([language, write]) => [language, write(request)]);
}

function parametersOf(
  { parameters = [] }: ApiOperation,
  { components }: ApiDocument,
): readonly ApiParameter[] {
  return parameters.flatMap((one) => ('$ref' in one ? (components.parameters[nameIn(one)] ?? []) : one));
}

function nameIn({ $ref }: ApiReference): string {
  return $ref.split('/').at(-1) ?? '';
}

function responsesOf(
  { responses }: ApiOperation,
  { components }: ApiDocument,
): readonly (readonly [status: string, response: ApiResponse])[] {
  return Object.entries(responses).flatMap(([status, one]) => {
    const response = '$ref' in one ? components.responses[nameIn(one)] : one;
    return response === undefined ? [] : [[status, response] as const];
  });
}

const isSuccess = (status: string): boolean => /^[123]/.test(status);

function successesOf(operation: ApiOperation, document: ApiDocument) {
  return responsesOf(operation, document).filter(([status]) => isSuccess(status));
}

/** The codes that an operation is refused with, as it is described, by status. */
export function codesOf(
  operation: ApiOperation,
  { document, mayRaise }: Pick<PageContext, 'document' | 'mayRaise'>,
): readonly (readonly [string, readonly string[]])[] {
  return responsesOf(operation, document)
    .filter(([status]) => !isSuccess(status))
    .map(([status, { description }]) => {
      const codes = new Set([...description.matchAll(/^- `([^`]+)`/gm)].map(([, code = '']) => code));
      return [status, [...codes].filter((code) => mayRaise(operation.operationId, code))];
    });
}

function keysPiece(title: string, keys: readonly ApiParameter[], { linkTo }: PageFacts): Html {
  const rows = keys.map(({ name, in: place, required, description = '', schema }) => [
    [
      markup`<code>${name}</code>`,
      required === true && markup` <span class="quiet">required</span>`,
      place === 'header' && title === 'Key' && markup` <span class="quiet">header</span>`,
    ],
    typeOf(schema),
    inline(description, linkTo),
  ]);
  return gridPiece([title, 'Type', 'Meaning'], rows);
}

/** `2..10`, `up to 10`, `from 2`. */
function rangeOf(least: number | undefined, most: number | undefined): string {
  if (least !== undefined && most !== undefined) return ` ${least} to ${most}`;
  return least === undefined ? (most === undefined ? '' : ` up to ${most}`) : ` from ${least}`;
}

function typeOf(schema: ApiSchema): string {
  const { type, format, enum: words, items, minimum, maximum, maxLength, maxItems } = schema;
  if (words !== undefined) return `one of ${words.map(String).join(', ')}`;
  if (items !== undefined)
    return `list of ${typeOf(items)}${maxItems === undefined ? '' : `, ${maxItems} at most`}`;
  const names = [type ?? 'object'].flat().filter((name) => name !== 'null');
  const isInteger = names.includes('integer') && Math.abs(maximum ?? 0) === Number.MAX_SAFE_INTEGER;
  const range = isInteger
    ? rangeOf(minimum === -Number.MAX_SAFE_INTEGER ? undefined : minimum, undefined)
    : rangeOf(minimum, maximum);
  const length = maxLength === undefined ? '' : `, ${maxLength} characters at most`;
  return `${names.join(' or ')}${format === undefined ? '' : ` (${format})`}${range}${length}`;
}

/**
 * Fields with those within them: `offers[].price`; `marked`: what marks the required ones. A record
 * within itself is listed once.
 */
function fieldsIn(
  content: ApiContent | undefined,
  { document, linkTo }: PageFacts,
  marked = 'always',
): readonly (readonly Piece[])[] {
  const rows: (readonly Piece[])[] = [];
  const visit = (schema: ApiSchema, place: string, within: readonly string[]): void => {
    const { $ref, items } = schema;
    if (items !== undefined) visit(items, `${place}[]`, within);
    const name = $ref === undefined ? undefined : nameIn({ $ref });
    if (name !== undefined && within.includes(name)) return;
    const { properties = {}, required = [] } =
      name === undefined ? schema : (document.components.schemas[name] ?? {});
    const inner = name === undefined ? within : [...within, name];
    if (name !== undefined && document.components.schemas[name]?.items !== undefined)
      visit(document.components.schemas[name], place, inner);
    for (const [field, of] of Object.entries(properties)) {
      const path = place === '' ? field : `${place}.${field}`;
      const isRequired = required.includes(field) && markup` <span class="quiet">${marked}</span>`;
      rows.push([
        [markup`<code>${path}</code>`, isRequired],
        typeOf(of),
        inline(of.description ?? '', linkTo),
      ]);
      visit(of, path, inner);
    }
  };
  const json = content?.[JSON_TYPE];
  if (json !== undefined) visit(json.schema, '', []);
  return rows;
}

/** Examples by media type, of an operation with JSON and with its other formats. */
function examplesOf(
  { operation, others }: ShownOperation,
  contentOf: (operation: ApiOperation) => ApiContent | undefined,
): readonly (readonly [string, string])[] {
  const all = { ...(others && contentOf(others)), ...contentOf(operation) };
  const given = Object.entries(all).filter(([, { example }]) => example !== undefined);
  const json = given.filter(([type]) => type === JSON_TYPE);
  return [...json, ...given.filter(([type]) => type !== JSON_TYPE)].map(([type, { example }]) => [
    type,
    typeof example === 'string' ? example : JSON.stringify(example, undefined, 2),
  ]);
}

function answersPiece(
  shown: ShownOperation,
  around: PageFacts,
  fold: (title: string, isOpen: boolean, inner: Piece) => Html,
): Html {
  const { operation, others } = shown;
  const { document, linkTo, toError } = around;
  const successes = successesOf(operation, document);
  const fields =
    successes.map(([, { content }]) => fieldsIn(content, around)).find(({ length }) => length > 0) ?? [];
  const sent = Object.entries(
    Object.assign({}, ...successes.map(([, { headers = {} }]) => headers)) as ApiResponse['headers'] & object,
  );
  const examples = examplesOf(
    shown,
    (one) => successesOf(one, document).find(([, { content }]) => content !== undefined)?.[1].content,
  );
  const refusals = codesOf(operation, around).filter(([, codes]) => codes.length > 0);
  const formats =
    others === undefined
      ? []
      : (parametersOf(others, document).find(({ name }) => name === 'extension')?.schema.enum ?? []);
  return markup`<h3>Answer</h3>
<ul>${successes.map(([status, { description }]) => markup`<li><strong>${status}</strong> ${inline(description, linkTo)}</li>`)}
${formats.length > 0 && markup`<li>Other formats: ${formats.map((one, at) => markup`${at > 0 && ', '}<code>${shown.path}.${String(one)}</code>`)}</li>`}</ul>
${
  sent.length > 0 &&
  fold(
    'Headers',
    false,
    gridPiece(
      ['Header', 'Meaning'],
      sent.map(([name, { description }]) => [markup`<code>${name}</code>`, inline(description, linkTo)]),
    ),
  )
}
${fields.length > 0 && fold('Fields of the answer', fields.length <= MOST_OPEN, gridPiece(['Field', 'Type', 'Meaning'], fields))}
${examples.length > 0 && tabsPiece(`${operation.operationId}-answer`, 'Answer', examples)}
${refusals.length > 0 && fold('Errors', false, markup`<ul>${refusals.map(([status, codes]) => markup`<li>${status === 'default' ? 'Of HTTP, and of the server' : status}: ${codes.map((code) => markup`<a href="${toError(code)}">${code}</a> `)}</li>`)}</ul>`)}`;
}

/** A form that sends the request from the page. Without a script it is not there. */
function tryPiece(
  { method, path, operation, others }: ShownOperation,
  keys: readonly ApiParameter[],
  bodies: readonly (readonly [string, string])[],
  offered: readonly OfferedToken[],
): Html {
  const { operationId: id, security = [] } = operation;
  const system = Object.keys(security[0] ?? {})[0] ?? '';
  const inPath = keys.filter((one) => one.in === 'path');
  const queried = keys.filter(
    (one) => one.in === 'query' && (one.required === true || one.example !== undefined),
  );
  const fieldOf = (one: ApiParameter) =>
    fieldPiece({
      name: `${one.in}.${one.name}`,
      label: one.name,
      value: [one.example ?? ''].flat().map(String).join(','),
      ...(one.in === 'path' ? { isRequired: true as const } : {}),
    });
  const extension = others?.parameters?.find((one) => 'name' in one && one.name === 'extension');
  const formats = extension !== undefined && 'schema' in extension ? (extension.schema.enum ?? []) : [];
  const formatChoices = [
    ['', 'json'] as const,
    ...formats.map((one) => [`.${String(one)}`, String(one)] as const),
  ];
  const [first] = bodies;
  return markup`<details class="action" hidden><summary>Try it</summary>
<form class="fields try" data-method="${method}" data-path="${path}" data-system="${system}" data-bodies="${JSON.stringify(Object.fromEntries(bodies))}">
${[...inPath, ...queried].map(fieldOf)}
${fieldPiece({ name: 'more', label: 'Other keys, such as pretty=true&limit=3' })}
${formats.length > 0 && fieldPiece({ name: 'format', label: 'Format', choices: formatChoices })}
${bodies.length > 1 && fieldPiece({ name: 'type', label: 'Type of the body', choices: bodies.map(([type]) => [type, type]) })}
${first !== undefined && fieldPiece({ name: 'body', label: 'Body', value: first[1], isLong: true })}
<label class="long" for="${id}-token">Token for ${system} <input id="${id}-token" name="token" type="password" autocomplete="off" spellcheck="false"></label>
${offered.map(({ token, owner }) => markup`<button data-token="${token}">Send as ${owner}</button>`)}
<button>Send</button>
</form><div class="answered" aria-live="polite"></div></details>`;
}
