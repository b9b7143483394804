import { type ParsedEvent } from '../src/kernel/decider';
import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import { audienceOf, type StoredVoucher } from '../src/domain/vouchers/stored-voucher';
import { currencyIn, VOUCHER, type VoucherEvent } from '../src/domain/vouchers/voucher';
import { wordsOf } from '../src/wire/words';
import { type Projection } from '../src/projector/projection';

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
  /** The id, for ordering. */
  number: 'number',
  startDate: 'number',
  endDate: 'number',
  publishStart: 'number',
  publishEnd: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type VoucherField = keyof typeof FIELDS;

/** A side of the publication window that was not posted is open: the first and the last possible instant (ms). */
const OPEN = { start: -8.64e15, end: 8.64e15 } as const;

/** The vouchers that have not been withdrawn, for listings (Document 2, List keys). */
export const vouchers: Projection<StoredVoucher, VoucherEvent> = {
  collection: { name: 'vouchers', version: 2, fields: FIELDS, sorts: ['updated'] },
  streams: [`${VOUCHER}-`],
  handles: ['VoucherPublished', 'VoucherRevised', 'VoucherWithdrawn'],
  replaces: ['VoucherPublished', 'VoucherWithdrawn'],
  idOf: (event) => String(idOf(event)),
  fold(stored, event) {
    const updated = Date.parse(event.data.at);
    switch (event.type) {
      case 'VoucherPublished': {
        const { programId, voucher, sourceId = String(idOf(event)) } = event.data;
        const currency = currencyIn(event.data, event.position);
        return { programId, sourceId, created: updated, updated, voucher, currency };
      }
      case 'VoucherRevised': {
        const currency = currencyIn(event.data, event.position);
        return stored && { ...stored, updated, voucher: event.data.voucher, currency };
      }
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
  { programId, updated, voucher }: StoredVoucher,
  id: string,
): Record<VoucherField, FieldValue> {
  const { title, shortDescription, description, code = '', siteIds, languageId } = voucher;
  const { publishStartDate, publishEndDate } = voucher;
  return {
    id,
    programId: String(programId),
    voucherTypeId: String(voucher.voucherTypeId),
    siteSpecific: String(siteIds !== undefined),
    languageId: languageId === undefined ? [] : [languageId.toLowerCase()],
    audience: audienceOf(programId, siteIds),
    text: [title, shortDescription, description, code].flatMap(wordsOf),
    updated,
    number: Number(id),
    startDate: Date.parse(voucher.startDate),
    endDate: Date.parse(voucher.endDate),
    publishStart: publishStartDate === undefined ? OPEN.start : Date.parse(publishStartDate),
    publishEnd: publishEndDate === undefined ? OPEN.end : Date.parse(publishEndDate),
  };
}
