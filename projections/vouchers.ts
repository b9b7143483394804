import {
  audienceOf,
  currencyIn,
  type ListedVoucher,
  phaseAfter,
  phaseEnd,
  type StoredVoucher,
  textsOf,
  VOUCHER,
  type VoucherEvent,
} from '../src/domain/vouchers/voucher';
import { type ParsedEvent } from '../src/kernel/decider';
import {
  allOf,
  type Filter,
  filtersOn,
  type Found,
  type Order,
  type QueryOptions,
} from '../src/kernel/query';
import { type FieldType, type FieldValue, type ReadStore, type Target } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { type PageInParts, searchInParts } from '../src/projector/search-in-parts';
import { DAY } from '../src/wire/date';
import { queryWordsOf, tokensOf } from '../src/wire/words';

const FIELDS = {
  id: 'keyword',
  programId: 'keyword',
  voucherTypeId: 'keyword',
  siteSpecific: 'keyword',
  languageId: 'keyword',
  audience: 'keyword',
  /** Title, descriptions and code together (Document 2, List keys, `keywords`). */
  text: 'words',
  updated: 'number',
  number: 'number',
  startDate: 'number',
  endDate: 'number',
  publishStart: 'number',
  publishEnd: 'number',
  /** When time alone shows or hides it next (epoch ms); absent: never. */
  turnsAt: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type VoucherField = keyof typeof FIELDS;

/** A side of the publication window that was not posted is open: the first and the last possible instant (ms). */
const OPEN = { start: -8.64e15, end: 8.64e15 } as const;

/** The vouchers that have not been withdrawn, for listings (Document 2, List keys). */
export const vouchers: Projection<StoredVoucher, VoucherEvent> = {
  collection: { name: 'vouchers', version: 4, fields: FIELDS, sorts: ['updated', 'turnsAt'] },
  streams: [`${VOUCHER}-`],
  handles: ['VoucherPublished', 'VoucherRevised', 'VoucherWithdrawn', 'VoucherShown', 'VoucherHidden'],
  replaces: ['VoucherPublished', 'VoucherWithdrawn'],
  idOf: (event) => String(idOf(event)),
  fold(stored, event) {
    const updated = Date.parse(event.data.at);
    switch (event.type) {
      case 'VoucherPublished': {
        const { programId, voucher, sourceId = String(idOf(event)) } = event.data;
        const currency = currencyIn(event.data, event.position);
        return {
          programId,
          sourceId,
          created: updated,
          updated,
          voucher,
          currency,
          phase: phaseAfter(event),
        };
      }
      case 'VoucherRevised': {
        const currency = currencyIn(event.data, event.position);
        return (
          stored && { ...stored, updated, voucher: event.data.voucher, currency, phase: phaseAfter(event) }
        );
      }
      case 'VoucherShown':
      case 'VoucherHidden':
        return stored && { ...stored, phase: phaseAfter(event) };
      case 'VoucherWithdrawn':
        return undefined;
    }
  },
  describe: (document, id) => ({ document, fields: fieldsOf(document, id) }),
};

function idOf({ stream }: ParsedEvent<VoucherEvent>): number {
  return Number(stream.slice(VOUCHER.length + 1));
}

function fieldsOf(
  { programId, updated, voucher, phase }: StoredVoucher,
  id: string,
): Partial<Record<VoucherField, FieldValue>> {
  const { siteIds, languageId } = voucher;
  const { publishStartDate, publishEndDate } = voucher;
  const turnsAt = phaseEnd(voucher, phase);
  return {
    id,
    programId: String(programId),
    voucherTypeId: String(voucher.voucherTypeId),
    siteSpecific: String(siteIds !== undefined),
    languageId: languageId === undefined ? [] : [languageId.toLowerCase()],
    audience: audienceOf(programId, siteIds),
    text: textsOf(voucher).flatMap(tokensOf),
    updated,
    number: Number(id),
    startDate: Date.parse(voucher.startDate),
    endDate: Date.parse(voucher.endDate),
    publishStart: publishStartDate === undefined ? OPEN.start : Date.parse(publishStartDate),
    publishEnd: publishEndDate === undefined ? OPEN.end : Date.parse(publishEndDate),
    ...(turnsAt === undefined ? {} : { turnsAt }),
  };
}

/** Which vouchers: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface VoucherFilter {
  /** The values that each field may have; of a language in lower case. */
  readonly among: Readonly<Partial<Record<VoucherField, readonly (string | number | boolean)[] | undefined>>>;
  /** Of each list, the voucher's audience must be one (`audienceOf`). */
  readonly audiences: readonly (readonly string[])[];
  /** Only those whose publication window includes this time. */
  readonly publishedAt?: number | undefined;
  readonly minEndDate?: number | undefined;
  readonly maxStartDate?: number | undefined;
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly keywords?: readonly string[] | undefined;
}

export interface VoucherCriteria extends VoucherFilter {
  /** Seed of a random order (`docs/decisions.md#v6`); without one, `docs/decisions.md#v12`. */
  readonly seed?: number | undefined;
  readonly offset: number;
  readonly size: number;
}

/** The vouchers of a listing to the last one (`docs/decisions.md#x41`), in batches that are read on demand. */
export async function listVouchers(
  store: ReadStore,
  criteria: VoucherCriteria,
  query: QueryOptions = {},
  target: Target = TARGET,
): Promise<PageInParts<ListedVoucher>> {
  const { offset, size } = criteria;
  const wanted = { filter: vouchersThat(criteria), order: orderOf(criteria), offset, size };
  return await searchInParts({ store, target, read: toVoucher }, wanted, query);
}

const TARGET = { collection: vouchers.collection.name };

/** How long what time alone has changed is made up for, if nothing has run meanwhile (ms). */
const MADE_UP_MS = 7 * DAY;

/** The vouchers that time alone has shown or hidden by `now` (epoch ms), as no event says yet. */
export function turnedBy(now: number): Filter {
  return allOf(between('turnsAt', { min: now - MADE_UP_MS, max: now }));
}

function toVoucher({ id, body }: Found): ListedVoucher {
  return { id: Number(id), ...(JSON.parse(body) as StoredVoucher) };
}

const { among, between, text } = filtersOn<VoucherField>();

/** For keywords see `docs/decisions.md#v11`. */
export function vouchersThat(criteria: VoucherFilter): Filter {
  const { publishedAt, minEndDate, maxStartDate } = criteria;
  const fields = Object.keys(criteria.among) as VoucherField[];
  return allOf(
    ...criteria.audiences.map((audience) => among('audience', audience)),
    ...fields.map((field) => among(field, criteria.among[field]?.map(String))),
    text(
      ['text'],
      criteria.keywords?.map((value) => queryWordsOf(value)),
    ),
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
