import { z } from 'zod';
import { type Shape } from '../../src/wire/description';
import { type AnswerOf, type Kind } from '../../src/wire/record';
import { JsonSchemas } from '../../src/wire/record-json';
import { type Response, type TestApp } from './app';
import { faultsBySchema } from './xml-schemas';

type Json = Readonly<Record<string, unknown>>;

interface DescribedAnswer {
  readonly headers?: Json;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** An operation in the OpenAPI description. */
export interface DescribedOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly operationId: string;
  readonly parameters: readonly { readonly name?: string; readonly example?: Json }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Json; readonly example: unknown }>>;
  };
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

/** Response headers that only some operations send. */
const SPECIAL = ['x-log-position', 'x-next-since', 'x-next-cursor', 'etag', 'retry-after', 'allow'];

/** The application's OpenAPI description, which validates real answers. */
export class OpenApiDocument {
  readonly operations: readonly DescribedOperation[];
  private readonly schemas: Json;

  private constructor(
    private readonly app: TestApp,
    document: string,
  ) {
    const { paths, components } = JSON.parse(document) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
      readonly components: { readonly schemas: Json };
    };
    this.schemas = components.schemas;
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

  /** Differences between an answer and its description. */
  async problemsOf(id: string, answer: Response): Promise<readonly string[]> {
    const described = this.operation(id).responses[answer.statusCode];
    if (described === undefined) return [`status ${answer.statusCode}`];
    const documented = Object.keys(described.headers ?? {}).map((name) => name.toLowerCase());
    const undocumented = SPECIAL.filter((name) => name in answer.headers && !documented.includes(name));
    if (described.content === undefined) return [...undocumented, ...(answer.body === '' ? [] : ['a body'])];
    const type = String(answer.headers['content-type']);
    const schema = described.content[type]?.schema;
    const wrong = schema === undefined ? [type] : await this.problemsIn(answer.body, type, schema);
    return [...undocumented, ...wrong];
  }

  /** Schema violations of a body with a content type. */
  async problemsIn(text: string, type: string, schema: Json): Promise<readonly string[]> {
    if (type.startsWith('application/json')) {
      const { error } = this.shapeOf(schema).safeParse(JSON.parse(text));
      return error === undefined ? [] : [error.message];
    }
    const [, file] = /\/1\.0\/schemas\/(\S+)$/.exec(String(schema.description)) ?? [];
    return file === undefined ? [] : faultsBySchema(this.app, file, [text]);
  }

  private shapeOf(schema: Json): z.ZodType {
    return validatorOf(schema, this.schemas);
  }
}

/** An answer that is in a shape; raises what is wrong with any other. */
export function answerIn<K extends Kind>({ name, kind }: Shape<K>, answer: unknown): AnswerOf<K> {
  const schemas = new JsonSchemas();
  schemas.add(name, kind, 'answered');
  validatorOf({ $ref: `#/components/schemas/${name}` }, schemas.byName).parse(answer);
  return answer as AnswerOf<K>;
}

function validatorOf(schema: Json, components: Json): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: components });
  return z.fromJSONSchema(
    JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')) as z.core.JSONSchema.JSONSchema,
  );
}

/** The target that a description makes of an operation: its path with these parameters and the keys of its example. */
export function targetOf(
  { path, parameters }: DescribedOperation,
  format: string,
  values: Readonly<Record<string, string>> = {},
): string {
  const example = parameters.find(({ name }) => name === 'keys')?.example ?? {};
  const keys = Object.entries(example).map(
    ([name, value]) => `;${name}=${encodeURIComponent(String(value))}`,
  );
  const given: Readonly<Record<string, string>> = { ...values, format, keys: keys.join('') };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => given[name] ?? '');
}
