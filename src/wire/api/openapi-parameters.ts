import { type OperationText } from './description';
import { type Format } from './format';
import { BOOLEAN, type KeySpec, type KeyTable, TEXT } from '../keys/keys';

type Json = Readonly<Record<string, unknown>>;

/** The parameters that operations share. */
export const sharedParameters = {
  pretty: {
    name: 'pretty',
    in: 'query',
    description: 'Adds line breaks.',
    schema: BOOLEAN.schema,
  },
  jsonp: {
    name: 'jsonp',
    in: 'query',
    description:
      'Name of a function. The answer is a script then, `application/javascript`, which calls it with the JSON result, ' +
      'the status and a message.',
    schema: { type: 'string', maxLength: 128 },
  },
  minPosition: {
    name: 'X-Min-Position',
    in: 'header',
    description: 'Answers when the write of this X-Log-Position can be read, or 503 after two seconds.',
    schema: { type: 'string', pattern: '^\\d{19}$' },
  },
} as const;

/** The parameters of an operation: of its path, then its keys in the order of their table. */
export function parametersOf({
  isRead,
  extensions,
  keys,
  text: { path = {}, example: ofKeys },
}: {
  readonly isRead: boolean;
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
  };
  const shared = ['pretty', ...(isRead && isJson ? ['jsonp'] : []), ...(isRead ? ['minPosition'] : [])];
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
