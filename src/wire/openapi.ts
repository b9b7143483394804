import { type Description } from './description';
import { errorList } from './errors';
import { describedPath, describeOperation, type Operation } from './openapi-operation';
import { JsonSchemas } from './record-json';

/** A service, the system that its tokens are made for, and its operations. */
export interface DescribedService {
  readonly system: string;
  readonly description: Description;
  readonly operations: readonly Operation[];
}

type Json = Readonly<Record<string, unknown>>;

/** The interface of all services as OpenAPI 3.1, reached at `baseUrl`. */
export function openApiDocument(services: readonly DescribedService[], baseUrl: string): Json {
  const operations = services.flatMap(({ operations: its }) => its);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Affilog',
      version: '1.0',
      description: GENERAL,
      // As in `package.json`: none is given.
      license: { name: 'All rights reserved', url: `${baseUrl}/docs` },
    },
    servers: [{ url: baseUrl }],
    tags: services.map(({ description: { title, description } }) => ({ name: title, description })),
    security: [{ token: [] }],
    paths: pathsOf(services),
    components: {
      securitySchemes: {
        token: { type: 'apiKey', in: 'query', name: 'token', description: '40 hexadecimal digits' },
      },
      parameters: {
        jsonp: {
          name: 'jsonp',
          in: 'query',
          description: 'Name of a function to be called with the JSON result, the status and a message',
          schema: { type: 'string', maxLength: 128 },
        },
        minPosition: {
          name: 'X-Min-Position',
          in: 'header',
          description: 'Answers when the write of this X-Log-Position can be read, or 503 after two seconds',
          schema: { type: 'string', pattern: '^\\d{19}$' },
        },
      },
      schemas: schemasOf(operations),
    },
  };
}

const GENERAL = `Keys of an operation are matrix keys: each follows the path as \`;key=value\`. Their names are
compared without case, their values are percent-encoded. \`token\` and \`jsonp\` follow the \`?\`.

The extension names the format of the answer; without it an answer is JSON, or in the format of the posted body. Bodies
declare \`charset=utf-8\`. Answers to a limited number of requests a minute bear \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.`;

function pathsOf(services: readonly DescribedService[]): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const service of services) {
    for (const operation of service.operations) {
      const path = (paths[describedPath(operation)] ??= {});
      path[operation.method.toLowerCase()] = describeOperation(operation, service);
    }
  }
  return paths;
}

/** Every shape by its name; they refer to one another. */
function schemasOf(operations: readonly Operation[]): Json {
  const schemas = new JsonSchemas();
  schemas.add('ErrorList', errorList, 'answered');
  for (const { text } of operations) {
    if (text.answer !== undefined) schemas.add(text.answer.name, text.answer.kind, 'answered');
    if (text.body !== undefined) schemas.add(text.body.name, text.body.kind, 'posted');
  }
  return schemas.byName;
}
