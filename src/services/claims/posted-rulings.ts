import { type Fault } from '../../kernel/fault';
import { amountsIn } from '../../wire/record/minor-units';
import { isUnset, type Posted, type Refusals, wrong } from '../../wire/api/posted';
import { type FoundIn } from '../../wire/record/read';
import { type Ruling } from '../../domain/claims/claim';
import { AMOUNTS } from '../../domain/claims/claim-amounts';
import { type PostedList } from './claim-body';
import { claimFaults as fault } from '../../domain/claims/faults';
import { checkEach, type CheckItem } from './list-check';
import { postedLegacyRuling, postedRuling } from './posted-fields';
import {
  APPROVED,
  CHANNELS,
  LAST_LEGACY_STATUS,
  type RulingStatusId,
  STATUSES,
} from '../../domain/claims/statuses';

/** A claim as its advertiser rules on it. */
export interface CheckedRuling {
  readonly claimId: number;
  /** The version that it is based on. */
  readonly version: number;
  /** Its amounts are decimal numbers: their currency is that of the claim. */
  readonly ruling: Ruling;
}

/** A ruling with its amounts in the currency of the claim, or why they are none. */
export function rulingIn(
  currency: string,
  ruling: Ruling,
): { readonly ruling: Ruling; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const amounts = amountsIn(ruling, AMOUNTS, currency, (name, decimal, expected) =>
    faults.push(fault.illegalValue(wrong(name, decimal, expected))),
  );
  return { ruling: { ...ruling, ...amounts }, faults };
}

/** Checks updates posted by an advertiser (Document 3, Claim update posted by an advertiser). Raises all faults. */
export function checkRulings(posted: PostedList): readonly CheckedRuling[] {
  return checkEach<typeof postedRuling>(posted, postedRuling, rulesFor(Infinity)).map(
    ({ versionNo, ...ruling }) => checked(ruling, versionNo),
  );
}

/** The same on the legacy path: of version 0, with the statuses of its list (Document 3, Legacy advertiser paths). */
export function checkLegacyRulings(posted: PostedList): readonly CheckedRuling[] {
  return checkEach(posted, postedLegacyRuling, rulesFor(LAST_LEGACY_STATUS)).map((ruling) =>
    checked(ruling, 0),
  );
}

type Found = FoundIn<typeof postedLegacyRuling>;

/** Rules between the fields (`docs/decisions.md#c9`), with statuses up to the last one. */
function rulesFor(last: number): CheckItem<typeof postedLegacyRuling> {
  return (found, place, refusals, posted) => {
    const { statusIdClaim: id } = found;
    if (id === undefined) return;
    if (!isRuling(id) || id > last) {
      const make = Object.hasOwn(STATUSES, id) ? fault.statusNotAllowed : fault.unknownStatus;
      refusals.add(make, wrong(`${place}.statusIdClaim`, id, `3 or one of 201 to ${Math.min(last, 213)}`));
      return;
    }
    checkMessage(found, posted, id, place, refusals);
    if (id !== APPROVED) checkNoCorrections(found, place, refusals);
  };
}

function isRuling(id: number): id is RulingStatusId {
  return Object.hasOwn(STATUSES, id) && (id === APPROVED || id > 200);
}

function checkMessage(
  { statusMessageClaim: message }: Found,
  posted: Posted,
  id: RulingStatusId,
  place: string,
  refusals: Refusals,
): void {
  const status = STATUSES[id];
  if (!('needsMessage' in status)) return;
  const expected = `one of ${CHANNELS.join(', ')}`;
  const field = `${place}.statusMessageClaim`;
  if (isUnset(posted['statusMessageClaim']))
    refusals.missing(
      field,
      ` where statusIdClaim is ${id} (${status.name}): ${expected}`,
      fault.missingParameter,
    );
  else if (message !== undefined && !CHANNELS.some((channel) => channel === message))
    refusals.wrong(field, message, expected);
}

function checkNoCorrections(found: Found, place: string, refusals: Refusals): void {
  for (const name of AMOUNTS) {
    const { [name]: amount } = found;
    if (amount !== undefined)
      refusals.wrong(`${place}.${name}`, amount, `none, unless statusIdClaim is ${APPROVED}`);
  }
}

function checked(
  {
    claimId,
    statusIdClaim,
    statusMessageClaim,
    ...corrections
  }: Required<Pick<Found, 'claimId' | 'statusIdClaim'>> & Found,
  version: number,
): CheckedRuling {
  if (!isRuling(statusIdClaim)) throw new Error('checked above');
  const message = statusMessageClaim === undefined ? {} : { message: statusMessageClaim };
  return { claimId, version, ruling: { statusId: statusIdClaim, ...message, ...corrections } };
}
