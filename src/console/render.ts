import { documentText, fieldPiece, type FormField, gridPiece, Html, markup, type Piece } from '../http/html';
import type * as ui from './content';

/** Where a page is shown. */
interface Frame {
  /** The path of the console, without a trailing slash: a proxy may add a prefix. */
  readonly base: string;
  /** The address of the page within the console, to which its forms are posted. */
  readonly here: string;
  /** `Sessions.formKey`. */
  readonly formKey: string;
}

type Named = Pick<ui.ConsolePage, 'name' | 'title'>;

/** What has just been done, or why not. */
export interface Said {
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

interface WholePage extends Frame {
  readonly page: Named & Pick<ui.ConsolePage, 'fields'>;
  /** Pages by groups. */
  readonly menu: Readonly<Record<string, readonly Named[]>>;
  readonly asked: ui.Asked;
  readonly sections: readonly ui.Section[];
  readonly said?: Said | undefined;
}

/** A whole page. */
export function pageText({ page, menu, asked, sections, said, ...frame }: WholePage): string {
  const { base, formKey } = frame;
  const link = ({ name, title }: Named) =>
    markup`<li><a href="${base}/${name}" ${name === page.name && new Html('aria-current="page"')}>${title}</a></li>`;
  const sought = page.name === 'find' && asked['id'];
  const fields = page.fields?.map((field) =>
    fieldPiece({ ...field, value: asked[field.name] ?? field.value }),
  );
  return consoleText(
    base,
    page.title,
    markup`<a class="skip" href="#content">Skip to the content</a>
<header>
  <a class="brand" href="${base}/overview">Affilog</a>
  <form method="get" action="${base}/find" role="search">
    <input name="id" type="search" aria-label="Find by id" placeholder="Find by id ( / )" value="${sought}" required>
  </form>
  <form method="post" action="${base}/logout">
    <input type="hidden" name="form" value="${formKey}"><button class="plain">Log out</button>
  </form>
</header>
<nav aria-label="Pages">${Object.entries(menu).map(
      ([group, pages]) => markup`<h2>${group}</h2><ul>${pages.map(link)}</ul>`,
    )}</nav>
<main id="content" tabindex="-1">
  <h1>${page.title}</h1>
  ${said && markup`<p role="status" class="said ${said.tone}">${said.text}</p>`}
  ${fields && fields.length > 0 && markup`<form method="get" action="${base}/${page.name}" class="fields asking">${fields}<button>Show</button></form>`}
  ${sections.map((one) => sectionPiece(one, frame))}
</main>`,
  );
}

/** The page on which a session begins. */
export function loginText(base: string, to: string, problem?: string): string {
  return consoleText(
    base,
    'Log in',
    markup`<main class="login">
<h1>Affilog console</h1>
${problem !== undefined && markup`<p role="alert" class="said bad">${problem}</p>`}
<form method="post" action="${base}/login" class="fields">
  <input type="hidden" name="to" value="${to}">
  <label>Token of an operator, for OPS
    <input name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false"></label>
  <button>Log in</button>
</form>
<p class="quiet"><code>affilog tokens issue</code> makes one. The session ends after 12 hours, or when the token is revoked.</p>
</main>`,
  );
}

/** A page with a message only. */
export function messageText(base: string, title: string, text: string): string {
  const link = markup`<a href="${base}/overview">Overview</a>`;
  return consoleText(
    base,
    title,
    markup`<main class="login"><h1>${title}</h1><p>${text}</p><p>${link}</p></main>`,
  );
}

/** A section as it is sent again while the page is open. */
export function sectionText(section: ui.Section, frame: Frame): string {
  return innerPiece(section, frame).text;
}

function consoleText(base: string, title: string, body: Html): string {
  const files = (...names: readonly string[]) => names.map((name) => `${base}/files/${name}`);
  const [styles, scripts] = [files('uplot.css', 'style.css'), files('uplot.js', 'script.js')];
  return documentText({ title, styles, scripts }, body);
}

function sectionPiece(section: ui.Section, frame: Frame): Html {
  const live = section.isLive === true && new Html('data-live');
  const { id } = section;
  return markup`<section id="${id}" ${live} aria-labelledby="${id}-title">${innerPiece(section, frame)}</section>`;
}

function innerPiece({ id, title, bodies }: ui.Section, frame: Frame): Html {
  return markup`<h2 id="${id}-title">${title}</h2>${bodies.map((body) => bodyPiece(body, frame))}`;
}

function bodyPiece(body: ui.Body, frame: Frame): Html {
  switch (body.is) {
    case 'form':
      return formPiece(body, frame);
    case 'facts': {
      const fact = ([name, value]: (typeof body.facts)[number]) =>
        markup`<div><dt>${name}</dt><dd>${cellPiece(value, frame)}</dd></div>`;
      return markup`<dl>${body.facts.map(fact)}</dl>`;
    }
    case 'links':
      return markup`<p class="links">${body.links.map((link) => markup`${cellPiece(link, frame)} `)}</p>`;
    case 'plot': {
      const { label, points } = body;
      const caption = `${label}: first ${points[0]?.[1]}, now ${points.at(-1)?.[1]}, ${points.length} values`;
      return markup`<figure class="plot" data-label="${label}" data-points="${JSON.stringify(points)}">
<figcaption>${caption}</figcaption></figure>`;
    }
    case 'problem':
      return markup`<p class="said bad">${body.text}</p>`;
    case 'table':
      return tablePiece(body, frame);
    case 'text':
      return markup`<pre tabindex="0" dir="auto">${body.text}</pre>`;
  }
}

function tablePiece({ columns, rows, none }: ui.TableBody, frame: Frame): Html {
  if (rows.length === 0) return markup`<p class="quiet">${none}</p>`;
  // Amounts have as many decimals as the others of their column.
  const isDecimal = columns.map((_, at) =>
    rows.some((row) => typeof row[at] === 'number' && !Number.isInteger(row[at])),
  );
  const cells = rows.map((row) =>
    row.map((one, at) =>
      typeof one === 'number' && isDecimal[at] === true
        ? one.toLocaleString('en', DECIMALS)
        : cellPiece(one, frame),
    ),
  );
  return gridPiece(columns, cells, (at) => rows.some((row) => typeof row[at] === 'number'));
}

function cellPiece(cell: ui.RowCell, frame: Frame): Piece {
  if (cell === undefined || cell === null || cell === '') return '–';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (typeof cell === 'number') return cell.toLocaleString('en', Number.isInteger(cell) ? {} : DECIMALS);
  if (typeof cell === 'string') return textPiece(cell);
  if ('length' in cell) return cell.map((form) => formPiece(form, frame));
  if ('is' in cell) return formPiece(cell, frame);
  const { text, to, tone, share } = cell;
  const shown =
    tone === undefined ? textPiece(text) : markup`<span class="${tone}">${textPiece(text)}</span>`;
  const bar = share !== undefined && markup`<progress value="${share}" max="1"></progress> `;
  const unbroken = text.length <= 24 && new Html('class="id"');
  return [bar, to === undefined ? shown : markup`<a ${unbroken} href="${frame.base}/${to}">${shown}</a>`];
}

/** Such as amounts: two digits at least. */
const DECIMALS = { minimumFractionDigits: 2, maximumFractionDigits: 20 };

/** Shown to the second, UTC; dates too; in JSON as it is. */
const TIME = /(?<!["\w])(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00(?:00)?))?/;

/** Other scripts keep their direction. */
function textPiece(text: string): Piece {
  const [found, day, time = ''] = TIME.exec(text) ?? [];
  if (found === undefined) return markup`<bdi>${text}</bdi>`;
  const at = text.indexOf(found);
  const [before, after] = [text.slice(0, at), text.slice(at + found.length)];
  return markup`${before}<time datetime="${found}">${`${day} ${time}`.trim()}</time>${after !== '' && textPiece(after)}`;
}

const REASON: FormField = { name: 'reason', label: 'Reason, for the list of actions' };

/** Folded: whoever opens it sees what will be done, and confirms it by its button. */
function formPiece(form: ui.Form, { base, here, formKey }: Frame): Html {
  const { action, label, explains, fields = [], isGrave, known } = form;
  const hidden = [['form', formKey], ['do', action], ...Object.entries(known)] as const;
  const reason = isGrave === true ? { ...REASON, isRequired: true as const } : REASON;
  return markup`<details class="action"><summary>${label}</summary>
<form method="post" action="${base}/${here}" class="fields">
${hidden.map(([key, value]) => value !== undefined && markup`<input type="hidden" name="${key}" value="${value}">`)}
${explains !== undefined && markup`<p>${explains}</p>`}${[...fields, reason].map(fieldPiece)}<button>${label}</button>
</form></details>`;
}
