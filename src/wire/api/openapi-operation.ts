import { Fault, type FaultTable } from '../../kernel/fault';
import { BOOLEAN, type KeySpec, type KeyTable, TEXT } from '../keys/keys';
import { exampleOf, xmlExampleOf } from '../record/document';
import { csvExampleOf } from '../record/list';
import { type Direction } from '../record/record';
import { writeXml } from '../xml/write';
import { type Description, type OperationText, type PostedShape, type Shape } from './description';
import { errorsAsJson, errorsAsXml, httpFaultTable, openApiFaultTable } from './errors';
import { type Format, mediaTypeFor } from './format';

/** An operation: the metadata of its handler, and its description. */
export interface Operation {
  /** `GET`. */
  readonly method: string;
  /** As it is routed: `/1.0/productFeeds/:feedId`. */
  readonly path: string;
  readonly callers: readonly string[];
  readonly formats: readonly Format[];
  readonly keys: KeyTable;
  readonly text: OperationText;
}

/** The context of an operation: its service. */
interface Describing {
  readonly system: string;
  /** Examples are as of then. */
  readonly now: Date;
  readonly description: Pick<Description, 'title' | 'faults' | 'errorSchema'>;
  /** Of its error lists in XML. */
  readonly namespace: string;
}

/**
 * An operation as OpenAPI describes it: with JSON at its own path, so that generated clients have one type for an
 * answer, and with its other formats behind an extension, as texts (`docs/decisions.md#x36`).
 */
interface DescribedView {
  readonly path: string;
  readonly isJson: boolean;
  readonly formats: readonly Format[];
  readonly bodies: readonly Format[];
  readonly keys: KeyTable;
}

export function viewsOf({ path: routed, formats, keys, text }: Operation): readonly DescribedView[] {
  const path = routed.replace(/:(\w+)/g, '{$1}');
  if (!formats.includes('json')) return [{ path, isJson: true, formats, bodies: [], keys }];
  const bodies = text.body === undefined ? [] : formatsOf(text.body);
  const otherBodies = bodies.filter((format) => format !== 'json');
  const hasOthers = text.answer !== undefined || otherBodies.length > 0;
  // After a parameter, an extension would be ambiguous: it could be a part of the value.
  const others = hasOthers && !path.endsWith('}') ? formats.filter((format) => format !== 'json') : [];
  if (others.length === 0) return [{ path, isJson: true, formats: ['json'], bodies, keys }];
  const ofJson = Object.entries(keys).filter(([, { beyondJson }]) => beyondJson !== true);
  return [
    {
      path,
      isJson: true,
      formats: ['json'],
      bodies: bodies.filter((format) => format === 'json'),
      keys: Object.fromEntries(ofJson),
    },
    {
      path: `${path}.{extension}`,
      isJson: false,
      formats: others,
      bodies: otherBodies.length === 0 ? bodies : otherBodies,
      keys,
    },
  ];
}

export function describeOperation(operation: Operation, view: DescribedView, service: Describing): Json {
  const { method, callers, text } = operation;
  const { id, summary, description, body, isDeprecated } = text;
  const kinds = callers.map((kind) => `${kind}s`).join(' and ');
  const { isJson, formats } = view;
  return {
    operationId: isJson ? id : `${id}As`,
    ...(isDeprecated === undefined ? {} : { deprecated: true }),
    tags: [service.description.title],
    summary: isJson ? summary : `${summary}, as ${formats.map(nameOf).join(' or ')}`,
    description: [description, `For tokens of ${kinds}, system ${service.system}.`]
      .filter((part) => part !== undefined)
      .join('\n\n'),
    security: [{ [service.system]: [] }],
    parameters: parametersOf({
      isRead: method === 'GET',
      takesKey: method === 'POST' && text.isLoad !== true,
      hasJson: formats.includes('json'),
      extensions: isJson ? undefined : formats,
      keys: view.keys,
      text,
    }),
    ...(body === undefined ? {} : { requestBody: bodyOf(body, view, service.now) }),
    responses: {
      ...successOf(operation, view, service),
      ...errorsOf(service.description, { method, mayConflict: text.mayConflict === true }, isJson),
      ...partlyOf(text, service.now),
    },
  };
}

function nameOf(format: Format): string {
  return format === 'ics' ? 'iCalendar' : format.toUpperCase();
}

const WRITTEN = { 'X-Log-Position': 'Position of the write in the log: wait for it by X-Min-Position' };

function successOf({ method, text }: Operation, { formats }: DescribedView, service: Describing): Json {
  const { answer, status = answer === undefined ? 204 : 200, sends = {}, also = {} } = text;
  const isRead = method === 'GET';
  const success = {
    description: isRead ? 'The result.' : 'Success.',
    headers: headers({ ...(isRead ? {} : WRITTEN), ...sends }),
  };
  if (answer === undefined) return { [status]: success };
  const content = formats.map((format) => [
    mediaTypeFor(format),
    { schema: shapeIn(format, answer), ...exampleIn(format, answer, 'answered', service) },
  ]);
  const answered = { ...success, content: Object.fromEntries(content) as Json };
  const others = Object.entries(also).map(([status, description]) => [status, { ...answered, description }]);
  return { [status]: answered, ...(Object.fromEntries(others) as Json) };
}

/** A partial refusal is in one shape, which has the fields of the answer and those of an error list. */
function partlyOf({ partly, answer }: OperationText, now: Date): Json {
  if (partly === undefined || answer === undefined) return {};
  return {
    400: {
      description: `${partly} Or an error list: nothing has taken effect.`,
      headers: headers({ ...HELP, ...WRITTEN }),
      content: {
        [mediaTypeFor('json')]: {
          schema: shapeIn('json', { name: partlyNamed(answer) }),
          ...exampleIn('json', answer, 'answered', { now }),
        },
      },
    },
  };
}

/** The name of the shape of a partial refusal. */
export function partlyNamed({ name }: Shape): string {
  return `${name}OrErrors`;
}

/** The formats of a body, by its examples. */
function formatsOf({ xml, examples = {} }: PostedShape): readonly Format[] {
  return [
    'json',
    ...(xml === undefined ? [] : ['xml' as const]),
    ...(['csv', 'tsv', 'rss'] as const).filter((format) => examples[format] !== undefined),
  ];
}

function bodyOf(body: PostedShape, { bodies }: DescribedView, now: Date): Json {
  const content = bodies.map((format) => [
    mediaTypeFor(format),
    { schema: shapeIn(format, body), ...exampleIn(format, body, 'posted', { now }) },
  ]);
  return { required: body.isOptional !== true, content: Object.fromEntries(content) as Json };
}

/** An example of a body or an answer in a format; none if none is given and none can be composed. */
function exampleIn(
  format: Format,
  { examples = {}, ...shape }: Shape,
  direction: Direction,
  { now, namespace }: Pick<Describing, 'now'> & Partial<Describing>,
): Json {
  const composed = (): unknown => {
    const { kind, xml } = shape;
    if (format === 'json') return exampleOf(kind, now, direction, shape.name);
    if (format === 'csv') return csvExampleOf(shape, now);
    if (format !== 'xml') return undefined;
    if (xml !== undefined) return xmlExampleOf(kind, xml, now, direction);
    return shape.name === ERRORS.name ? writeXml(errorsAsXml([], namespace), { pretty: true }) : undefined;
  };
  const example = examples[format] ?? composed();
  return example === undefined ? {} : { example };
}

export const sharedParameters = {
  pretty: { name: 'pretty', in: 'query', description: 'Adds line breaks.', schema: BOOLEAN.schema },
  jsonp: {
    name: 'jsonp',
    in: 'query',
    description:
      'Name of a function. The answer is a script then, `application/javascript`, which calls it with the JSON ' +
      'result, the status and a message.',
    schema: { type: 'string', maxLength: 128 },
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A new key for each new request, best a UUID: the same request with the same key is executed once, and answered ' +
      'alike for 24 hours. 409 while it is in progress, 422 for another request with this key.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  minPosition: {
    name: 'X-Min-Position',
    in: 'header',
    description: 'Answers when the write of this X-Log-Position can be read, or 503 after two seconds.',
    schema: { type: 'string', pattern: '^\\d{1,19}$' },
  },
} as const;

/** The parameters of an operation: of its path, then its keys in the order of their table. */
function parametersOf({
  isRead,
  takesKey,
  hasJson,
  extensions,
  keys,
  text: { path = {}, example: ofKeys = {} },
}: {
  readonly isRead: boolean;
  readonly takesKey: boolean;
  readonly hasJson: boolean;
  /** Those that its path may have; absent for JSON, which needs none. */
  readonly extensions: readonly Format[] | undefined;
  readonly keys: KeyTable;
  readonly text: OperationText;
}): readonly Json[] {
  const isJson = extensions === undefined;
  const inPath = Object.entries(path).map(([name, { type, description, example }]) => ({
    name,
    in: 'path',
    required: true,
    description: `${description}.`,
    schema: type.schema ?? { type: 'string' },
    example,
  }));
  const extension = {
    name: 'extension',
    in: 'path',
    required: true,
    description: 'Format of the answer.',
    schema: { type: 'string', enum: extensions },
    example: extensions?.[0],
  };
  const shared = [
    'pretty',
    ...(isRead && hasJson ? ['jsonp'] : []),
    ...(isRead ? ['minPosition'] : []),
    ...(takesKey ? ['idempotencyKey'] : []),
  ];
  return [
    ...inPath,
    ...(isJson ? [] : [extension]),
    ...Object.entries(keys).map(([name, spec]) => keyParameter(name, spec, ofKeys[name])),
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** A key as a query parameter (`docs/decisions.md#a3`). */
function keyParameter(name: string, spec: KeySpec, example: unknown): Json {
  const { type, multiple, required, requiredByDefault } = spec;
  const value = type.schema ?? { type: 'string' };
  return {
    name,
    in: 'query',
    description: descriptionOf(spec),
    ...(required === true || requiredByDefault === true ? { required: true } : {}),
    ...(multiple === true ? { schema: { type: 'array', items: value } } : { schema: value }),
    ...(example === undefined ? {} : { example }),
  };
}

function descriptionOf({ type, multiple, aliases = [], description = '' }: KeySpec): string {
  const expected = type.schema === undefined && type !== TEXT ? [`Expected: ${type.expected}.`] : [];
  const list =
    multiple === true && type === TEXT
      ? ['Within a value, a comma is written `%2C`, and a percent sign `%25`.']
      : [];
  return [`${description}.`, ...expected, ...list, ...aliases.map((alias) => `Also spelt ${alias}.`)].join(
    ' ',
  );
}

export type Json = Readonly<Record<string, unknown>>;

type ServiceErrors = Pick<Description, 'faults' | 'errorSchema'>;

/** The error list of all services, as a shape. */
const ERRORS = { name: 'ErrorList' };

/**
 * The error responses of an operation by their statuses: those of the codes of its service and of tokens, and `default`
 * for the errors of HTTP itself and of the server. Not all generators know ranges such as `4XX`
 * (`docs/decisions.md#x36`).
 */
function errorsOf(
  service: ServiceErrors,
  { method, mayConflict = false }: { readonly method: string; readonly mayConflict?: boolean },
  isJson: boolean,
): Json {
  const never = method === 'GET' ? OF_WRITES.filter((status) => !(mayConflict && status === CONFLICT)) : [];
  const listed = statusesOf(service).filter((status) => !never.includes(status));
  const named = ['default' as const, ...listed].map((status) => [
    status,
    { $ref: `#/components/responses/${errorsName(service, status, isJson)}` },
  ]);
  return Object.fromEntries(named) as Json;
}

/** A conflict, and a body that is too large or of another type. */
const CONFLICT = 409;
const OF_WRITES: readonly number[] = [CONFLICT, 413, 415];

type Status = number | 'default';

/** Whoever sends no token, or not the right one, gets the first two. */
const ALWAYS = [400, 403];

/** Of methods that no operation has. */
const UNDESCRIBED = 405;

function statusesOf({ faults }: ServiceErrors): readonly number[] {
  const own = Object.values(faults).map(([, status]) => status);
  const refusals = [...ALWAYS, ...own].filter((status) => status < 500 && status !== UNDESCRIBED);
  return [...new Set(refusals)].sort((a, b) => a - b);
}

/** The name of a service's error response; operations with other formats than JSON have one that may be XML. */
function errorsName({ errorSchema }: ServiceErrors, status: Status, isJson: boolean): string {
  const [service = ''] = errorSchema.split('_');
  return `${service}${status === 'default' ? 'Other' : status}${isJson ? '' : 'As'}`;
}

/** The error responses that the operations of a service share, by name: with JSON, or with other formats. */
export function errorResponses(
  service: ServiceErrors,
  namespace: string,
  views: readonly { readonly isJson: boolean }[],
): Json {
  const kinds = new Set(views.map(({ isJson }) => isJson));
  const responses = [...statusesOf(service), 'default' as const].flatMap((status) =>
    [...kinds].map((isJson) => [
      errorsName(service, status, isJson),
      errorResponse(service, status, isJson ? undefined : namespace),
    ]),
  );
  return Object.fromEntries(responses) as Json;
}

/** The faults that operations of a service may be refused with, by their names in its tables. */
function faultsOf({ faults }: ServiceErrors): readonly (readonly [name: string, fault: Fault])[] {
  const tables: readonly (readonly [string, FaultTable])[] = [
    ['OpenApi-', openApiFaultTable],
    ['', faults],
    ['HTTP-', httpFaultTable],
  ];
  return tables.flatMap(([prefix, table]) =>
    Object.entries(table).map(([name, row]) => [`${prefix}${row[0]}-${name}`, new Fault(...row)] as const),
  );
}

/** An error list for each fault of a service, by the names that its error responses have. */
export function faultExamples(service: ServiceErrors): Json {
  const examples = faultsOf(service).map(([name, fault]) => [
    name,
    { summary: fault.message, value: errorsAsJson([fault]) },
  ]);
  return Object.fromEntries(examples) as Json;
}

/** `namespace`: of its error lists, if they may be XML. */
function errorResponse(service: ServiceErrors, wanted: Status, namespace: string | undefined): Json {
  const listed = statusesOf(service);
  const faults = faultsOf(service).filter(([, { status }]) =>
    wanted === 'default' ? !listed.includes(status) : status === wanted,
  );
  const codes = faults.map(
    ([, { code, status, message }]) =>
      `- \`${code}\`${wanted === 'default' ? ` (${status})` : ''}: ${message}`,
  );
  const list = { ...ERRORS, xml: { file: service.errorSchema } };
  const examples = faults.map(([name]) => [name, { $ref: `#/components/examples/${name}` }]);
  const first = faults.slice(0, 1).map(([, fault]) => fault);
  const summary =
    wanted === 'default'
      ? 'An error of HTTP, or of the server, which it is harmless to repeat. The answer is an error list. Its ' +
        'codes, with their status:'
      : 'The request was refused, or a part of it. The answer is an error list. Its codes:';
  return {
    description: `${summary}\n\n${codes.join('\n')}`,
    headers: headers(wanted === 'default' ? OTHER_HEADERS : REFUSAL_HEADERS),
    content: {
      [mediaTypeFor('json')]: {
        schema: shapeIn('json', list),
        examples: Object.fromEntries(examples) as Json,
      },
      ...(namespace === undefined
        ? {}
        : {
            [mediaTypeFor('xml')]: {
              schema: shapeIn('xml', list),
              example: writeXml(errorsAsXml(first, namespace), { pretty: true }),
            },
          }),
    },
  };
}

const HELP = { Link: 'For each code the page that explains it, with rel="help"' };
const REFUSAL_HEADERS = {
  ...HELP,
  'X-Log-Position': 'Of a partly refused post: position of the write in the log',
};
const OTHER_HEADERS = {
  ...HELP,
  Allow: 'Of 405: allowed methods',
  'Retry-After': 'Of 429 and 503: seconds to wait before repeating the request',
};

/** A shape as the schema of a format: JSON has one of its own, the others are texts. */
function shapeIn(format: Format, { name, xml }: Pick<Shape, 'name' | 'xml'>): Json {
  if (format === 'json') return { $ref: `#/components/schemas/${name}` };
  if (format !== 'xml' || xml === undefined) return { type: 'string' };
  return { type: 'string', description: `A document as described by /1.0/schemas/${xml.file}` };
}

/** Response headers, by their descriptions. */
function headers(described: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(
    Object.entries(described).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  );
}
