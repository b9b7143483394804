import * as nest from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiDescription, DescribeModule, StaticContent } from '../http/describe';
import { STYLE } from '../http/html';
import { HttpParts } from '../http/service';
import { httpFaults } from '../wire/api/errors';
import { SCRIPT, STYLE as OWN_STYLE } from './assets';
import { type ApiDocument, type OfferedToken } from './operation';
import { Site } from './site';

const SECURITY = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

const HTML = 'text/html; charset=utf-8';

const FILES = new Map([
  ['script.js', new StaticContent('text/javascript; charset=utf-8', SCRIPT)],
  ['style.css', new StaticContent('text/css; charset=utf-8', STYLE + OWN_STYLE)],
]);

/** The routes of the documentation, which need no token, in Fastify's notation. */
export const DOCS_ROUTES = ['', '/:page', '/errors/:code', '/files/:file'].map((path) => `/docs${path}`);

abstract class OfferedTokens {
  abstract readonly all: readonly OfferedToken[];
}

/** The pages on which people read and try the interface (`docs/decisions.md#x82`); they need no token and no other host. */
@nest.Controller('/docs')
class DocsController {
  private readonly contents = new Map<string, StaticContent>();
  private site: Site | undefined;

  constructor(
    private readonly parts: HttpParts,
    private readonly description: ApiDescription,
    private readonly offered: OfferedTokens,
  ) {}

  @nest.Get()
  start(@nest.Req() request: FastifyRequest, @nest.Res() reply: FastifyReply): void {
    const [path = ''] = request.originalUrl.split('?');
    if (path.endsWith('/')) void reply.redirect('../docs', 308);
    else this.send('', request, reply);
  }

  @nest.Get('files/:file')
  file(
    @nest.Param('file') name: string,
    @nest.Req() request: FastifyRequest,
    @nest.Res() reply: FastifyReply,
  ): void {
    const content = FILES.get(name);
    if (content === undefined) throw httpFaults.notFound('/docs has no such file');
    content.send(request, reply);
  }

  @nest.Get('errors/:code')
  error(
    @nest.Param('code') code: string,
    @nest.Req() request: FastifyRequest,
    @nest.Res() reply: FastifyReply,
  ): void {
    this.send(`errors/${code}`, request, reply);
  }

  @nest.Get(':page')
  page(
    @nest.Param('page') page: string,
    @nest.Req() request: FastifyRequest,
    @nest.Res() reply: FastifyReply,
  ): void {
    this.send(page, request, reply);
  }

  private send(path: string, request: FastifyRequest, reply: FastifyReply): void {
    const content = this.contents.get(path) ?? this.open(path);
    this.contents.set(path, content);
    // Scripts of other origins have the description; the tokens of a demonstration are not for them.
    for (const answer of [reply, reply.raw]) answer.removeHeader('Access-Control-Allow-Origin');
    content.send(request, reply);
  }

  private open(path: string): StaticContent {
    this.site ??= new Site({
      // Its type says what pages read of it.
      document: this.description.document as ApiDocument,
      services: this.parts.services,
      baseUrl: this.parts.baseUrl(),
      callersOf: (id) => this.description.callersOf(id),
      offered: this.offered.all,
    });
    const text = this.site.page(path);
    if (text === undefined) throw httpFaults.notFound(`/docs has no page ${path.slice(0, 100)}`);
    return new StaticContent(HTML, text, SECURITY);
  }
}

/** `offered`: tokens that anybody who sees the pages may use; only those of a demonstration. */
@nest.Module({})
export class DocsModule {
  static with(offered: readonly OfferedToken[]): nest.DynamicModule {
    return {
      module: DocsModule,
      imports: [DescribeModule],
      controllers: [DocsController],
      providers: [{ provide: OfferedTokens, useValue: { all: offered } }],
    };
  }
}
