import { nameOf, type Place, type Refusals, wholeNumber } from '../api/posted';
import { asUpperBound, expectedTime, milliseconds, readDate, type WrittenDate } from '../date';
import { isLanguage } from '../iso-codes';
import { isWebUrl } from '../url';
import { forbiddenCharacter } from '../xml/write';
import { type NamedType, only, reading, type Scalar } from './record';

/**
 * The kinds of values that services share. In XML numbers and booleans are text, and JSON may have them as text too
 * (`docs/decisions.md#a11`); OpenAPI has the one type that clients should send (`docs/decisions.md#x36`).
 */

interface TextOptions {
  /** In UTF-8 (`docs/decisions.md#v4`). */
  readonly maxBytes?: number;
  /** An integer stands for its digits (`docs/decisions.md#a11`). */
  readonly orInteger?: true;
  /** The body was searched for characters that XML does not allow. */
  readonly isSearched?: true;
  /** In XML the white space around it does not belong to it. */
  readonly isTrimmed?: true;
  /** It identifies something: the same, and in CSV the white space does belong to it. */
  readonly isId?: true;
}

/** A kind of value: by default, an answer has it as a post does, written as it is. */
export function scalar<Posted, Answered = Posted>(
  posted: Scalar<Posted, Answered>['posted'],
  answered: Partial<Scalar<Posted, Answered>['answered']> = {},
): Scalar<Posted, Answered> {
  const { json, xsd } = posted;
  const write = (value: Answered) => value as string | number;
  return { is: 'scalar', posted, answered: { json, xsd, write, ...answered } };
}

/** Text, kept to the letter. */
export function text(options: TextOptions = {}): Scalar<string, string> {
  const { maxBytes, orInteger, isSearched, isTrimmed, isId } = options;
  const hasNoLimit = maxBytes === undefined && isSearched === true;
  const json = maxBytes === undefined ? STRING : { ...STRING, maxLength: maxBytes };
  return scalar<string>(
    {
      json,
      xsd: 'xs:string',
      ...(isTrimmed === true ? {} : { isText: true }),
      ...(isId === true ? { isId } : {}),
      ...(maxBytes === undefined ? {} : { note: `, ${maxBytes} bytes of UTF-8 at most` }),
      read: (value, place, refusals) => {
        const found = orInteger === true && Number.isSafeInteger(value) ? String(value) : value;
        if (typeof found === 'string')
          return hasNoLimit || isUsable(found, options, place, refusals) ? found : undefined;
        refusals.wrong(place, value, 'a string');
        return undefined;
      },
    },
    { json: STRING },
  );
}

/** Refuses a text that is too long or has a forbidden character, or both. */
function isUsable(
  found: string,
  { maxBytes = Infinity, isSearched }: TextOptions,
  place: Place,
  refusals: Refusals,
): boolean {
  // A UTF-16 unit has three bytes at most.
  const size = 3 * found.length > maxBytes ? Buffer.byteLength(found) : 0;
  if (size > maxBytes)
    refusals.refuse('unusable', `${refusals.named(place)} has ${size} bytes: expected at most ${maxBytes}`);
  const forbidden = isSearched === true ? undefined : forbiddenCharacter(found);
  if (forbidden !== undefined) {
    const code = forbidden.codePoint.toString(16).padStart(4, '0');
    refusals.refuse('unusable', `${nameOf(place)} has the character U+${code}, which XML does not allow`);
  }
  return size <= maxBytes && forbidden === undefined;
}

interface UrlOptions extends Pick<TextOptions, 'maxBytes' | 'isSearched'> {
  /** Spaces behind the host are read as `%20`, and white space at the ends is left out. */
  readonly takesSpaces?: true;
}

/** An absolute http or https URL. */
export function url({ takesSpaces, ...options }: UrlOptions = {}): Scalar<string, string> {
  const { posted, answered } = text(options);
  const find = (value: unknown): string | undefined => {
    const found = takesSpaces === true ? withoutSpaces(value) : value;
    return isUrl(found) ? found : undefined;
  };
  const readUrl = reading(find, EXPECTED_URL, 'malformedUrl');
  return {
    is: 'scalar',
    posted: {
      ...posted,
      read: (value, place, refusals) => {
        const isBounded = typeof value !== 'string' || isUsable(value, options, place, refusals);
        const found = readUrl(value, place, refusals);
        return isBounded ? found : undefined;
      },
    },
    answered: { ...answered, example: 'https://shop.example/lamp-1' },
  };
}

const EXPECTED_URL = 'an absolute http or https URL';

/** A space in the host is not mended. Without regular expressions: with them, many spaces would take long. */
function withoutSpaces(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (!text.includes(' ')) return text;
  const host = text.indexOf('//') + '//'.length;
  const length = text.slice(host).search(/[/?#]/);
  if (length < 0) return text;
  return text.slice(0, host + length) + text.slice(host + length).replaceAll(' ', '%20');
}

function isUrl(value: unknown): value is string {
  return typeof value === 'string' && isWebUrl(value);
}

/** ISO 639-1, in whatever case. */
export function language(): Scalar<string, string> {
  const isCode = (value: unknown): value is string =>
    typeof value === 'string' && isLanguage(value.toLowerCase());
  const read = reading((value) => (isCode(value) ? value : undefined), 'an ISO 639-1 code such as de');
  return scalar({ json: STRING, xsd: 'xs:string', read });
}

export function integer(): Scalar<number, number> {
  const read = reading(wholeNumber, expectedInteger, 'notNumeric');
  return scalar({ json: INT64, xsd: POSTED_INTEGER, read }, { xsd: 'xs:integer' });
}

/** Its range, if only that is wrong with the value. */
function expectedInteger(value: unknown): string {
  const isInteger = typeof value === 'string' ? /^-?\d+$/.test(value) : Number.isInteger(value);
  return isInteger || value === Infinity || value === -Infinity
    ? `an integer from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`
    : 'an integer';
}

/** An integer from 0 in an attribute, where white space belongs to the value. */
export function count(expected: string): Scalar<number, number> {
  const { posted, answered } = only(integer(), (found) => found >= 0, expected);
  const json = { ...INT64, minimum: 0 };
  const xsd = { name: 'count', base: 'xs:string', pattern: '(\\d{1,16})?' };
  return { is: 'scalar', posted: { ...posted, json, xsd }, answered };
}

/** One of some integer ids that have names. */
export function idOf<const Ids extends Readonly<Record<number, { readonly name: string }>>>(
  ids: Ids,
): Scalar<keyof Ids & number, keyof Ids & number> {
  const names = Object.entries(ids).map(([id, { name }]) => [id, name] as const);
  const expected = `one of ${names.map(([id, name]) => `${id} (${name})`).join(', ')}`;
  const note = `: ${names.map((pair) => pair.join(' ')).join(', ')}`;
  const isId = (id: number): id is keyof Ids & number => Object.hasOwn(ids, id);
  const { posted, answered } = only(integer(), isId, expected);
  return { is: 'scalar', posted: { ...posted, note }, answered: { ...answered, note } };
}

export function wordOf<const Word extends string>(...words: readonly Word[]): Scalar<Word, Word> {
  const json = { type: 'string', enum: words };
  const xsd = { name: words.join('Or'), base: 'xs:string', pattern: words.join('|') };
  const find = (value: unknown) => words.find((word) => word === value);
  return scalar({ json, xsd, read: reading(find, `one of ${words.join(', ')}`) });
}

export function amount(): Scalar<number, number> {
  const json = { ...DOUBLE, minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const xsd = orEmpty('amount', '\\d{1,15}(\\.\\d{1,15})?');
  const read = reading(amountIn, expectedNumber);
  return scalar({ json, xsd, read }, { json: DOUBLE, xsd: 'xs:double' });
}

function expectedNumber(value: unknown): string {
  if (typeof value === 'number' && value > Number.MAX_SAFE_INTEGER)
    return `a number from 0 to ${Number.MAX_SAFE_INTEGER}`;
  const isNumber = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value);
  return isNumber
    ? 'a number from 0 with at most 15 digits before the dot and 15 behind it'
    : 'a number from 0 with a dot as decimal mark, such as 12.5';
}

const AMOUNT = /^\d{1,15}(\.\d{1,15})?$/;

function amountIn(value: unknown): number | undefined {
  const found = typeof value === 'string' && AMOUNT.test(value) ? Number(value) : value;
  return typeof found === 'number' && found >= 0 && found <= Number.MAX_SAFE_INTEGER ? found : undefined;
}

export function boolean(): Scalar<boolean, boolean> {
  const xsd = orEmpty('boolean', '[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]');
  const read = reading(booleanIn, 'true or false');
  return scalar<boolean>({ json: { type: 'boolean' }, xsd, read }, { xsd: 'xs:boolean', write: String });
}

function booleanIn(value: unknown): boolean | undefined {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  if (word === true || word === 'true') return true;
  return word === false || word === 'false' ? false : undefined;
}

/** An instant: posted in epoch milliseconds, kept in ISO 8601, answered as the request wants, by default like posts. */
export function date(): Scalar<string, WrittenDate> {
  const note = ', in milliseconds since 1970';
  const read = reading(
    (value) => isoOf(numberedTime(value)),
    (value) => expectedTime(value, 'milliseconds since 1970'),
  );
  const example = (now: Date): number => now.getTime();
  return scalar({ json: INT64, xsd: POSTED_INTEGER, note, read }, { xsd: WRITTEN_DATE, note, example });
}

interface TimeOptions {
  /** A date includes its day (`docs/decisions.md#a17`); otherwise it is the first instant of the day. */
  readonly isUpperBound?: true;
}

/** An instant, posted in ISO 8601 or epoch milliseconds, answered as the request wants, by default in ISO 8601. */
export function time({ isUpperBound }: TimeOptions = {}): Scalar<string, WrittenDate> {
  const timeIn = (text: string) => (isUpperBound ? asUpperBound(text, readDate(text)) : readDate(text));
  const note = ', in ISO 8601 (milliseconds since 1970 are taken too)';
  const read = reading(
    (value) => isoOf(typeof value === 'string' ? timeIn(value) : numberedTime(value)),
    (value) => expectedTime(value, EXPECTED_TIME),
  );
  return scalar({ json: DATE_TIME, xsd: 'xs:string', note, read }, { xsd: WRITTEN_DATE });
}

const EXPECTED_TIME = 'an ISO 8601 date-time with Z or an offset, or milliseconds since 1970';

function numberedTime(value: unknown): number | undefined {
  const number = wholeNumber(value);
  return number === undefined ? undefined : milliseconds(number);
}

/** The years 1 to 9999, which XML Schema can write (ms). */
const [FIRST_TIME, LAST_TIME] = [
  Date.parse('0001-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

function isoOf(time: number | undefined): string | undefined {
  return time !== undefined && time >= FIRST_TIME && time <= LAST_TIME
    ? new Date(time).toISOString()
    : undefined;
}

/** An instant in ISO 8601, UTC. */
export function instant(): Scalar<string, string> {
  const read = reading(
    (value) => isoOf(typeof value === 'string' ? readDate(value) : undefined),
    'an ISO 8601 date-time with Z or an offset',
  );
  return scalar({ json: DATE_TIME, xsd: 'xs:dateTime', read });
}

/** Text that an answer has or lacks: null in JSON, empty in XML. */
export function textOrNone(pattern: string): Scalar<string, string | null> {
  return {
    ...text(),
    answered: {
      json: { type: ['string', 'null'], pattern: `^${pattern}$` },
      xsd: { name: 'textOrNone', base: 'xs:string', pattern: `(${pattern})?` },
      write: (value) => value ?? '',
    },
  };
}

/** Any object, as JSON: only of answers in JSON. */
export function object(): Scalar<never, object> {
  const json = { type: 'object', additionalProperties: true };
  const read = reading<never>(() => undefined, 'nothing');
  return scalar<never, object>({ json, xsd: 'xs:string', read }, { write: (value) => JSON.stringify(value) });
}

/** A number from 0 to 1. */
export function score(): Scalar<number, number> {
  const { posted, answered } = amount();
  const json = { ...DOUBLE, minimum: 0, maximum: 1 };
  return { is: 'scalar', posted, answered: { ...answered, json, example: 0.75 } };
}

const STRING = { type: 'string' } as const;
const DATE_TIME = { type: 'string', format: 'date-time' } as const;
/** Without a format, clients have 32 bits for integers and for numbers. */
const INT64 = { type: 'integer', format: 'int64' } as const;
export const DOUBLE = { type: 'number', format: 'double' } as const;
const WRITTEN_DATE = { name: 'date', union: ['xs:integer', 'xs:dateTime'] } as const satisfies NamedType;

/** An empty element is as good as none (`docs/decisions.md#v16`). */
export function orEmpty(name: string, pattern: string): NamedType {
  return { name, base: 'xs:string', pattern: `\\s*(${pattern})?\\s*` };
}

const POSTED_INTEGER = orEmpty('integer', '-?\\d{1,16}');

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A day, `YYYY-MM-DD` (Document 3). */
export function day(): Scalar<string, string> {
  const xsd = orEmpty('day', '\\d{4}-\\d\\d-\\d\\d');
  const read = reading(dayIn, 'a date such as 2026-03-31', 'notDate');
  return scalar({ json: { type: 'string', format: 'date' }, xsd, read }, { xsd: 'xs:date' });
}

function dayIn(value: unknown): string | undefined {
  return typeof value === 'string' && DAY.test(value) && readDate(value) !== undefined ? value : undefined;
}

/** Texts of a kind with at most this many characters, which are counted as JSON Schema does: by code points. */
export function atMost<Answered>(most: number, kind: Scalar<string, Answered>): Scalar<string, Answered> {
  const expected = `at most ${most} characters`;
  const isMet = (value: string): boolean => value.length <= most || Array.from(value).length <= most;
  const { posted, answered } = only(kind, isMet, expected);
  const json = { ...posted.json, maxLength: most };
  return { is: 'scalar', posted: { ...posted, json, note: ` (${expected})` }, answered };
}
