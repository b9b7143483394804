import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { httpFaults } from '../../wire/http-faults';
import { HttpOptions } from '../service';
import { StaticContent } from './static-content';

/** Files of swagger-ui-dist that the page uses, and their types. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Affilog</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="interface"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** Paths are relative to the page, because a proxy may add a prefix. */
const START = `SwaggerUIBundle({
  url: '1.0/openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
`;

/** The page on which people read and try the interface; needs no token and no other host. */
@Controller('/docs')
export class DocsController {
  private readonly contents = new Map<string, StaticContent>();

  constructor(private readonly options: HttpOptions) {}

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
    if (name === '') return new StaticContent('text/html; charset=utf-8', PAGE, this.security());
    if (name === 'start.js') return new StaticContent('text/javascript; charset=utf-8', START);
    const type = FILES.get(name);
    if (type === undefined) throw httpFaults.notFound(`/docs has no file ${name}`);
    return new StaticContent(
      type,
      readFileSync(join(dirname(require.resolve('swagger-ui-dist/package.json')), name)),
    );
  }

  private security(): Readonly<Record<string, string>> {
    const { origin } = new URL(this.options.baseUrl());
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      `connect-src 'self' ${origin}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ];
    return { 'Content-Security-Policy': policy.join('; '), 'Referrer-Policy': 'no-referrer' };
  }
}
