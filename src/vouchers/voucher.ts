import { isDeepStrictEqual } from 'node:util';
import { type Decider } from '../kernel/decider';

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

/** What an edit replaces (Document 2, Voucher posted by an advertiser), in a fixed order; dates are ISO 8601 instants. */
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

/** `at`: an ISO 8601 instant. */
export type VoucherEvent =
  | {
      readonly type: 'VoucherPublished';
      readonly data: VoucherOrigin & { readonly at: string; readonly voucher: VoucherContent };
    }
  | {
      readonly type: 'VoucherRevised';
      readonly data: { readonly at: string; readonly voucher: VoucherContent };
    }
  | { readonly type: 'VoucherWithdrawn'; readonly data: { readonly at: string } };

export type VoucherState =
  | { readonly status: 'unknown' }
  | ({ readonly status: 'published'; readonly voucher: VoucherContent } & VoucherOrigin)
  | ({ readonly status: 'withdrawn' } & VoucherOrigin);

export type VoucherCommand =
  | (VoucherOrigin & { readonly do: 'post'; readonly at: string; readonly voucher: VoucherContent })
  | { readonly do: 'withdraw'; readonly at: string };

/** The category of a voucher's stream. */
export const VOUCHER = 'voucher';

/**
 * A post publishes a new voucher and revises an existing one, unless it changes nothing. A withdrawn voucher stays
 * withdrawn: a post does nothing, and neither does withdrawing what is not published. The returned state shows which.
 */
export const voucherDecider: Decider<VoucherCommand, VoucherState, VoucherEvent> = {
  category: VOUCHER,
  initial: { status: 'unknown' },
  decide(command, state) {
    switch (command.do) {
      case 'post': {
        const { at, voucher } = command;
        if (state.status === 'unknown')
          return [{ type: 'VoucherPublished', data: { ...originOf(command), at, voucher } }];
        if (state.status === 'withdrawn' || isDeepStrictEqual(voucher, state.voucher)) return [];
        return [{ type: 'VoucherRevised', data: { at, voucher } }];
      }
      case 'withdraw':
        return state.status === 'published' ? [{ type: 'VoucherWithdrawn', data: { at: command.at } }] : [];
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'VoucherPublished':
        return { status: 'published', ...originOf(event.data), voucher: event.data.voucher };
      case 'VoucherRevised':
        return state.status === 'published' ? { ...state, voucher: event.data.voucher } : state;
      case 'VoucherWithdrawn':
        return state.status === 'published' ? { status: 'withdrawn', ...originOf(state) } : state;
    }
  },
};

function originOf({ programId, sourceId }: VoucherOrigin): VoucherOrigin {
  return { programId, ...(sourceId === undefined ? {} : { sourceId }) };
}

/** The fields of a published voucher by the names they are posted by. */
export function postedFields(state: VoucherState): Readonly<Record<string, unknown>> | undefined {
  return state.status === 'published' ? { ...state.voucher, ...originOf(state) } : undefined;
}
