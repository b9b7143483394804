import { asUpperBound, readDate } from '../date';
import { expectedTime } from '../expected-numbers';
import { isCurrency, isLanguage } from '../iso-codes';

/** Why a key is unusable; each service maps problems to its faults. */
export type KeyProblem =
  /** It is required and absent. */
  | 'missing'
  | 'notNumeric'
  | 'notDate'
  /** A list with another separator than the comma. */
  | 'notCommaSeparated'
  | 'notCurrency'
  /** Any other problem. */
  | 'unusable';

/** Reads the text of a key. */
export interface KeyType<T> {
  /** What is expected, for messages. */
  readonly expected: string;
  /** What is expected in place of a text, if the text itself shows what is wrong. */
  readonly expectedOf?: (text: string) => string;
  /** The problem of a text for which `read` returns undefined. */
  readonly problem: Exclude<KeyProblem, 'missing' | 'notCommaSeparated'>;
  /** The value, undefined for an unusable text. */
  readonly read: (text: string) => T | undefined;
  /** JSON schema of its values; by default a string. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Every text is usable, even one that cannot be decoded. */
  readonly takesAll?: true;
}

export const TEXT: KeyType<string> = { expected: 'a text', problem: 'unusable', read: (text) => text };

export const INTEGER: KeyType<number> = {
  expected: 'an integer',
  schema: { type: 'integer', format: 'int64' },
  problem: 'notNumeric',
  read: (text) => {
    const number = /^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : NaN;
    return Number.isSafeInteger(number) ? number : undefined;
  },
};

export const NUMBER: KeyType<number> = {
  expected: 'a number with a dot as decimal mark',
  schema: { type: 'number', format: 'double' },
  problem: 'notNumeric',
  read: (text) => (/^\s*[+-]?\d{1,15}(\.\d{1,15})?\s*$/.test(text) ? Number(text) : undefined),
};

export const BOOLEAN: KeyType<boolean> = {
  expected: 'true or false',
  schema: { type: 'boolean' },
  problem: 'unusable',
  read: (text) => {
    const word = text.trim().toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : undefined;
  },
};

const TIME = 'milliseconds since 1970, or an ISO 8601 date or date-time with Z or an offset';

/** In milliseconds since 1970 (`docs/decisions.md#a17`). */
export const DATE: KeyType<number> = {
  expected: TIME,
  expectedOf: (text) => expectedTime(text, TIME),
  problem: 'notDate',
  read: timeIn,
};

/**
 * The time that a key has, in milliseconds since 1970. A + that was sent as it is has become a space (`docs/decisions.md#a2`).
 */
export function timeIn(text: string): number | undefined {
  return readDate(text.trim().replace(/ (?=\d\d:?(\d\d)?$)/, '+'));
}

/** The first instant (UTC) of a day, in milliseconds since 1970 (Document 3, List keys). */
export const DAY: KeyType<number> = {
  expected: 'a date such as 2026-03-31',
  schema: { type: 'string', format: 'date' },
  problem: 'notDate',
  read: (text) => (/^\s*\d{4}-\d\d-\d\d\s*$/.test(text) ? readDate(text.trim()) : undefined),
};

/** The type of an upper bound: a date includes its day (`docs/decisions.md#a17`). */
export function until(type: KeyType<number>): KeyType<number> {
  return { ...type, read: (text) => asUpperBound(text.trim(), type.read(text)) };
}

/** ISO 4217 in capital letters, however it was spelt (`docs/decisions.md#a2`). */
export const CURRENCY: KeyType<string> = {
  expected: 'an ISO 4217 code such as EUR',
  problem: 'notCurrency',
  read: (text) => {
    const code = text.trim().toUpperCase();
    return isCurrency(code) ? code : undefined;
  },
};

/** ISO 639-1 in small letters, however it was spelt. */
export const LANGUAGE: KeyType<string> = {
  expected: 'an ISO 639-1 code such as de',
  problem: 'unusable',
  read: (text) => {
    const code = text.trim().toLowerCase();
    return isLanguage(code) ? code : undefined;
  },
};

/** One of some words, compared without case. */
export function oneOf<const Word extends string>(...words: readonly Word[]): KeyType<Word> {
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]));
  return {
    expected: `one of ${words.join(', ')}`,
    schema: { type: 'string', enum: words },
    problem: 'unusable',
    read: (text) => byLowerCase.get(text.trim().toLowerCase()),
  };
}
