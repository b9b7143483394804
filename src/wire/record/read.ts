import {
  isPosted,
  isUnset,
  nameOf,
  notesOf,
  type Place,
  type Posted,
  type Refusals,
  repeatedField,
} from '../api/posted';
import { NotParsable, utf8Text } from '../bytes';
import { csvRows, isUnclosed, separatorOf } from '../csv/rows';
import { meantBy } from '../words';
import { type Field, type Fields, type Kind, type List, type PostedOf, type RecordKind } from './record';

type Read = (value: unknown, place: Place, refusals: Refusals) => unknown;

/** What was read of a posted record: fields that are refused or not set are absent. */
export type FoundIn<K extends RecordKind> = Partial<PostedOf<K>>;

/** `within` is the place of the record; fields that are read apart are put into `into`. */
export type ReadRecord<K extends RecordKind> = (
  posted: Posted,
  refusals: Refusals,
  into?: object,
  within?: Place,
) => FoundIn<K>;

/**
 * Compiles a table into a function that reads a post in the shape of JSON, wherever it comes from, and collects
 * everything that is wrong with it. Fields that the table does not name are left out and reported to the `Origin`,
 * unless they look like one that restricts who sees the post: these are refused, and so are repeated ones. Raises
 * `Faults` for one that is too large to be read. The others keep the order of the table. Those that are read `apart`
 * are put into the object that is given for them.
 */
export function recordReader<K extends RecordKind>(kind: K, apart: readonly string[] = []): ReadRecord<K> {
  const read = fieldsReader(kind, apart, '');
  const restricting = restrictingIn(kind.fields);
  return (posted, refusals, into, within) => {
    const { unread = NONE, repeated = NONE, maxBytes } = notesOf(posted) ?? {};
    if (maxBytes !== undefined) {
      refusals.refuse('unusable', `more than ${maxBytes} bytes: expected at most ${maxBytes}`);
      refusals.raise();
    }
    const found = read(posted, refusals, into, within);
    for (const path of unread) refusals.origin.onUnknown?.(path);
    for (const path of repeated) refusals.refuse('repeated', repeatedField(nameOf(placeOf(within, path))));
    if (restricting.size > 0) {
      const unknown = Object.entries(posted).filter(([name]) => !Object.hasOwn(kind.fields, name));
      const others = [...unread, ...unknown.flatMap(([name, value]) => [name, ...membersOf(name, value)])];
      const refused = new Set<string>();
      for (const path of others.slice(0, MOST_UNKNOWN))
        if (
          !refused.has(path.split('.')[0] ?? '') &&
          refuseIfRestricting(path, restricting, refusals, within)
        )
          refused.add(path);
      if (others.length > MOST_UNKNOWN)
        refusals.refuse('unusable', `${others.length} unknown fields: expected at most ${MOST_UNKNOWN}`);
    }
    return found;
  };
}

const NONE: ReadonlySet<string> = new Set();
/** Unknown fields that are compared with those that restrict who sees a post. */
const MOST_UNKNOWN = 1000;

/** Unknown members that are compared with the name of a missing field. */
const MOST_COMPARED = 20;

/** Descriptions of the fields that restrict who sees a post, by their names. */
function restrictingIn(fields: Fields): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(fields).flatMap(([name, { kind, restricts }]) => {
      if (restricts === undefined) return [];
      if (kind.is !== 'list') return [name, ...restricts].map((one) => [one, name] as const);
      const { each, items = 'values' } = kind;
      const expected = `${name}, a list of ${items}, in XML ${each} elements`;
      return [name, each, ...restricts].map((one) => [one, expected] as const);
    }),
  );
}

/** Paths of the members of an unknown object: one of them may be what restricts. */
function membersOf(name: string, value: unknown): readonly string[] {
  return isPosted(value)
    ? Object.keys(value)
        .slice(0, MOST_COMPARED)
        .map((member) => `${name}.${member}`)
    : [];
}

/** Whether it was refused: to ignore a misspelt field would show the post to more than its sender wants. */
function refuseIfRestricting(
  path: string,
  restricting: ReadonlyMap<string, string>,
  refusals: Refusals,
  within: Place | undefined,
): boolean {
  const spellings = [...restricting.keys()].map((name) => [name.toLowerCase(), name] as const);
  const segments = path.replace(/^@/, '').split('.');
  const meant = [segments[0] ?? '', segments.at(-1) ?? '']
    .map((segment) => meantBy(segment.slice(0, 100).toLowerCase(), spellings))
    .find((found) => found !== undefined);
  if (meant === undefined) return false;
  const expected = restricting.get(meant) ?? meant;
  const place = nameOf(placeOf(within, path.slice(0, 100)));
  refusals.refuse(
    'unusable',
    `${place}: cannot be read, and is not ignored since it may restrict who sees this: expected ${expected}`,
  );
  return true;
}

/** The same of a record within another; `path` is its path, with a dot at its end. */
function fieldsReader<K extends RecordKind>(
  { fields, namesUnknown }: K,
  apart: readonly string[],
  path: string,
): ReadRecord<K> {
  const steps = Object.entries(fields).map(([name, { kind, required, missing, otherwise }]) => ({
    name,
    isApart: apart.includes(name),
    isRequired: required === true,
    missing,
    otherwise,
    more: kind.is === 'list' ? `: at least one ${kind.each}` : '',
    isNoneIfEmpty: kind.is === 'list' && kind.isNoneIfEmpty === true,
    read: readerOf(kind, `${path}${name}.`),
  }));
  const spellings = Object.keys(fields).map((name) => [name.toLowerCase(), name] as const);
  /** For a message: what is not read and seems to be a misspelling of a missing field. */
  const misspeltAs = (name: string, posted: Posted): string => {
    const own = [[name.toLowerCase(), name]] as const;
    const unknown = Object.keys(posted).filter((member) => !Object.hasOwn(fields, member));
    const compared = [...unknown, ...(notesOf(posted)?.unread ?? [])]
      .slice(0, MOST_COMPARED)
      .map((member) => member.slice(0, 100).toWellFormed());
    const found = compared.find((member) => {
      const plain = member.replace(/^@/, '').toLowerCase();
      return meantBy(plain, own) !== undefined && meantBy(plain, spellings) === name;
    });
    if (found !== undefined) return `; found ${found}; did you mean ${name}?`;
    const [other] = namesUnknown === true ? compared : [];
    return other === undefined ? '' : `; found ${other}, which is not known`;
  };
  const reportUnknown = (posted: Posted, report: (path: string) => void): void => {
    for (const name of Object.keys(posted))
      if (posted[name] !== undefined && !Object.hasOwn(fields, name)) report(`${path}${name}`);
  };
  return (posted, refusals, into, within) => {
    const found: Record<string, unknown> = {};
    const foundApart = (into ?? found) as typeof found;
    let members = 0;
    for (const step of steps) {
      const { name } = step;
      let value = posted[name];
      if (value !== undefined) members += 1;
      if (isUnset(value) || (step.isNoneIfEmpty && isEmpty(value))) {
        if (step.isRequired) {
          const more = refusals.areFull ? '' : step.more + misspeltAs(name, posted);
          refusals.missing(placeOf(within, name), more, step.missing);
        }
        value = step.otherwise;
      } else value = step.read(value, placeOf(within, name), refusals);
      if (value === undefined) continue;
      if (step.isApart) foundApart[name] = value;
      else found[name] = value;
    }
    const { onUnknown } = refusals.origin;
    if (onUnknown !== undefined && Object.keys(posted).length > members) reportUnknown(posted, onUnknown);
    return found as FoundIn<K>;
  };
}

/** The record as a whole: without a fault nothing required is missing. Raises `Faults`. */
export function complete<Whole>(found: Partial<Whole>, refusals: Refusals): Whole {
  refusals.raise();
  return found as Whole;
}

function readerOf(kind: Kind, path: string): Read {
  switch (kind.is) {
    case 'scalar':
      return kind.posted.read;
    case 'list':
      return listReader(kind, path);
    case 'record': {
      const read = fieldsReader(kind, [], path);
      const { expected = 'an object', isNoneIfEmpty } = kind;
      return (value, place, refusals) => {
        if (!isPosted(value)) {
          refusals.wrong(place, value, expected);
          return undefined;
        }
        const found = read(value, refusals, undefined, place);
        return isNoneIfEmpty === true && Object.keys(found).length === 0 ? undefined : found;
      };
    }
  }
}

/** A list of records is read record by record; any other list that has an unusable item is refused as a whole. */
function listReader({ of, most = Infinity, items = 'values', hasEmptyItems }: List, path: string): Read {
  const kind = of();
  const expected = most === Infinity ? `a list of ${items}` : `a list of at most ${most} ${items}`;
  const isList = (value: unknown): value is readonly unknown[] =>
    Array.isArray(value) && value.length <= most && (kind.is !== 'record' || value.every(isPosted));
  const isItem = (item: unknown): boolean => !isUnset(item) || (hasEmptyItems === true && item === '');
  // Compiled late: a record may contain itself.
  let compiled: Read | undefined;
  return (value, place, refusals) => {
    const read = (compiled ??= readerOf(kind, path));
    if (isList(value) && kind.is === 'record')
      return value.map((item, at) => read(item, () => `${nameOf(place)}[${at}]`, refusals));
    const ofItems = refusals.apart();
    const found = isList(value)
      ? value.map((item) => (isItem(item) ? read(item, place, ofItems) : undefined))
      : [undefined];
    if (!found.includes(undefined)) return found;
    refusals.wrong(place, value, expected);
    return undefined;
  };
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function placeOf(within: Place | undefined, name: string): Place {
  return within === undefined ? name : () => `${nameOf(within)}.${name}`;
}

/**
 * Posted rows in the shape of JSON, values as text. The first line names the fields, in any order and case. Columns
 * that the table does not name are members by their names. Raises `NotParsable`.
 */
export function postedFromCsv({ fields }: RecordKind, bytes: Buffer): readonly Posted[] {
  const text = utf8Text(bytes).replace(/^\ufeff/, '');
  const separator = separatorOf(text);
  if (isUnclosed(text, separator)) throw new NotParsable('a cell in double quotes is not closed');
  const [header, ...rows] = csvRows(text, separator);
  const columns = columnsOf(fields, header?.cells ?? []);
  return rows.map(({ line, cells }) => {
    if (cells.length !== columns.length)
      throw new NotParsable(
        `line ${line} has ${cells.length} cells: expected ${columns.length}, as in the first line`,
      );
    const values = columns.map(({ name, isText }, at) => {
      const cell = cells[at] ?? '';
      return [name, isText ? cell : cell.trim()] as const;
    });
    return Object.fromEntries(values);
  });
}

interface CsvColumn {
  readonly name: string;
  readonly isText: boolean;
}

function columnsOf(fields: RecordKind['fields'], cells: readonly string[]): readonly CsvColumn[] {
  const known = new Map(Object.keys(fields).map((name) => [name.toLowerCase(), name]));
  const names = cells.map((cell) => known.get(cell.trim().toLowerCase()) ?? cell.trim());
  if (!names.some((name) => Object.hasOwn(fields, name)))
    throw new NotParsable(`expected the names of fields in the first line: ${[...known.values()].join(',')}`);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name))
      throw new NotParsable(`the first line has the column ${name.slice(0, 100)} more than once`);
    seen.add(name);
  }
  return names.map((name) => ({ name, isText: Object.hasOwn(fields, name) && isText(fields[name]) }));
}

function isText(field: Field | undefined): boolean {
  return field?.kind.is === 'scalar' && field.kind.posted.isText === true;
}
