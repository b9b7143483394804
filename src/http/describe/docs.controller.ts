import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { httpFaults } from '../../wire/api/http-faults';
import { PAGE, START, STYLE } from './docs-page';
import { StaticContent } from './static-content';

/** Files of swagger-ui-dist that the page uses, and their types. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
]);

/** Files of our own. */
const OWN: ReadonlyMap<string, readonly [type: string, body: string]> = new Map([
  ['start.js', ['text/javascript; charset=utf-8', START]],
  ['page.css', ['text/css; charset=utf-8', STYLE]],
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
