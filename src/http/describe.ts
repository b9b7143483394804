import { createHash, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  Controller,
  type ExecutionContext,
  Get,
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
import { ApiOperation, formatsOf, keyTable, rolesOf } from './decorators';
import { sentTokens } from './request-state';
import { HttpParts, serviceOf } from './service';

/** Content that does not change while the process runs: clients may cache it and revalidate by ETag. */
export class StaticContent {
  private readonly etag: string;

  constructor(
    private readonly contentType: string,
    private readonly body: string | Buffer,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {
    this.etag = `"${hash('sha1', body)}"`;
  }

  send({ headers }: FastifyRequest, reply: FastifyReply): void {
    reply
      .headers({ ...this.headers, ETag: this.etag, 'Cache-Control': 'no-cache' })
      .header('X-Content-Type-Options', 'nosniff');
    if (hasVersion(headers['if-none-match'], this.etag)) void reply.code(304).send();
    else void reply.type(this.contentType).send(this.body);
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
  "img-src 'self'",
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
<link rel="icon" href="${root}docs/favicon-32x32.png">
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

/** The OpenAPI description of the interface; needs no token. */
@Controller('/1.0/openapi')
class OpenApiController {
  private document: StaticContent | undefined;

  constructor(
    private readonly parts: HttpParts,
    private readonly modules: ModulesContainer,
    private readonly clock: Clock,
  ) {}

  @Get()
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { extension } = request.target;
    if (extension !== 'json') throw httpFaults.notFound('expected /1.0/openapi.json');
    this.document ??= new StaticContent(CONTENT_TYPES.json, JSON.stringify(this.describe()));
    this.document.send(request, reply);
  }

  private describe(): object {
    const operations = operationsOf(this.modules);
    const { services } = this.parts;
    const baseUrl = this.parts.baseUrl();
    const described = services.flatMap((service) => {
      const { system, description } = service;
      const own = operations
        .filter(({ path }) => serviceOf(services, path) === service)
        .map((one) => ({ ...one, callers: one.callers.filter((kind) => mayHave(kind, system)) }));
      const namespace = `${baseUrl}${service.namespace}`;
      return description === undefined ? [] : { system, description, operations: own, namespace };
    });
    return openApiDocument(described, baseUrl, this.clock.now());
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

/** Files of swagger-ui-dist that the page uses, and their types. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const SECURITY = { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' };

/** The documentation page: Swagger UI over the OpenAPI description. Paths are relative: a proxy may add a prefix. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Affilog</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<div id="interface"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/**
 * Starts Swagger UI with all operations closed. It gets the description as OpenAPI 3.0, since at each operation that it
 * shows it processes the whole of an OpenAPI 3.1 description: for minutes, if it shows all. Tokens are kept until the
 * tab is closed (`docs/decisions.md#x82`).
 */
const START = `const KEPT = 'affilog.tokens';

const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

function keepTokens() {
  const keep = (original, system) => (payload) => {
    original(payload);
    sessionStorage.setItem(KEPT, JSON.stringify(system.authSelectors.authorized()));
  };
  return { statePlugins: { auth: { wrapActions: { authorize: keep, logout: keep } } } };
}

function asOpenApi30(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(asOpenApi30);
  const { $ref, type, ...others } = value;
  const rest = Object.fromEntries(Object.entries(others).map(([name, one]) => [name, asOpenApi30(one)]));
  if (typeof $ref === 'string') return 'description' in rest ? { allOf: [{ $ref }], ...rest } : { $ref };
  if (Array.isArray(type)) return { type: type.find((one) => one !== 'null'), nullable: true, ...rest };
  return type === undefined ? rest : { type: asOpenApi30(type), ...rest };
}

function readDescription() {
  const parseToJson = (_, { specActions }) => (text) =>
    specActions.updateJsonSpec({ ...asOpenApi30(JSON.parse(text)), openapi: '3.0.3' });
  return { statePlugins: { spec: { wrapActions: { parseToJson } } } };
}

const ui = SwaggerUIBundle({
  url: '1.0/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  plugins: [keepTokens, readDescription],
  onComplete: () => {
    const authorized = sessionStorage.getItem(KEPT);
    if (authorized !== null) ui.authActions.restoreAuthorization({ authorized: JSON.parse(authorized) });
  },
});
`;

/** Swagger UI without what says nothing here (one server, links, examples of errors), and for narrow screens. */
const STYLE = `.swagger-ui .scheme-container .schemes .schemes-server-container,
.swagger-ui .info .title small.version-stamp,
.swagger-ui .response-col_links,
.swagger-ui .response:not([data-code^='2']) .response-controls,
.swagger-ui .response:not([data-code^='2']) .model-example { display: none; }
.swagger-ui .scheme-container .schemes { justify-content: flex-end; }
.swagger-ui .response-col_description .renderedMarkdown ul {
  columns: 20em; column-gap: 2.5em; font-size: 13px; margin: 0.5em 0; padding-left: 1.5em;
}
.swagger-ui .response-col_description .renderedMarkdown li { break-inside: avoid; }
.swagger-ui .info { margin: 30px 0 10px; }

@media (max-width: 640px) {
  .swagger-ui .parameters thead { display: none; }
  .swagger-ui .parameters tr { display: block; border-bottom: 1px solid rgba(59, 65, 81, 0.2); padding: 8px 0; }
  .swagger-ui .parameters tr td { display: block; width: 100%; padding: 2px 0; }
  .swagger-ui .parameters td input,
  .swagger-ui .parameters td select { width: 100%; max-width: 100%; }
  .swagger-ui .parameters .json-schema-form-item { flex-wrap: nowrap; }
  .swagger-ui .parameters .json-schema-form-item-add { margin: 4px 0; }
  .swagger-ui .responses-table { table-layout: fixed; width: 100%; }
  .swagger-ui .responses-table .response-col_description { width: auto; max-width: 100%; }
  .swagger-ui .opblock-body pre.microlight { overflow-x: auto; white-space: pre; }
  .swagger-ui .response-col_status { min-width: 3em; width: 3em; }
  .swagger-ui .opblock-tag { flex-wrap: wrap; }
  .swagger-ui .opblock-tag small { flex-basis: 100%; order: 1; padding: 0; }
}
`;

const OWN: ReadonlyMap<string, readonly [type: string, body: string]> = new Map([
  ['start.js', ['text/javascript; charset=utf-8', START]],
  ['page.css', ['text/css; charset=utf-8', STYLE]],
]);

/** The page on which people read and try the interface; needs no token and no other host. */
@Controller('/docs')
class DocsController {
  private readonly contents = new Map<string, StaticContent>();

  @Get()
  page(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const [path = ''] = request.originalUrl.split('?');
    if (path.endsWith('/')) void reply.redirect('../docs', 308);
    else this.send('', request, reply);
  }

  @Get(':file')
  file(@Param('file') name: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.send(name, request, reply);
  }

  private send(name: string, request: FastifyRequest, reply: FastifyReply): void {
    const content = this.contents.get(name) ?? this.open(name);
    this.contents.set(name, content);
    content.send(request, reply);
  }

  private open(name: string): StaticContent {
    if (name === '') return new StaticContent('text/html; charset=utf-8', PAGE, SECURITY);
    const own = OWN.get(name);
    if (own !== undefined) return new StaticContent(...own);
    const type = FILES.get(name);
    if (type === undefined) throw httpFaults.notFound(`/docs has no file ${name}`);
    return new StaticContent(
      type,
      readFileSync(join(dirname(require.resolve('swagger-ui-dist/package.json')), name)),
    );
  }
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

@Module({ controllers: [IndexController, SchemasController, OpenApiController, DocsController] })
export class DescribeModule {}
