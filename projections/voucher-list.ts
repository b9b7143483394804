import { EVERYTHING, type Filter, type Found, type Order, type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { mapInSlices } from '../src/kernel/slices';
import { type ListedVoucher, type StoredVoucher } from '../src/vouchers/stored-voucher';
import { wordsOf } from '../src/wire/words';
import { BODY_LIMIT, type FoundGroups, groupBatches } from '../src/kernel/group-batches';
import { type VoucherField, vouchers } from './vouchers';

/** A listing, its keys checked and made of what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface VoucherCriteria {
  /** Only of these programs. */
  readonly programIds?: readonly number[];
  /** Only for those who belong to one of these, in each list (`src/vouchers/audience.ts`). */
  readonly audiences: readonly (readonly string[])[];
  /** Only inside their publication window at this time. */
  readonly publishedAt?: number;
  readonly minEndDate?: number;
  readonly maxStartDate?: number;
  readonly ids?: readonly number[];
  readonly voucherTypeIds?: readonly number[];
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly keywords?: readonly string[];
  readonly siteSpecific?: boolean;
  /** In small letters. */
  readonly languageId?: string;
  /** Of a reproducible random order (`docs/decisions.md#v6`); absent: `docs/decisions.md#v12`. */
  readonly seed?: number;
  readonly offset: number;
  readonly size: number;
}

/** So far a read store counts from the first result of a search, but for a random order. */
const REACH = 10_000;

/**
 * The vouchers of a listing, in order, to the last one (`docs/decisions.md#x41`), in batches that are read when they are
 * asked for. Beyond `REACH` of them, it continues behind the last one of these.
 */
export async function listVouchers(
  store: ReadStore,
  criteria: VoucherCriteria,
  query: QueryOptions = {},
): Promise<AsyncIterable<readonly ListedVoucher[]>> {
  const { size, seed } = criteria;
  const order = orderOf(criteria);
  let filter = filterOf(criteria);
  let { offset } = criteria;
  while (seed === undefined && offset + size > REACH) {
    const skipped = Math.min(offset, REACH);
    const { found } = await store.search(TARGET, { filter, order, offset: skipped - 1, size: 1 }, query);
    const [last] = found.map(toVoucher);
    if (last === undefined) return vouchersIn(store, { groups: [] }, query);
    filter = { all: [filter, behind(last)] };
    offset -= skipped;
  }
  const { found, rest } = await store.search(
    TARGET,
    { filter, order, offset, size },
    { ...query, bodyLimit: BODY_LIMIT },
  );
  return vouchersIn(store, { groups: found.map((one) => [one]), rest: rest?.map((id) => [id]) ?? [] }, query);
}

const TARGET = { collection: vouchers.collection.name };

async function* vouchersIn(
  store: ReadStore,
  found: FoundGroups,
  query: QueryOptions,
): AsyncGenerator<readonly ListedVoucher[]> {
  for await (const groups of groupBatches(store, TARGET, found, query))
    yield await mapInSlices(groups.flat(), toVoucher, query.signal);
}

function toVoucher({ id, body }: Found): ListedVoucher {
  return { id: Number(id), ...(JSON.parse(body) as StoredVoucher) };
}

/** What comes after a voucher in the order of no seed. */
function behind({ updated, id }: ListedVoucher): Filter {
  return {
    any: [
      within('updated', { max: updated - 1 }),
      { all: [within('updated', { min: updated, max: updated }), within('number', { max: id - 1 })] },
    ],
  };
}

function filterOf(criteria: VoucherCriteria): Filter {
  const { publishedAt, minEndDate, maxStartDate, keywords, siteSpecific, languageId } = criteria;
  return {
    all: [
      ...criteria.audiences.map((audience): Filter => ({
        field: 'audience' satisfies VoucherField,
        in: audience,
      })),
      ...among('programId', criteria.programIds),
      ...among('id', criteria.ids),
      ...among('voucherTypeId', criteria.voucherTypeIds),
      ...among('siteSpecific', siteSpecific === undefined ? undefined : [siteSpecific]),
      ...among('languageId', languageId === undefined ? undefined : [languageId]),
      ...(keywords === undefined ? [] : [textFilter(keywords)]),
      ...(publishedAt === undefined
        ? []
        : [within('publishStart', { max: publishedAt }), within('publishEnd', { min: publishedAt })]),
      ...(minEndDate === undefined ? [] : [within('endDate', { min: minEndDate })]),
      ...(maxStartDate === undefined ? [] : [within('startDate', { max: maxStartDate })]),
    ],
  };
}

function among(
  field: VoucherField,
  values: readonly (string | number | boolean)[] | undefined,
): readonly Filter[] {
  return values === undefined ? [] : [{ field, in: values.map(String) }];
}

function within(field: VoucherField, bounds: { readonly min?: number; readonly max?: number }): Filter {
  return { field, ...bounds };
}

/** Each word of one of the values (`docs/decisions.md#v11`). */
function textFilter(values: readonly string[]): Filter {
  const alternatives = values.map(wordsOf);
  if (alternatives.some((words) => words.length === 0)) return EVERYTHING;
  return { any: alternatives.map((words) => ({ words, within: ['text' satisfies VoucherField] })) };
}

const HIGHEST_ID = { field: 'number' satisfies VoucherField, descending: true } as const;

function orderOf({ seed }: VoucherCriteria): readonly Order[] {
  if (seed !== undefined) return [{ shuffled: 'number' satisfies VoucherField, seed }];
  return [{ field: 'updated' satisfies VoucherField, descending: true }, HIGHEST_ID];
}
