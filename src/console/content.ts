import { type FormField } from '../http/html';
import { shortened } from '../kernel/text';
import { defined } from '../kernel/values';
import { type OperationText } from '../wire/api/description';
import { type Operator, Refused, type NamedValues } from './operator';

/** How something is, at a glance. */
type Tone = 'good' | 'bad' | 'waiting' | 'quiet';

/** A value on a page. */
export interface Value {
  readonly text: string;
  /** Address of another page of the console that it links to. */
  readonly to?: string;
  readonly tone?: Tone;
  /** A progress bar, 0 to 1. */
  readonly share?: number;
}

/** Times are ISO 8601; null and undefined are shown as a dash. */
export type Cell = Value | string | number | boolean | null | undefined;

/** A change that a page offers. */
export interface PageAction {
  readonly label: string;
  /** What it does, for whoever is about to confirm it. */
  readonly explains?: string;
  readonly fields?: readonly FormField[];
  /** It takes effect for others at once: a reason is required. */
  readonly isGrave?: true;
  /** It is sent the posted values that it knows. */
  readonly operation: OperationText;
  readonly body?: (posted: Asked) => object;
  /** What was done, with posted values as `:name`. */
  readonly done: string;
}

/** By the name that forms post. */
export type Actions = Readonly<Record<string, PageAction>>;

/** A form of an action; `known` is posted with what is filled in. */
export interface Form extends Pick<PageAction, 'explains' | 'fields' | 'isGrave' | 'label'> {
  readonly is: 'form';
  readonly action: string;
  readonly known: NamedValues;
}

/** What a row of a table has: of several forms, one below the other. */
export type RowCell = Cell | Form | readonly Form[];

export interface TableBody {
  readonly is: 'table';
  readonly columns: readonly string[];
  readonly rows: readonly (readonly RowCell[])[];
  /** Shown if there are no rows. */
  readonly none: string;
}

export type Body =
  | Form
  | TableBody
  | { readonly is: 'facts'; readonly facts: readonly (readonly [name: string, value: Cell])[] }
  | { readonly is: 'links'; readonly links: readonly Value[] }
  /** NamedValues by time (ms), drawn as steps. */
  | { readonly is: 'plot'; readonly label: string; readonly points: readonly (readonly [number, number])[] }
  | { readonly is: 'problem' | 'text'; readonly text: string };

/** A part of a page. What is live is sent again while the page is open. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly isLive?: boolean;
  readonly bodies: readonly Body[];
}

/** A part of a page before it is read: it is titled by what was asked for. */
interface PendingSection extends Omit<Section, 'bodies' | 'title'> {
  readonly title: string | ((asked: Asked) => string);
  readonly read: (operator: Operator, asked: Asked) => Promise<readonly Body[]>;
}

/** The keys of a page's address, or the fields of a form, by name. */
export type Asked = Readonly<Record<string, string | undefined>>;

export interface ConsolePage {
  /** The last segment of its address. */
  readonly name: string;
  readonly title: string;
  /** The form at its top. Without those that are required, the page has no sections. */
  readonly fields?: readonly FormField[];
  readonly sections: readonly PendingSection[];
  readonly actions?: Actions;
}

/** Nothing to show, as conditions with `&&` have it. */
type None = false | undefined | '' | 0;

export type Bodies = Body | None | readonly (Body | None)[];

/** A part of a page that is read on its own: if that fails, it shows the reason, and the others are there. */
export function section(
  id: string,
  title: PendingSection['title'],
  read: (operator: Operator, asked: Asked) => Promise<Bodies>,
  isLive = false,
): PendingSection {
  const bodies = async (operator: Operator, asked: Asked): Promise<readonly Body[]> =>
    [await read(operator, asked)].flat().filter((body): body is Body => Boolean(body));
  return { id, title, isLive, read: (operator, asked) => bodies(operator, asked).catch(problemOf) };
}

/** The token of the session was revoked, or has expired: no page can be shown. */
const UNAUTHORISED = [401, 403];

function problemOf(error: unknown): readonly Body[] {
  if (error instanceof Refused && !UNAUTHORISED.includes(error.status)) return [problem(error.message)];
  throw error;
}

export const problem = (text: string): Body => ({ is: 'problem', text });
export const json = (value: unknown): Body => ({ is: 'text', text: JSON.stringify(value, undefined, 2) });

/** A column by its title: what it shows of a row, on a page that was asked for with some keys. */
export type Columns<Row> = Readonly<Record<string, (row: Row, asked: Asked) => RowCell>>;

/** Columns with fields of a row, titled by their names. */
export function own<Name extends string>(
  ...names: readonly Name[]
): Columns<{ readonly [One in Name]?: Cell }> {
  return Object.fromEntries(
    names.map((name) => [titleOf(name), (row: { readonly [One in Name]?: Cell }) => plain(name, row[name])]),
  );
}

/** Ids are no quantities, and positions have no zeros in front. */
export function plain(name: string, value: Cell): Cell {
  if (name === 'position' && typeof value === 'string') return value.replace(/^0+(?=\d)/, '');
  return typeof value === 'number' && name.endsWith('Id') ? String(value) : value;
}

/** `lastModifiedTime` as words. */
function titleOf(name: string): string {
  const words = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `none` is shown without rows. */
export function table<Row>(
  rows: readonly Row[],
  none: string,
  columns: Columns<Row>,
  asked: Asked = {},
): TableBody {
  const cells = Object.values(columns);
  return {
    is: 'table',
    columns: Object.keys(columns),
    none,
    rows: rows.map((row) => cells.map((cell) => cell(row, asked))),
  };
}

/** NamedValues by their names, as far as there are any. */
export function facts(named: Readonly<Record<string, Cell>>): Body {
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return { is: 'facts', facts: given.map(([name, value]) => [titleOf(name), plain(name, value)]) };
}

/** Undefined without links. */
export function links(...all: readonly (Value | None)[]): Body | undefined {
  const given = all.filter((link): link is Value => Boolean(link));
  return given.length === 0 ? undefined : { is: 'links', links: given };
}

export function action(
  label: string,
  operation: OperationText,
  done: string,
  more: Omit<PageAction, 'done' | 'label' | 'operation'> = {},
): PageAction {
  return { label, operation, done, ...more };
}

export function form<All extends Actions>(
  actions: All,
  name: string & keyof All,
  known: NamedValues,
  others: readonly FormField[] = [],
): Form {
  const { label, explains, fields = [], isGrave } = actions[name] as PageAction;
  const shown = defined({ label, explains, fields: [...others, ...fields], isGrave });
  return { is: 'form', action: name, ...shown, known };
}

/** The address of a page with its keys. */
export function pageAddress(name: string, keys: NamedValues = {}): string {
  const given = Object.entries(keys).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, String(value)] as const],
  );
  return given.length === 0 ? name : `${name}?${new URLSearchParams(Object.fromEntries(given)).toString()}`;
}

/** A value that leads to another page. */
export function linked(text: string | number, name: string, keys?: NamedValues): Value {
  return { text: String(text), to: pageAddress(name, keys) };
}

/** What somebody may want to see of a thing that has a history. */
export function thing(kind: string, id: string | number, text: string | number = `${kind} ${id}`): Value {
  return linked(text, 'history', { kind, id });
}

export function product(feedId: string | number | undefined, id: string, text = id): Value {
  return linked(text, 'history', { kind: 'product', feedId, id });
}

/** The pages about a feed. */
export function feedLinks(feedId: string | number | undefined): Body | undefined {
  return links(
    linked('history, deletions of products too', 'history', { kind: 'feed', id: feedId }),
    linked('loads', 'loads', { feedId }),
    linked('mappings', 'mappings', { fid: feedId }),
    linked('where it is fetched from', 'sources', { fid: feedId }),
    linked('why is a product seen, or not', 'why', { kind: 'product', feedId }),
  );
}

export const required = (name: string, label: string) => ({ name, label, isRequired: true }) as const;

type FieldLabels = Readonly<Record<string, string>>;

/** Fields of one line by their names: those that are required, and others. */
export function lines(needed: FieldLabels, others: FieldLabels = {}): readonly FormField[] {
  return [
    ...Object.entries(needed).map(([name, label]) => required(name, label)),
    ...Object.entries(others).map(([name, label]) => ({ name, label })),
  ];
}

/** One of some words, or any of them. */
export function choice(name: string, label: string, words: readonly string[], any = 'any'): FormField {
  return { name, label, choices: [['', any], ...words.map((word) => [word, word] as const)] };
}

const LONG = 300;

/** A value in a cell: its beginning. */
export function short(value: unknown): string {
  if (value === undefined) return 'none';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), LONG);
}

const TONES: readonly (readonly [Tone, readonly string[]])[] = [
  ['good', ['delivered', 'done', 'enabled', 'live', 'mapped', 'ok']],
  ['bad', ['dead', 'degraded', 'disabled', 'failed', 'failing', 'refused', 'unmapped']],
  ['waiting', ['building', 'catching up', 'held', 'paused', 'retrying', 'unfinished', 'waiting']],
  ['quiet', ['cancelled', 'old']],
];

/** A state in its tone; `shown` has more details. */
export function state(is: string, shown = is): Value {
  const [tone] = TONES.find(([, words]) => words.includes(is)) ?? [];
  return { text: shown, ...(tone === undefined ? {} : { tone }) };
}

/** How many there are of what should not be; `to`: the address where it is listed. */
export function trouble(count: number, to?: string): Value | number {
  return count === 0 ? 0 : { text: count.toLocaleString('en'), tone: 'bad', ...defined({ to }) };
}

export const yes = (holds: boolean): Value => ({ text: holds ? 'yes' : 'no', tone: holds ? 'good' : 'bad' });
