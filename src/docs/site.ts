import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentText, gridPiece, type Html, markup, type Piece } from '../http/html';
import { errorNamespace, type Service } from '../http/service';
import { Fault, type FaultTable } from '../kernel/fault';
import { errorsAsJson, errorsAsXml, httpFaultTable, openApiFaultTable } from '../wire/api/errors';
import { writeXml } from '../wire/xml/write';
import { inline, type LinkTo, markdown, slugOf } from './markdown';
import {
  type ApiDocument,
  type ApiOperation,
  codesOf,
  type OfferedToken,
  operationPiece,
  requestTexts,
  type ShownOperation,
  tabsPiece,
} from './operation';

/** What the pages are made of. */
export interface SiteParts {
  readonly document: ApiDocument;
  readonly services: readonly Service[];
  readonly baseUrl: string;
  readonly callersOf: (operationId: string) => readonly string[];
  readonly offered: readonly OfferedToken[];
}

/** Guides, by their names: files of `docs/`, which a build has its own copy of. */
const GUIDES = {
  requests: 'Requests',
  feeds: 'Loading products',
  following: 'Keeping a copy',
  notifications: 'Notifications',
  decisions: 'Decisions',
} as const;

const guideText = (name: string): string => readFileSync(join(__dirname, '../../docs', `${name}.md`), 'utf8');

/** What a code means in one of the tables that have it. */
interface CodeMeaning {
  /** Of the services that have the table. */
  readonly title: string;
  /** The first of them; undefined for the codes of all services. */
  readonly service: Service | undefined;
  readonly fault: Fault;
}

/**
 * A section of `docs/errors.md`: what to do about a code, and the verbs that ids of operations with it begin
 * with; all, if there are none.
 */
export interface Explained {
  readonly verbs: readonly string[];
  readonly text: string;
}

/** The sections of `docs/errors.md` by their codes, and the text before them. */
export function explainedErrors(): {
  readonly general: string;
  readonly byCode: ReadonlyMap<string, Explained>;
} {
  const [general = '', ...sections] = guideText('errors').split(/^(?=##+ )/m);
  const found = sections.flatMap((section) => {
    const [, code, verbs = '', text = ''] = /^### (\S+)(?: \(([a-z, ]+)\))?\n(.*)$/s.exec(section) ?? [];
    return code === undefined ? [] : [[code, { verbs: verbs.split(', ').filter(Boolean), text }] as const];
  });
  return { general, byCode: new Map(found) };
}

/** The pages of `/docs`, each made when it is asked for (`docs/decisions.md#x82`). */
export class Site {
  private readonly errors = explainedErrors();
  private readonly meanings: ReadonlyMap<string, readonly CodeMeaning[]>;
  private readonly operations: readonly ShownOperation[];

  constructor(private readonly parts: SiteParts) {
    const { services, document } = parts;
    const described = services.filter(({ description }) => description !== undefined);
    const tables = new Set(
      described.flatMap(({ description }) => (description === undefined ? [] : [description.faults])),
    );
    const all = [openApiFaultTable, httpFaultTable, ...tables].flatMap((table) =>
      meaningsIn(
        table,
        described.filter(({ description }) => description?.faults === table),
      ),
    );
    const codes = new Set(all.map(({ fault }) => fault.code));
    this.meanings = new Map([...codes].map((code) => [code, all.filter(({ fault }) => fault.code === code)]));
    this.operations = operationsIn(document);
  }

  /** The HTML of a page by its path below `/docs/`; undefined if there is none. */
  page(path: string): string | undefined {
    const [first = '', code] = path.split('/');
    if (code !== undefined) return first === 'errors' ? this.errorPage(code) : undefined;
    if (first === '') return this.startPage();
    if (first === 'errors') return this.errorsPage();
    if (first in GUIDES) return this.guidePage(first);
    const tag = this.parts.document.tags.find(({ name }) => slugOf(name) === first);
    return tag === undefined ? undefined : this.servicePage(tag);
  }

  private startPage(): string {
    const { document, offered } = this.parts;
    const rows = document.tags.map(({ name, description }) => [
      markup`<a href="docs/${slugOf(name)}">${name}</a>`,
      inline(description, linksFrom('./')),
    ]);
    const first = this.operations.find(({ operation }) => operation.operationId === 'searchProducts');
    const isDemo = offered.length > 0;
    return frame(
      './',
      '',
      'Affilog',
      document,
      markup`
<p>Product feeds, vouchers, transactions and claims of an affiliate network, over REST in JSON and XML.</p>
${isDemo && markup`<p class="said good">This server has the demonstration network: “Try it” sends requests with its tokens.</p>`}
<section><h2>Services</h2>${gridPiece(['Service', 'What it has'], rows)}</section>
${
  first !== undefined &&
  markup`<section><h2>A first request</h2>
<p>Put a publisher’s token for PRODUCTS into the environment: <code>export TOKEN=…</code>.</p>
${tabsPiece('first', 'Example', requestTexts(first, this.around('./')))}</section>`
}
<section><h2>For programs</h2><ul>
<li><a href="1.0/openapi.json">OpenAPI 3.1</a>: what generators of clients read</li>
<li><a href="1.0/schemas/">XML schemas</a></li>
<li><a href="1.0/schemas/events/">JSON schemas of events</a></li>
</ul></section>`,
    );
  }

  private servicePage({ name, description }: ApiDocument['tags'][number]): string {
    const { document, offered, callersOf } = this.parts;
    const own = this.operations.filter(({ operation }) => operation.tags.includes(name));
    const list = (all: readonly ShownOperation[]) =>
      markup`<ul class="contents">${all.map(({ method, operation: { operationId, summary }, isWebhook }) => markup`<li><a href="#${operationId}"><span class="method">${isWebhook ? 'hook' : method}</span> ${summary}</a></li>`)}</ul>`;
    const around = this.around('../');
    const pieces = own.map((shown) => {
      const callers = callersOf(shown.operation.operationId);
      const systems = (shown.operation.security ?? []).flatMap((one) => Object.keys(one));
      const fitting = offered.filter(
        ({ system, kind }) => systems.includes(system) && callers.includes(kind),
      );
      return operationPiece(shown, { ...around, offered: fitting });
    });
    return frame(
      '../',
      slugOf(name),
      name,
      document,
      markup`<p>${inline(description, around.linkTo)}</p>${list(own)}${pieces}`,
    );
  }

  private guidePage(name: string): string {
    const linkTo = linksFrom('../');
    const [, title = name, text = ''] = /^# ([^\n]*)\n(.*)$/s.exec(guideText(name)) ?? [];
    return frame(
      '../',
      name,
      title,
      this.parts.document,
      markup`<article>${markdown(text, linkTo)}</article>`,
    );
  }

  private errorsPage(): string {
    const linkTo = linksFrom('../');
    const titles = new Set([...this.meanings.values()].flat().map(({ title }) => title));
    const [, general = ''] = /^# [^\n]*\n(.*)$/s.exec(this.errors.general) ?? [];
    const tables = [...titles].map((title) => {
      const rows = [...this.meanings.entries()].flatMap(([code, meanings]) =>
        meanings
          .filter((one) => one.title === title)
          .map(({ fault }) => [
            markup`<a href="errors/${code}">${code}</a>`,
            String(fault.status),
            fault.message,
          ]),
      );
      return markup`<section class="plain short"><h2>${title}</h2>${gridPiece(['Code', 'Status', 'Meaning'], rows)}</section>`;
    });
    return frame(
      '../',
      'errors',
      'Errors',
      this.parts.document,
      markup`${markdown(general, linkTo)}${tables}`,
    );
  }

  private errorPage(code: string): string | undefined {
    const meanings = this.meanings.get(code);
    const [first] = meanings ?? [];
    if (meanings === undefined || first === undefined) return undefined;
    const { text = '' } = this.errors.byCode.get(code) ?? {};
    const rows = meanings.map(({ title, fault }) => [title, String(fault.status), fault.message]);
    const { service, fault } = first;
    const namespace = errorNamespace(service, 'POST', this.parts.baseUrl);
    const examples = [
      ['JSON', JSON.stringify(errorsAsJson([fault]), undefined, 2)],
      ['XML', writeXml(errorsAsXml([fault], namespace), { pretty: true })],
    ] as const;
    const raising = this.raising(code, meanings);
    const link = ({ method, operation: { tags, operationId, summary } }: ShownOperation) => {
      const [tag = ''] = tags;
      const address = `../${slugOf(tag)}#${operationId}`;
      return markup`<li><a href="${address}"><span class="method">${method}</span> <span>${summary} <small class="quiet">${tag}</small></span></a></li>`;
    };
    return frame(
      '../../',
      'errors',
      `${code}: ${fault.message}`,
      this.parts.document,
      markup`
${gridPiece(['Service', 'Status', 'Meaning'], rows)}
${markdown(text, linksFrom('../../'))}
<section><h2>The answer</h2>${tabsPiece('answer', 'Answer', examples)}</section>
<section><h2>Operations that may answer it</h2>
${raising === 'all' ? markup`<p>All operations.</p>` : markup`<ul class="contents">${raising.map(link)}</ul>`}</section>
<p><a href="../errors">All errors</a></p>`,
    );
  }

  /** The operations that may be refused with a code. */
  private raising(code: string, meanings: readonly CodeMeaning[]): readonly ShownOperation[] | 'all' {
    if (meanings.some(({ service }) => service === undefined)) return 'all';
    const facts = this.around('');
    return this.operations.filter(
      ({ operation, isWebhook }) =>
        !isWebhook && codesOf(operation, facts).some(([, codes]) => codes.includes(code)),
    );
  }

  private around(root: string) {
    const { document, baseUrl } = this.parts;
    const toError = (code: string) => `${root}docs/errors/${code}`;
    const mayRaise = (operationId: string, code: string): boolean => {
      const { verbs = [] } = this.errors.byCode.get(code) ?? {};
      return verbs.length === 0 || verbs.some((verb) => operationId.startsWith(verb));
    };
    return { document, baseUrl, linkTo: linksFrom(root), toError, mayRaise };
  }
}

/** The rows of a table that these services have; without services all have it. */
function meaningsIn(table: FaultTable, services: readonly Service[]): readonly CodeMeaning[] {
  const tags = services.flatMap(({ description }) => description?.title ?? []);
  const title = tags.length === 0 ? 'All services' : tags.join(', ');
  return Object.values(table).map(([code, status, text]) => ({
    ...{ title, service: services[0] },
    fault: new Fault(code, status, text),
  }));
}

/** All operations: those with other formats are joined with the same ones with JSON; then the messages. */
function operationsIn({ paths, webhooks = {} }: ApiDocument): readonly ShownOperation[] {
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const byId = new Map<string, ApiOperation>(
    found.map(({ operation }) => [operation.operationId, operation]),
  );
  const called = found
    .filter(({ path }) => !path.endsWith('.{extension}'))
    .map((one) => ({ ...one, others: byId.get(`${one.operation.operationId}As`), isWebhook: false }));
  const sent = Object.entries(webhooks).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...{ method: method.toUpperCase(), path, isWebhook: true },
      operation: { ...operation, tags: [operation['x-service'] ?? ''] },
    })),
  );
  return [...called, ...sent];
}

/** Links of guides: to other pages, and to other hosts. What is only in the repository is no link. */
function linksFrom(root: string): LinkTo {
  return (target) => {
    if (/^(https?:\/\/|#)/.test(target)) return target;
    const [, name = '', fragment = ''] = /^([\w-]+)\.md(#.*)?$/.exec(target) ?? [];
    if (name === 'errors') return `${root}docs/errors${fragment.replace('#', '/')}`;
    return name in GUIDES ? `${root}docs/${name}${fragment}` : undefined;
  };
}

/** A page with its menu. Addresses are relative to the page, by `root`: a proxy may add a prefix. */
function frame(root: string, here: string, title: string, { tags }: ApiDocument, content: Piece): string {
  const link = ([name, shown]: readonly [string, string]): Html =>
    markup`<li><a href="${root}docs${name === '' ? '' : `/${name}`}" ${name === here && markup`aria-current="page"`}>${shown}</a></li>`;
  const menu: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    Documentation: [['', 'Start'], ...Object.entries(GUIDES), ['errors', 'Errors']],
    Services: tags.map(({ name }) => [slugOf(name), name]),
  };
  return documentText(
    { title, styles: [`${root}docs/files/style.css`], scripts: [`${root}docs/files/script.js`] },
    markup`<a class="skip" href="#content">Skip to the content</a>
<header><a class="brand" href="${root}docs">Affilog</a> <span class="quiet">Documentation</span></header>
<nav aria-label="Pages">${Object.entries(menu).map(([group, pages]) => markup`<h2>${group}</h2><ul>${pages.map(link)}</ul>`)}</nav>
<main id="content" tabindex="-1" data-root="${root}">
<h1>${title}</h1>
${content}
</main>`,
  );
}
