import { type Description } from './description';
import { errorList } from './errors';
import {
  describeOperation,
  errorResponses,
  type Json,
  type Operation,
  partlyNamed,
  sharedParameters,
  viewsOf,
} from './openapi-operation';
import { type Fields, record, type RecordKind } from '../record/record';
import { JsonSchemas } from '../record/json';

/** A service, the system that its tokens are made for, and its operations. */
export interface DescribedService {
  readonly system: string;
  readonly description: Description;
  readonly operations: readonly Operation[];
}

/**
 * The interface of all services as OpenAPI 3.1. Its server is relative to it, because a proxy may add a prefix.
 * `baseUrl`: for the one address that has to be absolute. Examples are as of now.
 */
export function openApiDocument(services: readonly DescribedService[], baseUrl: string, now: Date): Json {
  const operations = services.flatMap(({ operations: its }) => its);
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
    components: {
      securitySchemes: schemesOf(services),
      parameters: sharedParameters,
      responses: responsesOf(services),
      schemas: schemasOf(operations),
    },
  };
}

const GENERAL = `Each operation is described twice: at its own path with JSON, and with an extension for its other formats.
Without an extension, the answer to a posted body is in the format of that body.

Keys are query parameters (\`/1.0/products?fid=1001&q=lamp\`) or matrix keys of the path
(\`/1.0/products;fid=1001;q=lamp\`); their names are compared without case. \`token\` and \`jsonp\` are query
parameters only. The token of an operation's system is in the header \`Authorization: Bearer …\`, or in the query parameter
\`token\`.

Bodies are in UTF-8, whether their Content-Type says so or not; one with another charset is refused. A request with a body
is answered 503 with \`Retry-After\` if too many bodies are being received, with this token or with all, and 408 if its body
arrives at less than 1 KB per second. If
requests per minute are limited, answers have the headers \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

Each value is described in the form that clients should send. What is also accepted: a list as one text with commas
(\`fid=1001,1002\`), numbers and booleans as texts (\`"12.5"\`), identifiers as integers, times as milliseconds since 1970. With
\`dateOutputFormat\` or \`jsonp\` an answer may have other types than described.`;

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

function responsesOf(services: readonly DescribedService[]): Json {
  const responses = services.map(({ description, operations }) =>
    errorResponses(description, operations.flatMap(viewsOf)),
  );
  return Object.assign({}, ...responses) as Json;
}

/** Every shape by its name; they refer to one another. */
function schemasOf(operations: readonly Operation[]): Json {
  const schemas = new JsonSchemas();
  schemas.add('ErrorList', errorList, 'answered');
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
