import { createHash, hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Param,
  Req,
  RequestMethod,
  Res,
} from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { ModulesContainer, Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { ORGANISATION_KINDS, type OrganisationKind } from '../network/events';
import { mayHave } from '../network/organisations';
import { Clock } from '../runtime/clock';
import { errorSchema, httpFaults, openApiFaults } from '../wire/api/errors';
import { CONTENT_TYPES, hasVersion, prefersHtml } from '../wire/api/format';
import { openApiDocument } from '../wire/api/openapi';
import { type Operation } from '../wire/api/openapi-operation';
import { writeXml } from '../wire/xml/write';
import { type XmlSchema, toXsd } from '../wire/xml/xsd';
import { isCompressed } from './answer-writer';
import { ApiOperation, formatsOf, keyTable, rolesOf } from './decorators';
import { sentTokens } from './request-state';
import { HttpParts, serviceOf } from './service';

/** Content that does not change while the process runs: clients may cache it and revalidate by ETag. */
export class StaticContent {
  private readonly body: Buffer;
  private readonly digest: string;
  private compressed: Buffer | undefined;

  constructor(
    private readonly contentType: string,
    body: string | Buffer,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {
    this.body = Buffer.from(body);
    this.digest = hash('sha1', body);
  }

  send(request: FastifyRequest, reply: FastifyReply): void {
    const isGzip = isCompressed(this.body.byteLength, request);
    // Each representation has its own (RFC 9110, 8.8.1).
    const etag = `"${this.digest}${isGzip ? '-gzip' : ''}"`;
    reply
      .headers({ ...this.headers, ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' })
      .header('X-Content-Type-Options', 'nosniff');
    if (hasVersion(request.headers['if-none-match'], etag)) {
      void reply.code(304).send();
      return;
    }
    if (isGzip) reply.header('Content-Encoding', 'gzip');
    void reply.type(this.contentType).send(isGzip ? (this.compressed ??= gzipSync(this.body)) : this.body);
  }
}

/** For those who find the server and look around; needs no token (`docs/decisions.md#x85`). */
@Controller()
class IndexController {
  @Get()
  root(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    sendIndex(request, reply);
  }

  /** A request with a token is one of a program that has lost its module (Document 1, Versioning). */
  @Get('1.0')
  version(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    if (sentTokens(request).length > 0) throw openApiFaults.missingModule();
    sendIndex(request, reply);
  }
}

/** A link of an index: where it leads from the root, without a leading slash, and what is there. */
type IndexLink = readonly [path: string, title: string];

const GENERAL: readonly IndexLink[] = [
  ['docs', 'Documentation: read and try the interface'],
  ['1.0/openapi.json', 'OpenAPI description'],
  ['1.0/schemas/', 'XML schemas'],
  ['1.0/schemas/events/', 'JSON schemas of events'],
  ['console/login', 'Console for operators'],
  ['health/ready', 'State of this server'],
];

const INDEX_STYLE = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
ul { list-style: none; padding: 0 }
li { margin: .75rem 0 }
a { overflow-wrap: anywhere }
small { display: block }
`;

const INDEX_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(INDEX_STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Answers with links in HTML or JSON (`docs/decisions.md#x85`), relative to the page: a proxy may add a prefix. */
export function sendIndex(
  request: FastifyRequest,
  reply: FastifyReply,
  more: readonly IndexLink[] = [],
): void {
  const { extension } = request.target;
  if (extension !== undefined && extension !== 'json')
    throw httpFaults.notFound(`.${extension}: expected .json`);
  const links = [...GENERAL, ...more].map(([path, title]) => ({ href: rootOf(request) + path, title }));
  const asHtml = extension === undefined && prefersHtml(request.headers.accept);
  void reply
    .headers({ Vary: 'Accept', 'X-Content-Type-Options': 'nosniff' })
    .headers(asHtml ? { 'Content-Security-Policy': INDEX_POLICY, 'Referrer-Policy': 'no-referrer' } : {})
    .type(asHtml ? 'text/html; charset=utf-8' : CONTENT_TYPES.json)
    .send(asHtml ? htmlOf(links, rootOf(request)) : JSON.stringify({ name: 'Affilog', links }));
}

/** From the folder of a page to the root: `../` for `/1.0/`. */
function rootOf({ originalUrl }: FastifyRequest): string {
  const [path = ''] = originalUrl.replace(/^https?:\/\/[^/?]*/i, '').split('?');
  return '../'.repeat(Math.max(0, path.split('/').length - 2)) || './';
}

function htmlOf(links: readonly { readonly href: string; readonly title: string }[], root: string): string {
  const items = links.map(
    ({ href, title }) => `<li><a href="${href}">${title}</a> <small>/${href.slice(root.length)}</small></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Affilog</title>
<link rel="icon" href="data:,">
<style>${INDEX_STYLE}</style>
</head>
<body>
<h1>Affilog</h1>
<p>Product feeds, vouchers and transactions of an affiliate network, over REST in JSON and XML.</p>
<ul>
${items.join('\n')}
</ul>
</body>
</html>
`;
}

/** The interface as its operations describe it: the one source of OpenAPI and of `/docs`. */
@Injectable()
export class ApiDescription {
  private made: object | undefined;
  private readonly all: readonly RoutedOperation[];

  constructor(
    private readonly parts: HttpParts,
    modules: ModulesContainer,
    private readonly clock: Clock,
  ) {
    this.all = operationsOf(modules);
  }

  /** As OpenAPI 3.1; its examples are as of when it was first read. */
  get document(): object {
    this.made ??= this.describe();
    return this.made;
  }

  /** How an operation is routed, and which keys it has. */
  operation(id: string): RoutedOperation | undefined {
    return this.all.find(({ text }) => text.id === id);
  }

  /** Who may call an operation: an operation has the tokens of its service, for organisations that have them. */
  callersOf(id: string): readonly OrganisationKind[] {
    const operation = this.operation(id);
    const system = operation && serviceOf(this.parts.services, operation.path)?.system;
    return operation?.callers.filter((kind) => system !== undefined && mayHave(kind, system)) ?? [];
  }

  private describe(): object {
    const { services } = this.parts;
    const baseUrl = this.parts.baseUrl();
    const described = services.flatMap((service) => {
      const { system, description } = service;
      const own = this.all
        .filter(({ path }) => serviceOf(services, path) === service)
        .map((one) => ({ ...one, callers: one.callers.filter((kind) => mayHave(kind, system)) }));
      const namespace = `${baseUrl}${service.namespace}`;
      return description === undefined ? [] : { system, description, operations: own, namespace };
    });
    return openApiDocument(described, baseUrl, this.clock.now());
  }
}

/** The OpenAPI description of the interface; needs no token. */
@Controller('/1.0/openapi')
class OpenApiController {
  private document: StaticContent | undefined;

  constructor(private readonly description: ApiDescription) {}

  @Get()
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { extension } = request.target;
    if (extension !== 'json') throw httpFaults.notFound('expected /1.0/openapi.json');
    this.document ??= new StaticContent(CONTENT_TYPES.json, JSON.stringify(this.description.document));
    this.document.send(request, reply);
  }
}

type HandlerMethod = (...parameters: never[]) => unknown;

interface RoutedOperation extends Operation {
  readonly callers: readonly OrganisationKind[];
}

const reflector = new Reflector();

/** The operations of all controllers with `@ApiOperation`, as their decorators describe them. */
export function operationsOf(modules: ModulesContainer): readonly RoutedOperation[] {
  const controllers = [...modules.values()].flatMap((module) => [...module.controllers.values()]);
  return controllers.flatMap(({ metatype }) =>
    typeof metatype === 'function' ? ofController(metatype) : [],
  );
}

function ofController(controller: ReturnType<ExecutionContext['getHandler']>): RoutedOperation[] {
  const prototype = controller.prototype as object;
  const base: unknown = Reflect.getMetadata(PATH_METADATA, controller);
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return members.flatMap(([name, { value: handler }]) => {
    const text = isHandler(handler) ? reflector.get(ApiOperation, handler) : undefined;
    if (!isHandler(handler) || text === undefined) return [];
    const path: unknown = Reflect.getMetadata(PATH_METADATA, handler);
    return {
      method: RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)],
      path: `${trimmed(base)}${trimmed(path)}`,
      callers: rolesOf(reflector, handler, controller) ?? ORGANISATION_KINDS,
      formats: formatsOf(reflector, handler, controller),
      keys: keyTable(prototype, name),
      text,
    };
  });
}

function isHandler(value: unknown): value is HandlerMethod {
  return typeof value === 'function';
}

/** `/products` for `products`, nothing for `/`; the first of several paths. */
function trimmed(paths: unknown): string {
  const [path]: readonly unknown[] = [paths].flat();
  const inner = typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
  return inner === '' ? '' : `/${inner}`;
}

/** The XML schemas of all services (`docs/decisions.md#p24`); needs no token. */
@Controller('/1.0/schemas')
class SchemasController {
  private written: ReadonlyMap<string, string> | undefined;

  constructor(private readonly parts: HttpParts) {}

  @Get()
  index(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const files = [...this.schemas().keys()].sort();
    sendIndex(
      request,
      reply,
      files.map((file) => [`1.0/schemas/${file}`, file]),
    );
  }

  @Get(':file')
  schema(@Param('file') file: string, @Res({ passthrough: true }) reply: FastifyReply): string {
    const schemas = this.schemas();
    const schema = schemas.get(file);
    if (schema === undefined)
      throw httpFaults.notFound(
        `no schema is called ${file}: expected one of ${[...schemas.keys()].join(', ')}`,
      );
    reply.type(CONTENT_TYPES.xml).header('X-Content-Type-Options', 'nosniff');
    return schema;
  }

  private schemas(): ReadonlyMap<string, string> {
    this.written ??= new Map(
      [...this.described()].map(([file, schema]) => [file, writeXml(toXsd(schema), { pretty: true })]),
    );
    return this.written;
  }

  private described(): ReadonlyMap<string, XmlSchema> {
    const { vendor, services } = this.parts;
    const baseUrl = this.parts.baseUrl();
    const files = services.flatMap(({ namespace, description }) =>
      description === undefined
        ? []
        : [
            ...Object.entries(description.schemas(vendor)),
            [description.errorSchema, errorSchema(`${baseUrl}${namespace}`)] as const,
          ],
    );
    return new Map([...files, ['Errors_v1_0.xsd', errorSchema(baseUrl)]]);
  }
}

@Module({
  controllers: [IndexController, SchemasController, OpenApiController],
  providers: [ApiDescription],
  exports: [ApiDescription],
})
export class DescribeModule {}
