import { type MakeFault } from '../../kernel/fault';
import { asUpperBound, expectedTime, readDate } from '../date';
import { isCurrency, isLanguage } from '../iso-codes';
import { meantBy } from '../words';
import { type RequestTarget, type SentKey } from './request-target';

/** Why a key is unusable; each service maps problems to its faults. */
type KeyProblem =
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
  readonly problem: Exclude<KeyProblem, 'missing' | 'notCommaSeparated'>;
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

/** The time of a key (epoch ms). A + that was sent unencoded has become a space (`docs/decisions.md#a2`). */
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

/** One key of a service, as in its document's table. */
export interface KeySpec<T = unknown> {
  readonly description?: string;
  readonly type: KeyType<T>;
  /** Takes several values: repeated, or separated by commas. */
  readonly multiple?: true;
  readonly required?: true;
  /** Described as required, and required by the operation itself, unless a setting makes it optional. */
  readonly requiredByDefault?: true;
  /** Other spellings; keys are compared without case anyway. */
  readonly aliases?: readonly string[];
  /** No effect on JSON, or replaces it: OpenAPI has it with the other formats only (`docs/decisions.md#x36`). */
  readonly beyondJson?: true;
}

export type KeyTable = Readonly<Record<string, KeySpec>>;

type ValueOf<Spec> = Spec extends { readonly type: KeyType<infer T> }
  ? Spec extends { readonly multiple: true }
    ? readonly T[]
    : Spec extends { readonly required: true }
      ? T
      : T | undefined
  : never;

/** The result of `readKeys`: lists for Multiple keys (empty when absent), otherwise a value or undefined. */
export type Keys<Table extends KeyTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** The values of a Multiple key; undefined if it was not sent. */
export function given<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length === 0 ? undefined : values;
}

/** Those of some keys that were sent. */
export function sentAmong<Sent extends object, Name extends keyof Sent>(
  names: readonly Name[],
  keys: Sent,
): { readonly [Key in Name]?: NonNullable<Sent[Key]> } {
  const entries = names
    .map((name) => [name, keys[name]] as const)
    .filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return Object.fromEntries(entries) as { readonly [Key in Name]?: NonNullable<Sent[Key]> };
}

export type KeyFaults = Readonly<Record<KeyProblem, MakeFault>>;

/** Limit of the values of one key. */
const MAX_VALUES = 1000;

/**
 * The keys of a request by a service's table, from path and query (`docs/decisions.md#a2`, `docs/decisions.md#a3`):
 * unknown ones are ignored, empty ones absent. Raises the fault of the first one that is missing or unusable; it names
 * the key, the value and what is expected.
 */
export function readKeys<const Table extends KeyTable>(
  table: Table,
  target: RequestTarget,
  faults: KeyFaults,
): Keys<Table> {
  const { absent, specs } = compiled(table);
  const sent = sentByName(table, target);
  const read: Record<string, unknown> = { ...absent };
  // Most keys of a table are not sent.
  for (const [name, spec] of specs)
    if (spec.required === true || sent.has(name))
      read[name] = readKey(name, spec, sent.get(name) ?? [], target, faults);
  return read as Keys<Table>;
}

/** The keys of a table in order, and what is read of a request without any. */
interface CompiledTable {
  readonly specs: readonly (readonly [name: string, spec: KeySpec])[];
  readonly absent: Readonly<Record<string, unknown>>;
}

const compiledTables = new WeakMap<KeyTable, CompiledTable>();

function compiled(table: KeyTable): CompiledTable {
  let found = compiledTables.get(table);
  if (found === undefined) {
    const specs = Object.entries(table);
    const absent = specs.map(([name, { multiple }]) => [name, multiple === true ? [] : undefined]);
    found = { specs, absent: Object.fromEntries(absent) as CompiledTable['absent'] };
    compiledTables.set(table, found);
  }
  return found;
}

function sentByName(
  table: KeyTable,
  { matrix, query }: RequestTarget,
): ReadonlyMap<string, readonly SentKey[]> {
  const names = spellingsOf(table);
  const sent = new Map<string, SentKey[]>();
  for (const keys of [matrix, query])
    for (const key of keys) {
      const name = names.get(key.name);
      if (name === undefined) continue;
      const others = sent.get(name);
      if (others === undefined) sent.set(name, [key]);
      else others.push(key);
    }
  return sent;
}

function readKey(
  name: string,
  spec: KeySpec,
  sent: readonly SentKey[],
  target: RequestTarget,
  faults: KeyFaults,
): unknown {
  const { type } = spec;
  const refuse = (problem: KeyProblem, value: string, accepts = type.expectedOf?.(value) ?? type.expected) =>
    faults[problem](`${name}=${value}: expected ${accepts}`);

  const texts = sent.flatMap((key) => {
    const text = key.value ?? (type.takesAll ? key.sent : undefined);
    if (text === undefined) throw refuse('unusable', key.sent, 'a percent-encoded UTF-8 text');
    return spec.multiple ? listed(text) : [text];
  });
  if (spec.required && texts.length === 0)
    throw faults.missing(`${name} is missing: ${target.path};${name}=…`);
  if (texts.length > MAX_VALUES) throw refuse('unusable', '…', `a list of at most ${MAX_VALUES}`);

  const values = texts.map((text) => {
    const value = type.read(text);
    if (value !== undefined) return value;
    const isList = spec.multiple && type.problem === 'notNumeric' && OTHER_SEPARATOR.test(text);
    throw isList
      ? refuse('notCommaSeparated', text, 'a list separated by commas')
      : refuse(type.problem, text);
  });
  if (spec.multiple) return values;
  const [first] = values;
  const other = texts.find((_, at) => values[at] !== first);
  if (other !== undefined) throw refuse('unusable', other, `one value, also found ${String(texts[0])}`);
  return first;
}

const OTHER_SEPARATOR = /^\s*\d+(?:[|;:/\s]+\d+)+\s*$/;

/** The values of a list; within one, `%2C` is a comma and `%25` a percent sign (`docs/decisions.md#a2`). */
export function listed(text: string): string[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => part.replace(/%(25|2c)/gi, (escape) => decodeURIComponent(escape)));
}

/** Keys that several operations have: with any number of values, and the format of lists. */
export const INTEGERS = { type: INTEGER, multiple: true } as const;
export const TEXTS = { type: TEXT, multiple: true } as const;
export const CSV_KEY = { type: oneOf('csv'), description: 'CSV; overrides the extension' } as const;

/** The key of writes that can be tried without storing anything (`docs/decisions.md#a15`). */
export const dryRunKey = {
  type: BOOLEAN,
  description: 'Checks everything and stores nothing; the answer is as it would be',
} as const satisfies KeySpec<boolean>;

/** A sent key that an operation does not have. */
interface UnknownKey extends SentKey {
  /** The operation's key that it seems to be a misspelling of. */
  readonly meant: string | undefined;
}

/** Names without a meaning of their own, which clients, browsers and trackers append (`docs/decisions.md#a14`). */
const MEANINGLESS = /^(_|utm_\w+|gclid|fbclid|msclkid)$/;

/** Read by the shared HTTP code, beside the keys of an operation. */
const OF_ALL = ['pretty', 'token', 'jsonp'];

/** The keys of path and query that are not in a table, in the order they were sent; those without a value last. */
export function unknownKeys(table: KeyTable, { matrix, query, bare }: RequestTarget): readonly UnknownKey[] {
  const spellings = spellingsOf(table);
  // jQuery sends `callback` where it is not configured that the name is `jsonp`.
  const isCalled = query.some(({ name }) => name === 'jsonp');
  return [...matrix, ...query, ...bare.map((name) => ({ name, value: '', sent: '' }))]
    .filter(({ name }) => !spellings.has(name) && !OF_ALL.includes(name) && !MEANINGLESS.test(name))
    .filter(({ name }) => !(isCalled && name === 'callback'))
    .map((key) => ({ ...key, meant: meantBy(key.name, [...spellings, ['pretty', 'pretty']]) }));
}

/** For a message: the key, what is unknown about it, and what is expected. */
export function describeUnknown(
  { name, value, sent, meant }: UnknownKey,
  table: KeyTable,
  isKnownElsewhere: boolean,
): string {
  const key = `${name}=${(value ?? sent).slice(0, 100)}`;
  const expected = `xpected one of: ${[...Object.keys(table), 'pretty'].join(', ')}`;
  if (meant !== undefined) return `${key}: unknown key; did you mean ${meant}? E${expected}`;
  return `${key}: ${isKnownElsewhere ? 'a key of other operations only' : 'unknown key'}; e${expected}`;
}

const cached = new WeakMap<KeyTable, ReadonlyMap<string, string>>();

/** The name of each key by its spellings, in lower case. */
export function spellingsOf(table: KeyTable): ReadonlyMap<string, string> {
  let spellings = cached.get(table);
  if (spellings === undefined) {
    const names = Object.entries(table).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((spelling) => [spelling.toLowerCase(), name] as const),
    );
    spellings = new Map(names);
    cached.set(table, spellings);
  }
  return spellings;
}
