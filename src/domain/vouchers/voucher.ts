import { isDeepStrictEqual } from 'node:util';
import { type CommandOf, type Decider, type EventOf, type Folded } from '../../kernel/decider';
import { type Position, START } from '../../kernel/event';
import { faultsOf } from '../../kernel/fault';

/**
 * A voucher, in the stream `voucher-<id>`.
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */

/** Document 2, Voucher types: `needs` is the field that a voucher of the type requires beyond those that all do. */
export const VOUCHER_TYPES = {
  1: { name: 'Voucher', needs: 'code' },
  2: { name: 'Discount', needs: 'discountAmount' },
  3: { name: 'Free article' },
  4: { name: 'Free shipping' },
  5: { name: 'Raffle' },
  6: { name: 'Promotion' },
} as const satisfies Readonly<
  Record<number, { readonly name: string; readonly needs?: 'code' | 'discountAmount' }>
>;

type VoucherTypeId = keyof typeof VOUCHER_TYPES;

/**
 * What an edit replaces (Document 2, Voucher posted by an advertiser), in a fixed order; dates are ISO 8601 instants.
 */
export interface VoucherContent {
  readonly title: string;
  readonly voucherTypeId: VoucherTypeId;
  readonly code?: string;
  readonly shortDescription: string;
  readonly description: string;
  readonly startDate: string;
  readonly endDate: string;
  /** Ascending; at least one. Absent: any site may use it. */
  readonly siteIds?: readonly number[];
  readonly landingUrl?: string;
  readonly publishStartDate?: string;
  readonly publishEndDate?: string;
  readonly publisherInformation?: string;
  readonly discountAmount?: number;
  readonly isPercentage?: boolean;
  readonly languageId?: string;
}

/** Never changed by an edit. A voucher without a `sourceId` is identified by its id (`docs/decisions.md#v15`). */
interface VoucherOrigin {
  readonly programId: number;
  readonly sourceId?: string;
}

/** `currency`: ISO 4217, that of the program; absent of events that were written before it was recorded. */
interface VoucherData {
  readonly at: string;
  readonly voucher: VoucherContent;
  readonly currency?: string;
}

export type VoucherEvent =
  | { readonly type: 'VoucherPublished'; readonly data: VoucherOrigin & VoucherData }
  | { readonly type: 'VoucherRevised'; readonly data: VoucherData }
  | EventOf<'VoucherWithdrawn'>;

/** Of an amount: that of the program when it was posted, or at the position `postedAt` (`docs/decisions.md#v19`). */
export type VoucherCurrency = { readonly currency: string } | { readonly postedAt: Position };

/** As an event has it. */
export function currencyIn({ currency }: VoucherData, position: Position): VoucherCurrency {
  return currency === undefined ? { postedAt: position } : { currency };
}

export type VoucherState =
  | { readonly status: 'unknown' }
  | ({
      readonly status: 'published';
      readonly voucher: VoucherContent;
      readonly currency: VoucherCurrency;
    } & VoucherOrigin)
  | ({ readonly status: 'withdrawn' } & VoucherOrigin);

/** The present currency of a program, and the position from which it has had it. */
export interface ProgramCurrency {
  readonly code: string;
  readonly since: Position;
}

export type VoucherCommand =
  | CommandOf<'post', VoucherOrigin & { voucher: VoucherContent; currency: ProgramCurrency }>
  | CommandOf<'withdraw'>;

export const VOUCHER = 'voucher';

/**
 * A post publishes a new voucher and revises an existing one, unless it changes nothing. A withdrawn voucher stays
 * withdrawn: a post does nothing, and neither does withdrawing what is not published. The returned state shows which.
 */
export const voucherDecider: Decider<VoucherCommand, VoucherState, VoucherEvent> = {
  category: VOUCHER,
  initial: { status: 'unknown' },
  supersedes: () => true,
  decide(command, state) {
    switch (command.do) {
      case 'post': {
        const { at, voucher } = command;
        const posted = { at, voucher, currency: command.currency.code };
        if (state.status === 'unknown')
          return [{ type: 'VoucherPublished', data: { ...originOf(command), ...posted } }];
        if (state.status === 'withdrawn') return [];
        const isSame = isDeepStrictEqual(voucher, state.voucher) && isInCurrency(state, command.currency);
        return isSame ? [] : [{ type: 'VoucherRevised', data: posted }];
      }
      case 'withdraw':
        return state.status === 'published' ? [{ type: 'VoucherWithdrawn', data: { at: command.at } }] : [];
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'VoucherPublished':
        return { status: 'published', ...originOf(event.data), ...contentOf(event) };
      case 'VoucherRevised':
        return state.status === 'published' ? { ...state, ...contentOf(event) } : state;
      case 'VoucherWithdrawn':
        return state.status === 'published' ? { status: 'withdrawn', ...originOf(state) } : state;
    }
  },
};

function originOf({ programId, sourceId }: VoucherOrigin): VoucherOrigin {
  return { programId, ...(sourceId === undefined ? {} : { sourceId }) };
}

function contentOf({ data, position }: Folded<{ readonly data: VoucherData }>) {
  return { voucher: data.voucher, currency: currencyIn(data, position ?? START) };
}

/** Whether its amount, if it has one, is in this currency. */
function isInCurrency(
  { voucher, currency }: { readonly voucher: VoucherContent; readonly currency: VoucherCurrency },
  { code, since }: ProgramCurrency,
): boolean {
  if (!isOfMoney(voucher)) return true;
  return 'currency' in currency ? currency.currency === code : currency.postedAt >= since;
}

/** Whether it has an amount of money: a percentage has no currency. */
export function isOfMoney({ discountAmount, isPercentage }: VoucherContent): boolean {
  return discountAmount !== undefined && isPercentage !== true;
}

/** A published voucher by the names of posted fields. The same amount in another currency is another amount. */
export function postedFields(
  state: VoucherState,
  codeOf: (currency: VoucherCurrency, programId: number) => string,
): Readonly<Record<string, unknown>> | undefined {
  if (state.status !== 'published') return undefined;
  const { voucher, currency, programId } = state;
  const amount = isOfMoney(voucher)
    ? { discountAmount: `${voucher.discountAmount} ${codeOf(currency, programId)}` }
    : {};
  return { ...voucher, ...amount, ...originOf(state) };
}

/** Document 2, Errors: voucher creation. What each is used for: `docs/decisions.md#v14`. */
export const voucherFaultTable = {
  invalidVoucher: ['101', 400, 'Invalid voucher information'],
  noAccess: ['102', 400, 'No access to the program'],
  notConnected: ['103', 400, 'No connection between program and site'],
} as const;

export const voucherFaults = faultsOf(voucherFaultTable);

/** A document of the read model; directory data is joined when answering. Times in epoch ms. */
export interface StoredVoucher {
  readonly programId: number;
  readonly sourceId: string;
  readonly created: number;
  readonly updated: number;
  readonly voucher: VoucherContent;
  readonly currency: VoucherCurrency;
}

export interface ListedVoucher extends StoredVoucher {
  readonly id: number;
}

/**
 * Who may use a voucher, as texts to compare (`docs/decisions.md#v5`, `#v10`): a voucher has one for each audience, a
 * publisher one for each audience that it belongs to. So a change of connections writes no voucher.
 */
export function audienceOf(programId: number, siteIds: readonly number[] = []): readonly string[] {
  if (siteIds.length === 0) return [anySiteOf(programId)];
  return siteIds.map((siteId) => siteOf(programId, siteId));
}

/** The audiences that these connections of sites to programs belong to. */
export function audiencesIn(
  connections: Iterable<{ readonly siteId: number; readonly programId: number }>,
): readonly string[] {
  const audiences = new Set<string>();
  for (const { siteId, programId } of connections)
    audiences.add(anySiteOf(programId)).add(siteOf(programId, siteId));
  return [...audiences];
}

function anySiteOf(programId: number): string {
  return String(programId);
}

function siteOf(programId: number, siteId: number): string {
  return `${programId}/${siteId}`;
}
