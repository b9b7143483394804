import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { clickLink } from '../../wire/click-link';
import { type DateFormat, writeDate } from '../../wire/date';
import { type OutputVoucher } from './fields';
import { type ListedVoucher } from '../../domain/vouchers/stored-voucher';
import { isOfMoney, type VoucherCurrency } from '../../domain/vouchers/voucher';

/** The context of an answer. */
export interface OutputView {
  readonly directory: Directory;
  readonly caller: Caller;
  readonly clickUrl: string;
  readonly dates: DateFormat;
}

/** A voucher as a caller sees it (Document 2, Voucher returned by the list operation). */
export function toOutput(listed: ListedVoucher, view: OutputView): OutputVoucher {
  const { id, programId, voucher } = listed;
  const { siteIds = [], startDate, endDate } = voucher;
  const program = view.directory.program(programId);
  const date = (time: number | string) => writeDate(new Date(time).getTime(), view.dates);
  return {
    id,
    programId,
    programName: program?.name ?? '',
    code: voucher.code ?? '',
    updateDate: date(listed.updated),
    publishStartDate: date(voucher.publishStartDate ?? listed.created),
    publishEndDate: date(voucher.publishEndDate ?? endDate),
    startDate: date(startDate),
    endDate: date(endDate),
    title: voucher.title,
    shortDescription: voucher.shortDescription,
    description: voucher.description,
    voucherTypeId: voucher.voucherTypeId,
    defaultTrackUri: trackUri(listed, view),
    siteSpecific: siteIds.length > 0,
    landingUrl: voucher.landingUrl ?? '',
    discountAmount: voucher.discountAmount ?? 0,
    isPercentage: voucher.isPercentage ?? false,
    publisherInformation: voucher.publisherInformation ?? '',
    languageId: voucher.languageId ?? '',
    exclusive: siteIds.length === 1,
    currencyId: isOfMoney(voucher)
      ? codeIn(view.directory)(listed.currency, programId)
      : (program?.currency ?? ''),
    logoPath: program?.logoUrl ?? '',
    ...(view.caller.kind === 'advertiser' ? { sourceId: listed.sourceId } : {}),
  };
}

/** The code of the currency in which a voucher's amount was posted; empty if it is not known (`docs/decisions.md#v19`). */
export function codeIn({ currencies }: Directory) {
  return (posted: VoucherCurrency, programId: number): string =>
    'currency' in posted ? posted.currency : (currencies.ofProgram(programId, posted.postedAt) ?? '');
}

/** `docs/decisions.md#v7`, `#v13`. */
function trackUri(
  { programId, voucher }: ListedVoucher,
  { directory, caller, clickUrl }: OutputView,
): string {
  const { siteIds } = voucher;
  const site =
    caller.kind === 'advertiser'
      ? undefined
      : directory
          .sitesOf(caller)
          .filter((id) => directory.programs.connectionsOf(id).has(programId))
          .find((id) => siteIds === undefined || siteIds.includes(id));
  return clickLink(clickUrl, { a: site, p: programId, ttid: 13, url: voucher.landingUrl });
}
