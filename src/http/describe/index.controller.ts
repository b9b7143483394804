import { createHash } from 'node:crypto';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { CONTENT_TYPES, prefersHtml } from '../../wire/api/format';
import { httpFaults, openApiFaults } from '../../wire/api/errors';
import { sentTokens } from '../request-state';

/** For those who find the server and look around; needs no token (`docs/decisions.md#x85`). */
@Controller()
export class IndexController {
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
  ['health/ready', 'State of this server'],
];

const STYLE = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
ul { list-style: none; padding: 0 }
li { margin: .75rem 0 }
a { overflow-wrap: anywhere }
small { display: block }
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Answers with links, in HTML if the client prefers it, otherwise in JSON (`docs/decisions.md#x85`). Links are relative
 * to the page, because a proxy may add a prefix.
 */
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
    .headers(asHtml ? { 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'no-referrer' } : {})
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
<style>${STYLE}</style>
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
