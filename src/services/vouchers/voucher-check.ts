import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { amountOf, expectedAmount } from '../../wire/record/minor-units';
import { isPosted, isUnset, type Origin, type Posted, Refusals, wrong } from '../../wire/api/posted';
import { type PostedOf } from '../../wire/record/record';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { voucherFaults as fault } from '../../domain/conversion-faults';
import { postedVoucher } from './fields';
import { VOUCHER_TYPES } from '../../domain/vouchers/voucher';
import { type VoucherPost } from '../../domain/vouchers/voucher-writer';

/** Days that `endDate` may lie ahead (Document 2, Limits; `docs/decisions.md#v16`). */
const MAX_DAYS = 366;
const DAY = 24 * 60 * 60 * 1000;

/** What a post is checked against. */
export interface CheckOptions extends Pick<Origin, 'spelling'> {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId'>;
  readonly now: Date;
}

type Found = FoundIn<typeof postedVoucher>;

const read = recordReader(postedVoucher);

/** All problems are 101 (`docs/decisions.md#v14`). */
const PROBLEMS = { unusable: fault.invalidVoucher } as const;

/** Checks a posted voucher, JSON or XML alike. Raises everything that is wrong as `Faults`. */
export function checkVoucher(posted: unknown, options: CheckOptions): VoucherPost {
  if (!isPosted(posted)) throw fault.invalidVoucher(wrong('a voucher', posted, 'an object'));
  const refusals = new Refusals(PROBLEMS, {}, Infinity, options);
  const found = read(posted, refusals);
  checkTimes(found, options.now, refusals);
  checkNeeds(found, posted, refusals);
  checkAmount(found, options, refusals);
  checkAccess(found, options, refusals);
  const { programId, sourceId, ...voucher } = complete<PostedOf<typeof postedVoucher>>(found, refusals);
  const { siteIds } = voucher;
  return {
    programId,
    ...(sourceId === undefined ? {} : { sourceId }),
    voucher: { ...voucher, ...(siteIds === undefined ? {} : { siteIds: ascending(siteIds) }) },
    currency: {
      code: options.directory.program(programId)?.currency ?? '',
      since: options.directory.currencies.since(programId),
    },
  };
}

/** Document 2, Limits; `docs/decisions.md#v16`. */
function checkTimes(found: Found, now: Date, refusals: Refusals): void {
  checkOrder(found, ['startDate', 'endDate'], refusals);
  checkOrder(found, ['publishStartDate', 'publishEndDate'], refusals);
  const latest = now.getTime() + MAX_DAYS * DAY;
  const end = timeOf(found.endDate);
  if (end > latest)
    refusals.refuse(
      'unusable',
      `endDate is ${end}: expected ${latest} at the latest, ${MAX_DAYS} days ahead`,
    );
}

type DateField = 'startDate' | 'endDate' | 'publishStartDate' | 'publishEndDate';

function checkOrder(found: Found, [first, last]: readonly [DateField, DateField], refusals: Refusals): void {
  const [start, end] = [timeOf(found[first]), timeOf(found[last])];
  if (end <= start)
    refusals.refuse('unusable', `${last} is ${end}: expected a time after ${first}, which is ${start}`);
}

/** NaN for a date that is absent: no comparison with it is true. */
function timeOf(date: string | undefined): number {
  return date === undefined ? NaN : Date.parse(date);
}

/** Fields that only some types need, or that need each other (`docs/decisions.md#v8`). */
function checkNeeds({ voucherTypeId }: Found, posted: Posted, refusals: Refusals): void {
  const type = voucherTypeId === undefined ? undefined : VOUCHER_TYPES[voucherTypeId];
  if (type !== undefined && 'needs' in type && isUnset(posted[type.needs]))
    refusals.missing(type.needs, ` where voucherTypeId is ${voucherTypeId} (${type.name})`);
  if (!isUnset(posted['discountAmount']) && isUnset(posted['isPercentage']))
    refusals.missing('isPercentage', ' where discountAmount is');
}

/** `docs/decisions.md#v19`. */
function checkAmount(
  { programId = NaN, discountAmount, isPercentage }: Found,
  { directory }: CheckOptions,
  refusals: Refusals,
): void {
  const currency = directory.program(programId)?.currency;
  if (currency === undefined || discountAmount === undefined || isPercentage !== false) return;
  if (amountOf(discountAmount, currency) === undefined)
    refusals.wrong('discountAmount', discountAmount, expectedAmount(currency));
}

/** Document 2, Errors: 102 and 103; `docs/decisions.md#v5`, `#v18`. */
function checkAccess(
  { programId, siteIds = [] }: Found,
  { directory, caller }: CheckOptions,
  refusals: Refusals,
): void {
  if (programId === undefined) return;
  const program = directory.program(programId);
  if (program?.organisationId !== caller.organisationId) {
    refusals.add(fault.noAccess, `programId is ${programId}: expected a program of yours`);
    return;
  }
  if (program.status !== 'active')
    refusals.add(
      fault.noAccess,
      `program ${programId} is ${program.status}: vouchers are taken while it is active`,
    );
  const unconnected = ascending(siteIds).filter((id) => !directory.programs.connectionsOf(id).has(programId));
  if (unconnected.length > 0)
    refusals.add(
      fault.notConnected,
      `siteIds: not connected to program ${programId}: ${unconnected.join(', ')}`,
    );
}

function ascending(siteIds: readonly number[]): readonly number[] {
  return [...new Set(siteIds)].sort((a, b) => a - b);
}
