import { isPosted, isUnset, nameOf, type Place, type Posted, type Refusals } from './posted';
import { type Fields, type Kind, type List, type PostedOf, type RecordKind } from './record';

/** Reads the fields of a posted record; the refused ones and those that are not set are absent. */
type ReadRecord<F extends Fields> = (
  posted: Posted,
  refusals: Refusals,
  within?: Place,
) => Partial<PostedOf<RecordKind<F>>>;

type Read = (value: unknown, place: Place, refusals: Refusals) => unknown;

/**
 * Compiles a table into a function that reads a post in the shape of JSON, wherever it comes from, and collects everything
 * that is wrong with it. Fields that the table does not name are left out; the others keep the order of the table.
 */
export function recordReader<F extends Fields>({ fields }: RecordKind<F>): ReadRecord<F> {
  const steps = Object.entries(fields).map(([name, { kind, required }]) => ({
    name,
    isRequired: required === true,
    more: kind.is === 'list' ? `: at least one ${kind.each}` : '',
    isNoneIfEmpty: kind.is === 'list' && kind.isNoneIfEmpty === true,
    read: readerOf(kind),
  }));
  return (posted, refusals, within) => {
    const found: Record<string, unknown> = {};
    for (const { name, isRequired, more, isNoneIfEmpty, read } of steps) {
      const value = posted[name];
      if (isUnset(value) || (isNoneIfEmpty && isEmpty(value))) {
        if (isRequired) refusals.missing(placeOf(within, name), more);
        continue;
      }
      const usable = read(value, placeOf(within, name), refusals);
      if (usable !== undefined) found[name] = usable;
    }
    return found as ReturnType<ReadRecord<F>>;
  };
}

/** The record as a whole: without a fault nothing required is missing. Raises `Faults`. */
export function complete<F extends Fields>(
  found: Partial<PostedOf<RecordKind<F>>>,
  refusals: Refusals,
): PostedOf<RecordKind<F>> {
  refusals.raise();
  return found as PostedOf<RecordKind<F>>;
}

function readerOf(kind: Kind): Read {
  switch (kind.is) {
    case 'scalar':
      return kind.posted.read;
    case 'list':
      return listReader(kind);
    case 'record': {
      const read = recordReader(kind);
      const { expected = 'an object' } = kind;
      return (value, place, refusals) => {
        if (isPosted(value)) return read(value, refusals, place);
        refusals.wrong(place, value, expected);
        return undefined;
      };
    }
  }
}

/** A list of records is read record by record; any other list that has an unusable item is refused as a whole. */
function listReader({ of, most = Infinity, items = 'values' }: List): Read {
  const kind = of();
  const expected = most === Infinity ? `a list of ${items}` : `a list of at most ${most} ${items}`;
  const isList = (value: unknown): value is readonly unknown[] =>
    Array.isArray(value) && value.length <= most && (kind.is !== 'record' || value.every(isPosted));
  const read = readerOf(kind);
  return (value, place, refusals) => {
    if (isList(value) && kind.is === 'record')
      return value.map((item, at) => read(item, () => `${nameOf(place)}[${at}]`, refusals));
    const ofItems = refusals.apart();
    const found = isList(value)
      ? value.map((item) => (isUnset(item) ? undefined : read(item, place, ofItems)))
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
