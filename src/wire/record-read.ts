import { isPosted, isUnset, nameOf, type Place, type Posted, type Refusals } from './posted';
import { type Kind, type List, type PostedOf, type RecordKind } from './record';

type Read = (value: unknown, place: Place, refusals: Refusals) => unknown;

/** What was read of a posted record: fields that are refused or not set are absent. */
export type FoundIn<K extends RecordKind> = Partial<PostedOf<K>>;

/**
 * Compiles a table into a function that reads a post in the shape of JSON, wherever it comes from, and collects everything
 * that is wrong with it. Fields that the table does not name are left out and reported to the `Origin`; the others keep
 * the order of the table. Those that are read `apart` are put into the object that is given for them. `path` is that of the
 * record, with a dot at its end.
 */
export function recordReader<K extends RecordKind>(
  { fields }: K,
  apart: readonly string[] = [],
  path = '',
): (posted: Posted, refusals: Refusals, into?: object, within?: Place) => FoundIn<K> {
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
        if (step.isRequired) refusals.missing(placeOf(within, name), step.more, step.missing);
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
      const read = recordReader(kind, [], path);
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
