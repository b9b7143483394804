import { type FaultTable } from '../kernel/fault';
import { type OperationText, type Shape } from './description';
import { CONTENT_TYPES, type Format } from './format';
import { BOOLEAN } from './key-types';
import { type KeySpec, type KeyTable } from './keys';
import { httpFaultTable, openApiFaultTable } from './open-api';

/** An operation: what its handler says of itself, and what is told of it. */
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

/** Its path in the description: extension and matrix keys are parameters of it. */
export function describedPath({ path }: Operation): string {
  return `${path.replace(/:(\w+)/g, '{$1}')}.{format}{keys}`;
}

/** The operation as OpenAPI has it; `faults` are those of its service. */
export function describeOperation(operation: Operation, tag: string, faults: FaultTable): Json {
  const { method, callers, text } = operation;
  const { id, summary, says, body, answer, sends = {}, also = {} } = text;
  const isRead = method === 'GET';
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [says, `For tokens of ${callers.map((kind) => `${kind}s`).join(' and ')}.`]
      .filter((part) => part !== undefined)
      .join('\n\n'),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: {
      200: {
        description: 'What was asked for; as a write, an empty error list.',
        headers: headers({ ...(isRead ? {} : WRITTEN), ...sends }),
        content: {
          ...Object.fromEntries(
            operation.formats.map((format) => [CONTENT_TYPES[format], { schema: shapeIn(format, answer) }]),
          ),
          ...(isRead ? { [CONTENT_TYPES.jsonp]: { schema: { type: 'string' } } } : {}),
        },
      },
      ...Object.fromEntries(Object.entries(also).map(([status, description]) => [status, { description }])),
      ...failures(method, faults),
    },
  };
}

const WRITTEN = { 'X-Log-Position': 'Position of the write in the log: wait for it by X-Min-Position' };

function parametersOf({ method, formats, keys, text }: Operation): readonly Json[] {
  const isRead = method === 'GET';
  const path = Object.entries(text.path ?? {}).map(([name, { type, says }]) => ({
    name,
    in: 'path',
    required: true,
    description: says,
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

const COMMON_KEYS: KeyTable = { pretty: { type: BOOLEAN, says: 'Adds line breaks' } };

/** A list is text (`docs/decisions.md#x36`). */
function keySchema({ type, multiple, aliases = [], inQuery, says = '' }: KeySpec): Json {
  const accepts = type.schema?.enum === undefined ? [`Accepted is ${type.accepts}.`] : [];
  const more = [
    ...(multiple === true
      ? [`Takes several values, separated by commas. Each is ${type.accepts}.`]
      : accepts),
    ...aliases.map((alias) => `Also spelt ${alias}.`),
    ...(inQuery === true ? ['Also taken as a query parameter.'] : []),
  ];
  const schema = multiple === true ? undefined : type.schema;
  return { ...(schema ?? { type: 'string' }), description: [`${says}.`, ...more].join(' ') };
}

function bodyOf(body: NonNullable<OperationText['body']>): Json {
  return {
    required: true,
    content: {
      [CONTENT_TYPES.json]: { schema: shapeIn('json', body), example: body.example },
      [CONTENT_TYPES.xml]: { schema: shapeIn('xml', body), example: body.xmlExample },
    },
  };
}

function shapeIn(format: Format, { name, xml }: Shape): Json {
  if (format === 'json') return { $ref: `#/components/schemas/${name}` };
  if (format === 'xml')
    return { type: 'string', description: `A document as described by /1.0/schemas/${xml}` };
  return { type: 'string' };
}

/** What can only fail when there is a body. */
const OF_BODIES = ['408', '413', '415'];

function failures(method: string, faults: FaultTable): Json {
  const rows = [
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
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: `An error list with codes of these:\n\n${codes.join('\n')}`,
        headers: headers(FAILED[status] ?? {}),
        content: {
          [CONTENT_TYPES.json]: { schema: { $ref: '#/components/schemas/ErrorList' } },
          [CONTENT_TYPES.xml]: { schema: { type: 'string' } },
        },
      },
    ]),
  );
}

const RETRY = { 'Retry-After': 'Seconds after which it is worth while to ask again' };
const FAILED: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  405: { Allow: 'Methods that there are' },
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
