import { type Description, type HeaderText, type Webhook } from './description';
import { errorList } from './errors';
import {
  describeOperation,
  errorResponses,
  faultExamples,
  type Json,
  type Operation,
  partlyNamed,
  sharedParameters,
  viewsOf,
} from './openapi-operation';
import {
  type Direction,
  type Field,
  type Fields,
  isAlways,
  type JsonSchema,
  type Kind,
  record,
  type RecordKind,
} from '../record/record';

/** A service, the system that its tokens are made for, and its operations. */
interface DescribedService {
  readonly system: string;
  readonly description: Description;
  readonly operations: readonly Operation[];
  /** Of its error lists in XML. */
  readonly namespace: string;
}

/**
 * The interface of all services as OpenAPI 3.1. Its server is relative to it, because a proxy may add a prefix.
 * `baseUrl`: for the one address that has to be absolute. Examples are as of now.
 */
export function openApiDocument(services: readonly DescribedService[], baseUrl: string, now: Date): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Affilog',
      version: '1.0',
      description: GENERAL,
      // As in `package.json`: none is given. openapi-generator refuses an address that is not absolute.
      license: { name: 'All rights reserved', url: `${baseUrl}/docs` },
    },
    servers: [{ url: '..' }],
    tags: services.map(({ description: { title, description } }) => ({ name: title, description })),
    paths: pathsOf(services, now),
    webhooks: webhooksOf(services, now),
    components: {
      securitySchemes: schemesOf(services),
      parameters: sharedParameters,
      responses: responsesOf(services),
      examples: Object.assign({}, ...services.map(({ description }) => faultExamples(description))) as Json,
      schemas: schemasOf(services),
    },
  };
}

const GENERAL = `Each operation is described twice: at its own path with JSON, and with an extension for its other formats.
Without an extension, the answer to a posted body is in the format of that body.

Keys are query parameters (\`/1.0/products?fid=1001&q=lamp\`) or matrix keys of the path
(\`/1.0/products;fid=1001;q=lamp\`); their names are compared without case. \`token\` and \`jsonp\` are query
parameters only. The token of an operation's system is in the header \`Authorization: Bearer …\`, or in the query parameter
\`token\`.

Bodies are in UTF-8, whether their Content-Type says so or not; one with another charset is refused, but for CSV, TSV and XML of products. A request with a body
is answered 503 with \`Retry-After\` if too many bodies are being received, with this token or with all, and 408 if its body
arrives at less than 1 KB per second. If
requests per minute are limited, answers have the headers \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

Each value is described in the form that clients should send. What is also accepted: a list as one text with commas
(\`fid=1001,1002\`), numbers and booleans as texts (\`"12.5"\`), identifiers as integers, times as milliseconds since 1970. With
\`dateOutputFormat\` or \`jsonp\` an answer may have other types than described.

Values are exact: integers are between -9007199254740991 and 9007199254740991, so JavaScript has them too; an amount has at most
15 digits, so a number of double precision that is written again has the same ones; times have milliseconds.

Webhooks are the messages that subscriptions send; their bodies are made of what a subscription's \`receiverBody\` names.`;

/** A token for each system: clients have a field for each, and send the one that an operation needs. */
function schemesOf(services: readonly DescribedService[]): Json {
  const systems = new Set(services.map(({ system }) => system));
  const schemes = [...systems].map((system) => [
    system,
    {
      type: 'http',
      scheme: 'bearer',
      description:
        `A token for ${system}: 40 hexadecimal digits, in the header Authorization, which ` +
        'proxies do not log.',
    },
  ]);
  return Object.fromEntries(schemes) as Json;
}

function pathsOf(services: readonly DescribedService[], now: Date): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const service of services) {
    for (const operation of service.operations) {
      for (const view of viewsOf(operation)) {
        const path = (paths[view.path] ??= {});
        path[operation.method.toLowerCase()] = describeOperation(operation, view, { ...service, now });
      }
    }
  }
  return paths;
}

function webhooksOf(services: readonly DescribedService[], now: Date): Json {
  const webhooks = services.flatMap(({ description: { title, webhooks: its = [] } }) =>
    its.map((webhook) => [webhook.id, { post: describeWebhook(webhook, title, now) }]),
  );
  return Object.fromEntries(webhooks) as Json;
}

/**
 * A message to subscribers. Without a tag, since openapi-generator would make a class of it in place of that of the
 * service; with its schema inside, since oapi-codegen leaves out components that no path refers to.
 */
function describeWebhook(webhook: Webhook, title: string, now: Date): Json {
  const { id, summary, description: about, headers: sent, message, example, answers } = webhook;
  const schemas = new JsonSchemas();
  schemas.add(message.name, message.kind, 'answered');
  const schema = schemas.byName[message.name];
  return {
    operationId: id,
    'x-service': title,
    summary,
    description: about,
    security: [],
    parameters: Object.entries(sent).map(([name, header]) => headerParameter(name, header)),
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: example(now) } },
    },
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, description]) => [status, { description }]),
    ),
  };
}

function headerParameter(name: string, { description, example, isOptional }: HeaderText): Json {
  const required = isOptional === true ? {} : { required: true };
  return { name, in: 'header', ...required, description, schema: { type: 'string' }, example };
}

function responsesOf(services: readonly DescribedService[]): Json {
  const responses = services.map(({ description, operations, namespace }) =>
    errorResponses(description, namespace, operations.flatMap(viewsOf)),
  );
  return Object.assign({}, ...responses) as Json;
}

/** Every shape by its name; they refer to one another. */
function schemasOf(services: readonly DescribedService[]): Json {
  const schemas = new JsonSchemas();
  schemas.add('ErrorList', errorList, 'answered');
  const operations = services.flatMap(({ operations: its }) => its);
  for (const { text, formats } of operations) {
    const { answer, partly } = text;
    if (answer !== undefined && formats.includes('json')) schemas.add(answer.name, answer.kind, 'answered');
    if (answer?.kind.is === 'record' && partly !== undefined)
      schemas.add(
        partlyNamed(answer),
        optionally({ ...answer.kind.fields, ...errorList.fields }),
        'answered',
      );
    if (text.body !== undefined) schemas.add(text.body.name, text.body.kind, 'posted');
  }
  return schemas.byName;
}

/** A record of these fields, of which an answer may lack all. */
function optionally(fields: Fields): RecordKind {
  const optional = Object.entries(fields).map(([name, field]) => [name, { ...field, optional: true }]);
  return record(Object.fromEntries(optional) as Fields);
}

/**
 * JSON schemas of kinds, as OpenAPI has them. Every record is a component, which others refer to: a record within
 * another one that has no name of its own is named after that one and its field, as generators would name it
 * `Anonymous6` (`docs/decisions.md#x36`).
 */
export class JsonSchemas {
  private readonly components = new Map<string, JsonSchema | undefined>();
  /** The names of the records that have been added. */
  private readonly names = { posted: new Map<Kind, string>(), answered: new Map<Kind, string>() };

  /** The components so far, by their names. */
  get byName(): Readonly<Record<string, JsonSchema | undefined>> {
    return Object.fromEntries(this.components);
  }

  /** Adds a component that is of a kind. */
  add(name: string, kind: Kind, direction: Direction): void {
    if (kind.is === 'record') this.refer(name, kind, direction);
    else this.set(name, this.schemaOf(kind, direction, singular(name)));
  }

  /** `name`: of a record that has none. */
  private schemaOf(kind: Kind, direction: Direction, name: string): JsonSchema {
    switch (kind.is) {
      case 'scalar':
        return kind[direction].json;
      case 'list': {
        const { least: minItems, most: maxItems } = kind;
        return {
          type: 'array',
          items: this.schemaOf(kind.of(), direction, name),
          ...(minItems === undefined || direction === 'posted' ? {} : { minItems }),
          ...(maxItems === undefined ? {} : { maxItems }),
        };
      }
      case 'record':
        return this.refer(kind.name ?? this.names[direction].get(kind) ?? name, kind, direction);
    }
  }

  private refer(name: string, kind: RecordKind, direction: Direction): JsonSchema {
    if (this.names[direction].get(kind) !== name) {
      this.names[direction].set(kind, name);
      // It may contain itself.
      if (!this.components.has(name)) this.components.set(name, undefined);
      this.set(name, this.object(name, kind, direction));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  private set(name: string, schema: JsonSchema): void {
    const other = this.components.get(name);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`OpenAPI: two shapes have the name ${name}: give one of them another`);
    this.components.set(name, schema);
  }

  private object(name: string, { fields, isOpen }: RecordKind, direction: Direction): JsonSchema {
    const all = Object.entries(fields);
    const required = all.filter(([, field]) => isAlways(field, direction)).map(([field]) => field);
    const properties = all.map(([property, field]) => {
      const { kind } = field;
      const schema = this.schemaOf(kind, direction, nameWithin(name, property, kind.is === 'list'));
      return [property, { ...schema, description: descriptionOf(field, direction) }];
    });
    return {
      type: 'object',
      properties: Object.fromEntries(properties) as JsonSchema,
      ...(required.length === 0 ? {} : { required }),
      ...(direction === 'answered' && isOpen !== true ? { additionalProperties: false } : {}),
    };
  }
}

/** The name of the record in a field: `ProductImage` of `Product.productImage`, `PostedProduct` of `products`. */
function nameWithin(record: string, field: string, isList: boolean): string {
  const list = `${field.charAt(0).toUpperCase()}${field.slice(1)}`;
  const own = isList ? singular(list) : list;
  // What the name of the record ends with need not be said again.
  const words = record.split(/(?=[A-Z])/);
  const ends = words.map((_, at) => words.slice(at).join(''));
  const end = isList && record.endsWith(list) ? list : (ends.find((one) => own.startsWith(one)) ?? '');
  const name = `${record.slice(0, record.length - end.length)}${own}`;
  return name === record ? `${record}Item` : name;
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

function descriptionOf({ kind, description }: Field, direction: Direction): string {
  return `${description}${kind.is === 'scalar' ? (kind[direction].note ?? '') : ''}`;
}
