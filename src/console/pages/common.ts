import { type Asked, type Body, type Cell, type Field, type Page, type Value } from '../content';
import { linked } from '../render';

/** A time (ISO 8601) to the second, UTC. */
export function time(iso: string | undefined): Cell {
  return iso?.replace(/T(\d\d:\d\d:\d\d)(\.\d+)?Z$/, ' $1');
}

const LONG = 300;

export function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONG ? text : `${text.slice(0, LONG)}…`;
}

export const REASON: Field = { name: 'reason', label: 'Why' };

export function choice(asked: Asked, name: string, label: string, choices: readonly string[]): Field {
  return {
    name,
    label,
    value: asked[name],
    choices: [['', 'any'], ...choices.map((one) => [one, one] as const)],
  };
}

export function line(asked: Asked, name: string, label: string, isRequired = false): Field {
  return { name, label, value: asked[name], ...(isRequired ? { isRequired: true } : {}) };
}

const STATES: Readonly<Record<string, Value['tone']>> = {
  delivered: 'good',
  done: 'good',
  mapped: 'good',
  dead: 'bad',
  failed: 'bad',
  unmapped: 'bad',
  unfinished: 'waiting',
  held: 'waiting',
  retrying: 'waiting',
  cancelled: 'quiet',
};

export function state(text: string): Value {
  const tone = STATES[text];
  return { text, ...(tone === undefined ? {} : { tone }) };
}

/** A link to what follows: the same page with other keys. Undefined if nothing does. */
export function nextPage(
  { name }: Pick<Page, 'name'>,
  asked: Asked,
  keys: Asked | undefined,
): readonly Body[] {
  return keys === undefined ? [] : [{ is: 'links', links: [linked('Next', name, { ...asked, ...keys })] }];
}

/** The key of the next page by number, if this one is full. */
export function nextNumber({ page = '1' }: Asked, found: number): Asked | undefined {
  return found < SIZE ? undefined : { page: String(Number(page) + 1) };
}

export const SIZE = 100;
