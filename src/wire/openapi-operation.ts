import { type FaultTable } from '../kernel/fault';
import { type Description, type OperationText, type PostedShape, type Shape } from './description';
import { CONTENT_TYPES, type Format } from './format';
import { BOOLEAN } from './key-types';
import { type KeySpec, type KeyTable } from './keys';
import { httpFaultTable, openApiFaultTable } from './http-faults';
import { exampleOf, xmlExampleOf } from './record-document';

/** An operation: the metadata of its handler, and its description. */
export interface Operation {
  /** `GET`. */
  readonly method: string;
  /** As it is routed: `/1.0/productFeeds/:feedId`. */
  readonly path: string;
  /** Who may call it. */
  readonly callers: readonly string[];
  readonly formats: readonly Format[];
  readonly keys: KeyTable;
  readonly text: OperationText;
}

type Json = Readonly<Record<string, unknown>>;

/** Its path in OpenAPI: extension and matrix keys are path parameters. */
export function describedPath({ path }: Operation): string {
  return `${path.replace(/:(\w+)/g, '{$1}')}.{format}{keys}`;
}

/** The context of an operation: its service. */
export interface Describing {
  readonly system: string;
  readonly description: Pick<Description, 'title' | 'faults' | 'errorSchema'>;
}

/** The operation in OpenAPI. */
export function describeOperation(operation: Operation, service: Describing): Json {
  const { callers, text } = operation;
  const { id, summary, description, body, also = {} } = text;
  const kinds = callers.map((kind) => `${kind}s`).join(' and ');
  return {
    operationId: id,
    tags: [service.description.title],
    summary,
    description: [description, `For tokens of ${kinds}, system ${service.system}.`]
      .filter((part) => part !== undefined)
      .join('\n\n'),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: {
      ...successOf(operation),
      ...Object.fromEntries(Object.entries(also).map(([status, description]) => [status, { description }])),
      ...failures(operation, service.description),
    },
  };
}

function successOf({ method, formats, text: { answer, sends = {} } }: Operation): Json {
  const isRead = method === 'GET';
  const described = {
    description: isRead ? 'The result.' : 'Success.',
    headers: headers({ ...(isRead ? {} : WRITTEN), ...sends }),
  };
  if (answer === undefined) return { 204: described };
  return {
    200: {
      ...described,
      content: {
        ...Object.fromEntries(
          formats.map((format) => [CONTENT_TYPES[format], { schema: shapeIn(format, answer) }]),
        ),
        ...(isRead ? { [CONTENT_TYPES.jsonp]: { schema: { type: 'string' } } } : {}),
      },
    },
  };
}

const WRITTEN = { 'X-Log-Position': 'Position of the write in the log: wait for it by X-Min-Position' };

function parametersOf({ method, formats, keys, text }: Operation): readonly Json[] {
  const isRead = method === 'GET';
  const path = Object.entries(text.path ?? {}).map(([name, { type, description }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: type.schema ?? { type: 'string' },
  }));
  const format = {
    name: 'format',
    in: 'path',
    required: true,
    description: 'Format of the answer. Without `.` and extension it is JSON, or that of the posted body.',
    schema: { type: 'string', enum: formats },
  };
  const jsonp = { $ref: '#/components/parameters/jsonp' };
  const position = { $ref: '#/components/parameters/minPosition' };
  return [...path, format, keysParameter(keys, text.example), ...(isRead ? [jsonp, position] : [])];
}

/** All matrix keys are one parameter, an object (`docs/decisions.md#x36`). */
function keysParameter(keys: KeyTable, example: Json): Json {
  const all: KeyTable = { ...keys, ...COMMON_KEYS };
  const required = Object.keys(all).filter((name) => all[name]?.required === true);
  return {
    name: 'keys',
    in: 'path',
    required: true,
    style: 'matrix',
    explode: true,
    description:
      'Matrix keys: each as `;key=value`, percent-encoded. A comma inside a value of a list is written `%2C` before that.',
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(all).map(([name, spec]) => [name, keySchema(spec)])),
      ...(required.length === 0 ? {} : { required }),
    },
    example,
  };
}

const COMMON_KEYS: KeyTable = { pretty: { type: BOOLEAN, description: 'Adds line breaks' } };

/** A list is text (`docs/decisions.md#x36`). */
function keySchema({ type, multiple, aliases = [], description = '' }: KeySpec): Json {
  const accepts = type.schema?.enum === undefined ? [`Expected: ${type.expected}.`] : [];
  const more = [
    ...(multiple === true
      ? [`Takes several values, separated by commas. Each is ${type.expected}.`]
      : accepts),
    ...aliases.map((alias) => `Also spelt ${alias}.`),
  ];
  const schema = multiple === true ? undefined : type.schema;
  return { ...(schema ?? { type: 'string' }), description: [`${description}.`, ...more].join(' ') };
}

function bodyOf(body: PostedShape): Json {
  const examples = {
    json: exampleOf(body.kind),
    ...(body.xml && { xml: xmlExampleOf(body.kind, body.xml) }),
    ...body.examples,
  };
  const formats = (['json', 'xml', 'csv'] as const).filter((format) => examples[format] !== undefined);
  return {
    required: true,
    content: Object.fromEntries(
      formats.map((format) => [
        CONTENT_TYPES[format],
        { schema: shapeIn(format, body), example: examples[format] },
      ]),
    ),
  };
}

function shapeIn(format: Format, { name, xml }: Pick<Shape, 'name' | 'xml'>): Json {
  if (format === 'json') return { $ref: `#/components/schemas/${name}` };
  if (format !== 'xml' || xml === undefined) return { type: 'string' };
  return { type: 'string', description: `A document as described by /1.0/schemas/${xml.file}` };
}

/** Statuses that only operations with a body have. */
const OF_BODIES = ['408', '413', '415'];

function failures(
  { method, text: { answer, partly } }: Operation,
  { faults, errorSchema }: Describing['description'],
): Json {
  const list = { name: 'ErrorList', xml: { file: errorSchema } };
  const rows: FaultTable[string][] = [
    ...Object.values(openApiFaultTable),
    ...Object.values(faults),
    ...Object.values(httpFaultTable),
  ];
  const byStatus = new Map<number, string[]>();
  for (const [code, status, meaning] of rows) {
    if (method !== 'POST' && OF_BODIES.includes(code)) continue;
    if (method !== 'GET' && code === '503') continue;
    byStatus.set(status, [...(byStatus.get(status) ?? []), `- \`${code}\`: ${meaning}`]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const description = `An error list with codes of these:\n\n${codes.join('\n')}`;
      const isPartly = status === 400 && partly !== undefined && answer !== undefined;
      const json = shapeIn('json', list);
      return [
        status,
        {
          description: isPartly ? `${partly}\n\nOr: ${description}` : description,
          headers: headers({
            ...FAILED[status],
            // A partial refusal has the shape of the answer.
            ...(status === 400 && method !== 'GET' ? WRITTEN : {}),
          }),
          content: {
            [CONTENT_TYPES.json]: {
              schema: isPartly ? { anyOf: [json, shapeIn('json', answer)] } : json,
            },
            [CONTENT_TYPES.xml]: { schema: shapeIn('xml', list) },
          },
        },
      ];
    }),
  );
}

const RETRY = { 'Retry-After': 'Seconds after which it is worth while to ask again' };
const FAILED: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: 'Allowed methods' },
  429: RETRY,
  500: RETRY,
  503: RETRY,
};

function headers(described: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(
    Object.entries(described).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  );
}
