import { allOf, filtersOn } from '../src/kernel/filters';
import { type PageInParts, searchInParts } from '../src/projector/search-in-parts';
import { type Filter, type Found, type Order, type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { type ListedVoucher, type StoredVoucher } from '../src/domain/vouchers/stored-voucher';
import { wordsOf } from '../src/wire/words';
import { type VoucherField, vouchers } from './vouchers';

/** A listing: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface VoucherCriteria {
  /** Only of these programs. */
  readonly programIds?: readonly number[] | undefined;
  /** Of each list, the voucher's audience must be one (`audienceOf`). */
  readonly audiences: readonly (readonly string[])[];
  /** Only those whose publication window includes this time. */
  readonly publishedAt?: number | undefined;
  readonly minEndDate?: number | undefined;
  readonly maxStartDate?: number | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly voucherTypeIds?: readonly number[] | undefined;
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly keywords?: readonly string[] | undefined;
  readonly siteSpecific?: boolean | undefined;
  /** In lower case. */
  readonly languageId?: string | undefined;
  /** Seed of a random order (`docs/decisions.md#v6`); without one, `docs/decisions.md#v12`. */
  readonly seed?: number | undefined;
  readonly offset: number;
  readonly size: number;
}

/**
 * The vouchers of a listing, in order, to the last one (`docs/decisions.md#x41`), in batches that are read on
 * demand.
 */
export async function listVouchers(
  store: ReadStore,
  criteria: VoucherCriteria,
  query: QueryOptions = {},
): Promise<PageInParts<ListedVoucher>> {
  const { offset, size } = criteria;
  const wanted = { filter: filterOf(criteria), order: orderOf(criteria), offset, size };
  return await searchInParts({ store, target: TARGET, read: toVoucher }, wanted, query);
}

const TARGET = { collection: vouchers.collection.name };

function toVoucher({ id, body }: Found): ListedVoucher {
  return { id: Number(id), ...(JSON.parse(body) as StoredVoucher) };
}

const { among, between, text } = filtersOn<VoucherField>();

/** For keywords see `docs/decisions.md#v11`. */
function filterOf(criteria: VoucherCriteria): Filter {
  const { publishedAt, minEndDate, maxStartDate, siteSpecific, languageId } = criteria;
  return allOf(
    ...criteria.audiences.map((audience) => among('audience', audience)),
    among('programId', criteria.programIds?.map(String)),
    among('id', criteria.ids?.map(String)),
    among('voucherTypeId', criteria.voucherTypeIds?.map(String)),
    among('siteSpecific', siteSpecific === undefined ? undefined : [String(siteSpecific)]),
    among('languageId', languageId === undefined ? undefined : [languageId]),
    text(['text'], criteria.keywords?.map(wordsOf)),
    between('publishStart', { max: publishedAt }),
    between('publishEnd', { min: publishedAt }),
    between('endDate', { min: minEndDate }),
    between('startDate', { max: maxStartDate }),
  );
}

const HIGHEST_ID = { field: 'number' satisfies VoucherField, descending: true } as const;

function orderOf({ seed }: VoucherCriteria): readonly Order[] {
  if (seed !== undefined) return [{ shuffled: 'number' satisfies VoucherField, seed }];
  return [{ field: 'updated' satisfies VoucherField, descending: true }, HIGHEST_ID];
}
