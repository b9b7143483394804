import { spellingsIn } from '../../wire/json/scan';
import { ignoredFields, unknownFields } from '../../wire/keys/name-list';
import { isPosted, type Posted, type ProblemFaults, Refusals, wrong } from '../../wire/api/posted';
import { type PostedOf, type RecordKind } from '../../wire/record/record';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { type PostedFormat, type PostedList } from './claim-body';
import { claimFaults as fault, MOST_FAULTS, RefusedItems } from '../../domain/claims/faults';

/** A rule between the fields of an item, as they are found and as they were posted; `place`: `claims[2]`. */
export type CheckItem<K extends RecordKind> = (
  found: FoundIn<K>,
  place: string,
  refusals: Refusals,
  posted: Posted,
) => void;

/** Reads each item of a list by a table and checks it. Raises all faults as `RefusedItems`; their status is that of the first. */
export function checkEach<K extends RecordKind>(
  { name, items, format, text }: PostedList,
  kind: K,
  check: CheckItem<K>,
): readonly PostedOf<K>[] {
  const origin = text === undefined ? {} : { spelling: spellingsIn(text) };
  const refusals = new Refusals(problemsIn(format), {}, MOST_FAULTS, origin);
  const read = recordReader(kind);
  const found: FoundIn<K>[] = [];
  for (const [at, item] of items.entries()) {
    const place = `${name}[${at}]`;
    if (isPosted(item)) {
      const fields = read(item, refusals, undefined, place);
      check(fields, place, refusals, item);
      found.push(fields);
    } else {
      refusals.add(fault.notReadable, wrong(place, item, 'an object'));
      found.push({});
    }
  }
  if (!refusals.areNone) throw new RefusedItems(refusals.faults, refusals.moreFaults, found);
  return found.map((fields) => complete<PostedOf<K>>(fields, refusals));
}

/** The header that names posted fields which a table does not have: they are ignored (`docs/decisions.md#a15`). */
export function ignoredIn(
  { items, unread = [] }: PostedList,
  kind: RecordKind,
): Readonly<Record<string, string>> {
  return ignoredFields([...unknownFields(kind, items), ...unread]);
}

/** `docs/decisions.md#c7`. */
export function problemsIn(format: PostedFormat): ProblemFaults {
  return {
    missing: format === 'json' ? fault.missingValue : fault.missingParameter,
    notNumeric: fault.notNumeric,
    notDate: fault.notDate,
    unusable: fault.illegalValue,
  };
}
