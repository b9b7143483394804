import { type Operator, Refused } from './operator';

/** How something is: what helps to see it at once. */
type Tone = 'good' | 'bad' | 'waiting' | 'quiet';

/** A value on a page, which may lead to another page of the console (its name and keys). */
export interface Value {
  readonly text: string;
  readonly to?: string;
  readonly tone?: Tone;
}

export type Cell = Value | string | number | boolean | undefined;

/** What a person fills in. Without `choices` it is a line of text. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Several lines. */
  readonly isLong?: true;
  readonly isRequired?: true;
}

/** A change that a page offers; `known` goes with what is filled in. */
export interface Action {
  readonly is: 'action';
  readonly name: string;
  readonly label: string;
  readonly fields?: readonly Field[];
  readonly known?: Readonly<Record<string, string | number>>;
}

export interface Table {
  readonly is: 'table';
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (Cell | Action)[])[];
  /** What is said if there are no rows. */
  readonly none: string;
}

interface Facts {
  readonly is: 'facts';
  readonly facts: readonly (readonly [name: string, value: Cell])[];
}

interface Text {
  readonly is: 'text';
  readonly text: string;
}

/** Values by time (ms), drawn as steps. */
interface Plot {
  readonly is: 'plot';
  readonly label: string;
  readonly points: readonly (readonly [time: number, value: number])[];
}

/** Links to other pages, such as the next one of a list. */
interface Links {
  readonly is: 'links';
  readonly links: readonly Value[];
}

interface Problem {
  readonly is: 'problem';
  readonly text: string;
}

export type Body = Action | Facts | Links | Plot | Problem | Table | Text;

/** A part of a page. What is live is sent again while the page is open. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly isLive?: boolean;
  readonly bodies: readonly Body[];
}

/** The keys of a page's address, by name. */
export type Asked = Readonly<Record<string, string | undefined>>;

export interface Page {
  /** The last segment of its address. */
  readonly name: string;
  readonly title: string;
  /** Whether the menu has it. */
  readonly inMenu: boolean;
  /** What the form at its top has. */
  readonly fields?: (asked: Asked) => readonly Field[];
  readonly sections: (operator: Operator, asked: Asked) => readonly PendingSection[];
  /** What its forms do, by the name of the action. Returns what was done, in words. */
  readonly actions?: Readonly<Record<string, (operator: Operator, posted: Asked) => Promise<string>>>;
}

export interface PendingSection extends Omit<Section, 'bodies'> {
  readonly read: () => Promise<readonly Body[]>;
}

/** A part of a page that is read on its own: if that fails, it says why, and the others are there. */
export function section(
  id: string,
  title: string,
  read: () => Promise<Body | readonly Body[]>,
  isLive = false,
): PendingSection {
  return { id, title, isLive, read: () => read().then(listed, problemOf) };
}

function listed(bodies: Body | readonly Body[]): readonly Body[] {
  return Array.isArray(bodies) ? (bodies as readonly Body[]) : [bodies as Body];
}

/** The token of the session was revoked, or has expired: no page can be shown. */
const UNAUTHORISED = [401, 403];

function problemOf(error: unknown): readonly Body[] {
  if (error instanceof Refused && !UNAUTHORISED.includes(error.status))
    return [{ is: 'problem', text: error.message }];
  throw error;
}
