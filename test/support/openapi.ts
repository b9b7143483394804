import { z } from 'zod';
import { explainedErrors } from '../../src/docs/site';
import { type Shape } from '../../src/wire/api/description';
import { type AnswerOf, type Kind } from '../../src/wire/record/record';
import { JsonSchemas } from '../../src/wire/api/openapi';
import { type Response, type TestApp } from './app';
import { faultsBySchema } from './xml-schemas';

type Json = Readonly<Record<string, unknown>>;

interface Reference {
  readonly $ref: string;
}

interface DescribedAnswer {
  readonly headers?: Json;
  readonly content?: Readonly<Record<string, DescribedContent>>;
}

interface DescribedContent {
  readonly schema: Json;
  readonly example?: unknown;
}

/** An operation in the OpenAPI description. */
export interface DescribedOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly operationId: string;
  readonly parameters: readonly {
    readonly $ref?: string;
    readonly name?: string;
    readonly in?: string;
    readonly schema?: Json;
    readonly required?: boolean;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, DescribedContent>> };
  readonly responses: Readonly<Record<string, DescribedAnswer | Reference>>;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Response headers that only some operations send. */
const SPECIAL = ['x-log-position', 'x-next-since', 'x-next-cursor', 'etag', 'retry-after', 'allow'];

/** The application's OpenAPI description, which validates real answers. */
export class OpenApiDocument {
  readonly operations: readonly DescribedOperation[];
  private readonly schemas: Json;
  private readonly responses: Readonly<Record<string, DescribedAnswer>>;
  /** By schema. */
  private readonly validators = new Map<string, z.ZodType>();

  private constructor(
    private readonly app: TestApp,
    document: string,
  ) {
    const { paths, components } = JSON.parse(document) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
      readonly components: {
        readonly schemas: Json;
        readonly responses: Readonly<Record<string, DescribedAnswer>>;
      };
    };
    this.schemas = components.schemas;
    this.responses = components.responses;
    this.operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        path,
        method: method.toUpperCase() as DescribedOperation['method'],
      })),
    );
  }

  static async of(app: TestApp): Promise<OpenApiDocument> {
    return new OpenApiDocument(app, (await app.get('/1.0/openapi.json')).body);
  }

  /** The operation with this id. */
  operation(id: string): DescribedOperation {
    const found = this.operations.find(({ operationId }) => operationId === id);
    if (found === undefined) throw new Error(`operation ${id} is not described`);
    return found;
  }

  /** Differences between an answer and its description: that of the operation with JSON, or with other formats. */
  async problemsOf(id: string, answer: Response): Promise<readonly string[]> {
    const type = String(answer.headers['content-type']);
    const isJson = answer.body === '' || /^application\/(json|javascript)/.test(type);
    // Without an answer, an operation is described once.
    const hasFormats = this.operations.some(({ operationId }) => operationId === `${id}As`);
    const operation = this.operation(isJson || !hasFormats ? id : `${id}As`);
    const described = this.describedAnswer(operation, answer.statusCode);
    if (described === undefined) return [`status ${answer.statusCode}`];
    const documented = Object.keys(described.headers ?? {}).map((name) => name.toLowerCase());
    const undocumented = SPECIAL.filter((name) => name in answer.headers && !documented.includes(name));
    const stray = answer.statusCode < 400 ? [] : codesIn(answer.body).filter((code) => !isExpected(code, id));
    if (stray.length > 0) return [`docs/errors.md: ${id} is not among the operations with ${stray.join()}`];
    if (described.content === undefined) return [...undocumented, ...(answer.body === '' ? [] : ['a body'])];
    const [, called] = /^\/\*\*\/\w+\((.*), undefined, undefined\);$/s.exec(answer.body) ?? [];
    const [text, textType] = called === undefined ? [answer.body, type] : [called, JSON_TYPE];
    // Media types are described without their parameters.
    const schema = described.content[textType.replace(/;.*$/, '')]?.schema;
    const wrong = schema === undefined ? [type] : await this.problemsIn(text, textType, schema);
    return [...undocumented, ...wrong];
  }

  /** The answer of an operation with a status: described by itself, or with all other ones. */
  describedAnswer({ responses }: DescribedOperation, status: number): DescribedAnswer | undefined {
    const found = responses[status] ?? (status < 400 ? undefined : responses.default);
    return found !== undefined && '$ref' in found
      ? this.responses[found.$ref.split('/').at(-1) ?? '']
      : found;
  }

  /** Schema violations of a body with a content type. */
  async problemsIn(text: string, type: string, schema: Json): Promise<readonly string[]> {
    if (type.startsWith('application/json')) {
      const { error } = this.validatorFor(schema).safeParse(JSON.parse(text));
      return error === undefined ? [] : [error.message];
    }
    const [, file] = /\/1\.0\/schemas\/(\S+)$/.exec(String(schema.description)) ?? [];
    return file === undefined ? [] : faultsBySchema(this.app, file, [text]);
  }

  private validatorFor(schema: Json): z.ZodType {
    const key = JSON.stringify(schema);
    const validator = this.validators.get(key) ?? validatorOf(schema, this.schemas);
    this.validators.set(key, validator);
    return validator;
  }
}

/** The codes of an error list in JSON or XML. */
function codesIn(body: string): readonly string[] {
  return [...body.matchAll(/"code":"(\w+)"|<code>(\w+)</g)].map(([, json, xml]) => json ?? xml ?? '');
}

const { byCode } = explainedErrors();

/** Whether a page of the documentation has the operation among those that may be refused with a code. */
function isExpected(code: string, id: string): boolean {
  const { verbs = [] } = byCode.get(code) ?? {};
  return verbs.length === 0 || verbs.some((verb) => id.startsWith(verb));
}

/** An answer that is in a shape; raises what is wrong with any other. */
export function answerIn<K extends Kind>({ name, kind }: Shape<K>, answer: unknown): AnswerOf<K> {
  const schemas = new JsonSchemas();
  schemas.add(name, kind, 'answered');
  validatorOf({ $ref: `#/components/schemas/${name}` }, schemas.byName).parse(answer);
  return answer as AnswerOf<K>;
}

function validatorOf(schema: Json, components: Json): z.ZodType {
  const $defs: Record<string, Json> = {};
  const local = (one: unknown): Json => {
    const text = JSON.stringify(one);
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      if (!(name in $defs)) {
        $defs[name] = {};
        $defs[name] = local(components[name]);
      }
    return JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as Json;
  };
  return z.fromJSONSchema({ ...local(schema), $defs });
}

/**
 * The target that a description makes of an operation: its path and query with the examples of its parameters, or
 * others.
 */
export function targetOf(
  { path, parameters }: DescribedOperation,
  others: Readonly<Record<string, string>> = {},
): string {
  const valueOf = (wanted: string) =>
    others[wanted] ?? String(parameters.find(({ name }) => name === wanted)?.example);
  const keys = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map(({ name = '' }) => `${name}=${encodeURIComponent(valueOf(name))}`);
  const query = keys.length === 0 ? '' : `?${keys.join('&')}`;
  return `${path.replace(/\{(\w+)\}/g, (_, name: string) => valueOf(name))}${query}`;
}
