import { type Description, type OperationText, type PostedShape, type Shape } from './description';
import { type Format, mediaTypeFor } from './format';
import { type KeyTable } from '../keys/keys';
import { errorsOf, headers, shapeIn } from './openapi-errors';
import { parametersOf } from './openapi-parameters';
import { exampleOf, xmlExampleOf } from '../record/document';

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

/** The context of an operation: its service. */
export interface Describing {
  readonly system: string;
  /** Examples are as of then. */
  readonly now: Date;
  readonly description: Pick<Description, 'title' | 'faults' | 'errorSchema'>;
}

/**
 * An operation as OpenAPI describes it: with JSON at its own path, so that generated clients have one type for an answer,
 * and with its other formats behind an extension, as texts (`docs/decisions.md#x36`).
 */
export interface View {
  readonly path: string;
  readonly isJson: boolean;
  /** Of the answer. */
  readonly formats: readonly Format[];
  readonly bodies: readonly Format[];
  readonly keys: KeyTable;
}

/** The views of an operation. */
export function viewsOf({ path: routed, formats, keys, text }: Operation): readonly View[] {
  const path = routed.replace(/:(\w+)/g, '{$1}');
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

/** A view of an operation in OpenAPI. */
export function describeOperation(operation: Operation, view: View, service: Describing): Json {
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
      extensions: isJson ? undefined : formats,
      keys: view.keys,
      text,
    }),
    ...(body === undefined ? {} : { requestBody: bodyOf(body, view, service.now) }),
    responses: {
      ...successOf(operation, view),
      ...errorsOf(service.description, { method, mayConflict: text.mayConflict === true }, isJson),
      ...partlyOf(text),
    },
  };
}

function nameOf(format: Format): string {
  return format === 'ics' ? 'iCalendar' : format.toUpperCase();
}

const WRITTEN = { 'X-Log-Position': 'Position of the write in the log: wait for it by X-Min-Position' };

function successOf({ method, text }: Operation, { formats }: View): Json {
  const { answer, status = answer === undefined ? 204 : 200, sends = {}, also = {} } = text;
  const isRead = method === 'GET';
  const success = {
    description: isRead ? 'The result.' : 'Success.',
    headers: headers({ ...(isRead ? {} : WRITTEN), ...sends }),
  };
  if (answer === undefined) return { [status]: success };
  const content = formats.map((format) => [mediaTypeFor(format), { schema: shapeIn(format, answer) }]);
  const answered = { ...success, content: Object.fromEntries(content) as Json };
  const others = Object.entries(also).map(([status, description]) => [status, { ...answered, description }]);
  return { [status]: answered, ...(Object.fromEntries(others) as Json) };
}

/** A partial refusal is in one shape, which has the fields of the answer and those of an error list. */
function partlyOf({ partly, answer }: OperationText): Json {
  if (partly === undefined || answer === undefined) return {};
  return {
    400: {
      description: `${partly} Or an error list: nothing has taken effect.`,
      headers: headers(WRITTEN),
      content: { [mediaTypeFor('json')]: { schema: shapeIn('json', { name: partlyNamed(answer) }) } },
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
    ...(examples.csv === undefined ? [] : ['csv' as const]),
  ];
}

/** Examples of a body, by its formats. */
function examplesOf(
  { kind, xml, examples }: PostedShape,
  now: Date,
): Readonly<Partial<Record<Format, unknown>>> {
  return {
    json: exampleOf(kind, now),
    ...(xml && { xml: xmlExampleOf(kind, xml, now) }),
    ...examples,
  };
}

function bodyOf(body: PostedShape, { bodies }: View, now: Date): Json {
  const examples = examplesOf(body, now);
  const content = bodies.map((format) => [
    mediaTypeFor(format),
    { schema: shapeIn(format, body), example: examples[format] },
  ]);
  return { required: body.isOptional !== true, content: Object.fromEntries(content) as Json };
}
