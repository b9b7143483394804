import * as nest from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiDescription, DescribeModule, StaticContent } from '../http/describe';
import { STYLE } from '../http/html';
import { HttpParts } from '../http/service';
import { httpFaults } from '../wire/api/errors';
import { type ApiDocument, type OfferedToken } from './operation';
import { Site } from './site';

const SECURITY = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

const HTML = 'text/html; charset=utf-8';

/** Sends what is tried, and remembers the language of examples. Without scripts all pages can be read. */
const SCRIPT = `const root = document.querySelector('main').dataset.root;

// What is remembered until the tab is closed. Some browsers forbid even that.
const remember = (name, value) => {
  try {
    sessionStorage.setItem('affilog.' + name, value);
  } catch {}
};
const remembered = (name) => {
  try {
    return sessionStorage.getItem('affilog.' + name) ?? '';
  } catch {
    return '';
  }
};

const showLanguage = (language) => {
  for (const tab of document.querySelectorAll('.tabs input')) if (tab.value === language) tab.checked = true;
};
showLanguage(remembered('language'));
addEventListener('change', ({ target }) => {
  if (!target.matches('.tabs input')) return;
  const top = target.getBoundingClientRect().top;
  remember('language', target.value);
  showLanguage(target.value);
  // What is above may have become longer.
  scrollBy({ top: target.getBoundingClientRect().top - top, behavior: 'instant' });
});

for (const tabs of document.querySelectorAll('.tabs')) {
  if (navigator.clipboard === undefined) break;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plain';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const panels = [...tabs.querySelectorAll('pre')];
    const at = [...tabs.querySelectorAll('input')].findIndex((tab) => tab.checked);
    await navigator.clipboard.writeText(panels[at].textContent).then(() => (button.textContent = 'Copied'), () => undefined);
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  tabs.insertBefore(button, tabs.querySelector('pre'));
}

// Whoever follows a link to something that is folded wants to see it.
const unfold = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest('details')?.setAttribute('open', '');
addEventListener('hashchange', unfold);
unfold();

// Characters of an answer that are shown.
const MOST = 200_000;

const textOf = async (answer) => {
  if (answer.body === null) return '';
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length < MOST) continue;
    await reader.cancel();
    return text.slice(0, MOST) + '\\n… the rest is not shown';
  }
};

const pretty = (text, type) => {
  try {
    return /json/.test(type) ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
  } catch {
    return text;
  }
};

const element = (name, text, details = {}) => Object.assign(document.createElement(name), { textContent: text }, details);

const requestOf = (form) => {
  const { method, path } = form.dataset;
  const fields = [...form.elements].filter(({ name }) => name !== '');
  const inPath = (name) => encodeURIComponent(form.elements['path.' + name].value);
  const added = new URLSearchParams(form.elements.more.value.trim().replaceAll(';', '&'));
  // It is sent in a header: addresses are logged.
  added.delete('token');
  // What somebody adds replaces the example.
  const keys = fields
    .filter(({ name, value }) => name.startsWith('query.') && value !== '' && !added.has(name.slice(6)))
    .map(({ name, value }) => [name.slice(6), value]);
  const query = [...keys, ...added].map(([name, value]) => name + '=' + encodeURIComponent(value)).join('&');
  const target = path.replace(/\\{(\\w+)\\}/g, (_, name) => inPath(name)) + (form.elements.format?.value ?? '');
  const body = form.elements.body?.value;
  const [first] = Object.keys(JSON.parse(form.dataset.bodies));
  const type = (form.elements.type?.value ?? first ?? 'application/json') + '; charset=utf-8';
  const details = body === undefined || body === '' ? {} : { body, headers: { 'Content-Type': type } };
  return { method, target: root + target.slice(1) + (query === '' ? '' : '?' + query), details };
};

const send = async (form, token) => {
  const shown = form.nextElementSibling;
  const { method, target, details } = requestOf(form);
  shown.replaceChildren(element('p', 'Sending …', { className: 'quiet' }));
  const began = performance.now();
  try {
    const headers = { ...details.headers, ...(token === '' ? {} : { Authorization: 'Bearer ' + token }) };
    // Some answers have no end.
    const signal = AbortSignal.timeout(60_000);
    const answer = await fetch(target, { method, ...details, headers, signal, credentials: 'omit', cache: 'no-store' });
    const text = await textOf(answer);
    const said = answer.status + ' ' + answer.statusText + ' after ' + Math.round(performance.now() - began) + ' ms';
    const status = element('p', said, { className: 'said ' + (answer.ok ? 'good' : 'bad') });
    status.setAttribute('role', 'status');
    const help = [...(answer.headers.get('link') ?? '').matchAll(/\\/docs\\/errors\\/(\\w+)>; rel="help"/g)].map(([, code]) =>
      element('a', 'What ' + code + ' means', { href: root + 'docs/errors/' + code }),
    );
    const links = document.createElement('p');
    links.className = 'links';
    links.append(...help);
    const received = [...answer.headers]
      .filter(([name]) => !/^(access-control-.*|connection|date|keep-alive)$/.test(name))
      .map(([name, value]) => name + ': ' + value);
    const { pathname, search } = new URL(target, location);
    const parts = [element('pre', method + ' ' + pathname + search)];
    parts.push(status, ...(help.length > 0 ? [links] : []), element('pre', received.join('\\n')));
    if (text !== '') parts.push(element('pre', pretty(text, answer.headers.get('content-type') ?? '')));
    for (const part of parts) if (part.tagName === 'PRE') part.tabIndex = 0;
    shown.replaceChildren(...parts);
  } catch (error) {
    shown.replaceChildren(element('p', 'No answer: ' + error.message, { className: 'said bad' }));
  }
};

for (const form of document.querySelectorAll('form.try')) {
  const { system, bodies } = form.dataset;
  const { token, type, body } = form.elements;
  form.closest('details').hidden = false;
  token.value = remembered('token.' + system);
  type?.addEventListener('change', () => (body.value = JSON.parse(bodies)[type.value]));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll('button')];
    const given = event.submitter?.dataset.token ?? token.value.trim();
    token.value = given;
    remember('token.' + system, given);
    for (const button of buttons) button.disabled = true;
    await send(form, given);
    for (const button of buttons) button.disabled = false;
  });
}

// A token that is used for one operation is there for the others.
addEventListener('toggle', ({ target }) => {
  const form = target.querySelector?.('form.try');
  if (form !== null && form !== undefined && form.elements.token.value === '')
    form.elements.token.value = remembered('token.' + form.dataset.system);
}, { capture: true });

document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
`;

/** Beside that of all pages (`http/html`). */
const OWN_STYLE = `
main { max-width: 66rem; }
main h2 a { color: inherit; } main h2 { margin-top: 2.75rem; font-size: 1.2rem; } main h3 { font-size: 1rem; margin: 1.5rem 0 0.5rem; }
main h4, main h5, main h6 { font-size: 0.95rem; margin: 1.25rem 0 0.5rem; }
main p, main li { max-width: 52rem; } li { margin: 0.2rem 0; }
[id] { scroll-margin-top: 1rem; }
code { font: 0.88em ui-monospace, monospace; background: var(--raised); padding: 0.1em 0.3em; border-radius: 3px; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 3.6rem; font: 600 0.78rem ui-monospace, monospace; color: var(--accent); }
.contents { list-style: none; padding: 0; columns: 22rem; } .contents li { break-inside: avoid; margin: 0; padding: 0.1rem 0; }
.contents a { display: grid; grid-template-columns: 4.2rem minmax(0, 1fr); align-items: baseline; }
section > details.fold, section > details.action { display: block; margin-right: 0; } section > details[hidden] { display: none; }
.fold > summary { border: 0; padding: 0.2rem 0; list-style: revert; } .fold > summary::-webkit-details-marker { display: inline; }
.tabs { border: 0; margin: 0.75rem 0; padding: 0; min-width: 0; display: flex; flex-wrap: wrap; gap: 0 0.9rem; align-items: baseline; }
.tabs legend { padding: 0; color: var(--quiet); font-size: 0.85rem; }
.tabs input { position: absolute; opacity: 0; width: 1px; height: 1px; }
.tabs label { cursor: pointer; padding: 0.2rem 0; color: var(--quiet); border-bottom: 2px solid transparent; }
.tabs input:checked + label { color: var(--text); border-color: var(--accent); }
.tabs input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 2px; }
.tabs button { margin-left: auto; font-size: 0.85rem; }
.tabs pre { display: none; flex-basis: 100%; min-width: 0; max-height: 24rem; }
${[1, 2, 3, 4, 5, 6]
  .map((at) => `.tabs input:nth-of-type(${at}):checked ~ pre:nth-of-type(${at})`)
  .join(',\n')} { display: block; }
.try { max-width: none; } .try .long { max-width: none; } .try textarea { min-height: 12rem; }
.answered pre { margin-top: 0.5rem; }
td > div { max-width: 34rem; } td > div:has(> a) { max-width: none; } td:last-child > div { max-width: 40rem; }
th:first-child, td:first-child { min-width: 9rem; } .short :is(th, td):first-child { width: 7rem; min-width: 0; } .short :is(th, td):nth-child(2) { width: 5rem; }
@media (max-width: 800px) {
  .plain table { display: table; } .plain thead { display: table-header-group; } .plain tbody { display: table-row-group; }
  .plain tr { display: table-row; } .plain td { display: table-cell; border-bottom: 1px solid var(--line); } .plain td::before { content: none; }
  .tabs button { margin-left: 0; }
}
`;

const FILES = new Map([
  ['script.js', new StaticContent('text/javascript; charset=utf-8', SCRIPT)],
  ['style.css', new StaticContent('text/css; charset=utf-8', STYLE + OWN_STYLE)],
]);

/** The routes of the documentation, which need no token, in Fastify's notation. */
export const DOCS_ROUTES = ['', '/:page', '/errors/:code', '/files/:file'].map((path) => `/docs${path}`);

abstract class OfferedTokens {
  abstract readonly all: readonly OfferedToken[];
}

/**
 * The pages on which people read and try the interface (`docs/decisions.md#x82`); they need no token and no other host.
 */
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
