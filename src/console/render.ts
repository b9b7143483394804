import {
  type Action,
  type Body,
  type Cell,
  type Field,
  type Page,
  type Section,
  type Table,
  type Value,
} from './content';
import { html, Html, type Piece } from './html';

/** Where a page is shown. */
export interface Frame {
  /** The path of the console, without a trailing slash: a proxy may add a prefix. */
  readonly base: string;
  /** The address of the page within the console, to which its forms are posted. */
  readonly here: string;
  /** `Sessions.formKey`. */
  readonly formKey: string;
}

interface Shown extends Frame {
  readonly page: Pick<Page, 'name' | 'title'>;
  readonly menu: readonly Pick<Page, 'name' | 'title'>[];
  readonly fields: readonly Field[];
  readonly sections: readonly Section[];
  /** What has just been done, or why not. */
  readonly said?: { readonly text: string; readonly tone: 'good' | 'bad' } | undefined;
}

/** A whole page. */
export function pageText(shown: Shown): string {
  const { base, page, menu, fields, sections, said, formKey } = shown;
  return document(
    base,
    page.title,
    html`<header>
        <a class="brand" href="${base}/overview">Affilog</a>
        <nav aria-label="Pages">
          ${menu.map(
            ({ name, title }) =>
              html`<a href="${base}/${name}" ${name === page.name && new Html('aria-current="page"')}
                >${title}</a
              >`,
          )}
        </nav>
        <form method="post" action="${base}/logout">
          <input type="hidden" name="form" value="${formKey}" /><button class="plain">Log out</button>
        </form>
      </header>
      <main>
        <h1>${page.title}</h1>
        ${said && html`<p role="status" class="said ${said.tone}">${said.text}</p>`}
        ${fields.length > 0 && askingForm(shown)} ${sections.map((one) => sectionPiece(one, shown))}
      </main>`,
  );
}

/** The page on which a session begins. */
export function loginText(base: string, to: string, problem?: string): string {
  return document(
    base,
    'Log in',
    html`<main class="login">
      <h1>Affilog console</h1>
      ${problem !== undefined && html`<p role="alert" class="said bad">${problem}</p>`}
      <form method="post" action="${base}/login" class="fields">
        <input type="hidden" name="to" value="${to}" />
        <label
          >Token of an operator, for OPS
          <input
            name="key"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            spellcheck="false"
        /></label>
        <button>Log in</button>
      </form>
      <p class="quiet">
        <code>affilog tokens issue</code> makes one. The session ends after 12 hours, or when the token is
        revoked.
      </p>
    </main>`,
  );
}

/** A page that only says something. */
export function messageText(base: string, title: string, text: string): string {
  return document(
    base,
    title,
    html`<main>
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a href="${base}/overview">Overview</a></p>
    </main>`,
  );
}

/** A section as it is sent again while the page is open. */
export function sectionText(section: Section, frame: Frame): string {
  return innerPiece(section, frame).text;
}

function document(base: string, title: string, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} – Affilog</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${base}/files/uplot.css" />
        <link rel="stylesheet" href="${base}/files/style.css" />
        <script defer src="${base}/files/uplot.js"></script>
        <script defer src="${base}/files/script.js"></script>
      </head>
      <body>
        ${body}
      </body>
    </html> `.text;
}

function askingForm({ base, page, fields }: Shown): Html {
  return html`<form method="get" action="${base}/${page.name}" class="fields asking">
    ${fields.map(fieldPiece)}<button>Show</button>
  </form>`;
}

function sectionPiece(section: Section, frame: Frame): Html {
  const live = section.isLive === true && new Html('data-live');
  return html`<section id="${section.id}" ${live} aria-labelledby="${section.id}-title">
    ${innerPiece(section, frame)}
  </section>`;
}

function innerPiece({ id, title, bodies }: Section, frame: Frame): Html {
  return html`<h2 id="${id}-title">${title}</h2>
    ${bodies.map((body) => bodyPiece(body, frame))}`;
}

function bodyPiece(body: Body, frame: Frame): Html {
  switch (body.is) {
    case 'action':
      return actionPiece(body, frame);
    case 'facts':
      return html`<dl>
        ${body.facts.map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${cellPiece(value, frame)}</dd>
            </div>`,
        )}
      </dl>`;
    case 'links':
      return html`<p class="links">${body.links.map((link) => html`${cellPiece(link, frame)} `)}</p>`;
    case 'plot': {
      const [first, last] = [body.points[0], body.points.at(-1)];
      return html`<figure
        class="plot"
        data-label="${body.label}"
        data-points="${JSON.stringify(body.points)}"
      >
        <figcaption>
          ${body.label}: ${first?.[1]} at first, ${last?.[1]} at last, ${body.points.length} values
        </figcaption>
      </figure>`;
    }
    case 'problem':
      return html`<p class="said bad">${body.text}</p>`;
    case 'table':
      return tablePiece(body, frame);
    case 'text':
      return html`<pre tabindex="0">${body.text}</pre>`;
  }
}

function tablePiece({ columns, rows, none }: Table, frame: Frame): Html {
  if (rows.length === 0) return html`<p class="quiet">${none}</p>`;
  return html`<div class="scrolled" tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, at) => html`<td ${numeric(cell)} data-label="${columns[at]}">${inRow(cell, frame)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function inRow(cell: Cell | Action, frame: Frame): Piece {
  return typeof cell === 'object' && 'is' in cell ? actionPiece(cell, frame) : cellPiece(cell, frame);
}

function numeric(cell: Cell | Action): Piece {
  return typeof cell === 'number' && new Html('class="number"');
}

/** As pages show times: to the second, UTC. */
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

function cellPiece(cell: Cell, { base }: Frame): Piece {
  if (cell === undefined) return '–';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (typeof cell === 'number') return cell.toLocaleString('en');
  if (typeof cell === 'string') return TIME.test(cell) ? html`<time>${cell}</time>` : cell;
  const text = cell.tone === undefined ? cell.text : html`<span class="${cell.tone}">${cell.text}</span>`;
  return cell.to === undefined ? text : html`<a href="${base}/${cell.to}">${text}</a>`;
}

function actionPiece({ name, label, fields = [], known = {} }: Action, { base, here, formKey }: Frame): Html {
  const hidden = { form: formKey, do: name, ...known };
  return html`<form method="post" action="${base}/${here}" class="fields action">
    ${Object.entries(hidden).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}" />`)}
    ${fields.map(fieldPiece)}<button>${label}</button>
  </form>`;
}

function fieldPiece({ name, label, value, choices, isLong, isRequired }: Field): Html {
  const required = isRequired === true && new Html('required');
  if (choices !== undefined)
    return html`<label
      >${label}
      <select name="${name}" ${required}>
        ${choices.map(
          ([one, text]) =>
            html`<option value="${one}" ${one === value && new Html('selected')}>${text}</option>`,
        )}
      </select></label
    >`;
  if (isLong === true)
    return html`<label class="long"
      >${label} <textarea name="${name}" rows="4" spellcheck="false" ${required}>${value}</textarea>
    </label>`;
  return html`<label
    >${label}
    <input
      name="${name}"
      placeholder="${label}"
      value="${value ?? ''}"
      autocomplete="off"
      spellcheck="false"
      ${required}
  /></label>`;
}

/** The address of a page with its keys. */
export function pageAddress(
  name: string,
  keys: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(keys).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [`${encodeURIComponent(key)}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? name : `${name}?${given.join('&')}`;
}

/** A value that leads to another page. */
export function linked(text: string, name: string, keys?: Parameters<typeof pageAddress>[1]): Value {
  return { text, to: pageAddress(name, keys) };
}
