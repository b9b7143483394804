import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { httpFaults } from '../../wire/api/errors';
import { StaticContent } from './static-content';

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

/**
 * The documentation page: Swagger UI over the OpenAPI description. Paths are relative, because a proxy may add a
 * prefix.
 */
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

/**
 * Swagger UI without what says nothing here (one server, links, an example of each error list), and for narrow screens.
 */
const STYLE = `.swagger-ui .scheme-container .schemes .schemes-server-container,
.swagger-ui .info .title small.version-stamp,
.swagger-ui .response-col_links,
.swagger-ui .response:not([data-code^='2']) .response-controls,
.swagger-ui .response:not([data-code^='2']) .model-example { display: none; }
.swagger-ui .scheme-container .schemes { justify-content: flex-end; }
.swagger-ui .response-col_description .renderedMarkdown ul { columns: 20em; column-gap: 2.5em; font-size: 13px; margin: 0.5em 0; padding-left: 1.5em; }
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

/** Files of our own. */
const OWN: ReadonlyMap<string, readonly [type: string, body: string]> = new Map([
  ['start.js', ['text/javascript; charset=utf-8', START]],
  ['page.css', ['text/css; charset=utf-8', STYLE]],
]);

/** The page on which people read and try the interface; needs no token and no other host. */
@Controller('/docs')
export class DocsController {
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
