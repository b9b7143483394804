import { type WrittenDate } from '../wire/date';
import { VOUCHER_TYPES } from './voucher-types';

/** What a field holds; how that looks in JSON and XML follows from it. */
type Kind = 'text' | 'id' | 'integer' | 'integers' | 'amount' | 'date' | 'boolean';

export interface PostedField {
  readonly kind: Kind;
  readonly required?: true;
  /** In UTF-8 (`docs/decisions.md#v4`). */
  readonly maxBytes?: number;
  /** Numbers in a list. */
  readonly most?: number;
  readonly says: string;
}

const types = Object.entries(VOUCHER_TYPES).map(([id, { name }]) => `${id} ${name}`);

/** Document 2, Voucher posted by an advertiser; Limits; of the other limits `docs/decisions.md#x40`. */
export const POSTED_FIELDS = {
  title: { kind: 'text', maxBytes: 70, required: true, says: 'Title' },
  programId: { kind: 'integer', required: true, says: 'Program that owns the voucher' },
  voucherTypeId: { kind: 'integer', required: true, says: `Type: ${types.join(', ')}` },
  code: { kind: 'text', maxBytes: 256, says: 'Code; required of type 1' },
  shortDescription: { kind: 'text', maxBytes: 100, required: true, says: 'Short description' },
  description: { kind: 'text', maxBytes: 65_535, required: true, says: 'Long description' },
  startDate: { kind: 'date', required: true, says: 'Valid from then on' },
  endDate: { kind: 'date', required: true, says: 'Valid until then, at most 366 days ahead' },
  sourceId: { kind: 'id', maxBytes: 1000, says: 'The advertiser’s id: one that is known edits that voucher' },
  siteIds: { kind: 'integers', most: 1000, says: 'Only these sites can use it' },
  landingUrl: { kind: 'text', maxBytes: 2048, says: 'Landing page' },
  publishStartDate: { kind: 'date', says: 'Listed from then on' },
  publishEndDate: { kind: 'date', says: 'Listed until then' },
  publisherInformation: { kind: 'text', maxBytes: 65_535, says: 'For the publisher, not for customers' },
  discountAmount: { kind: 'amount', says: 'Amount of discount; required of type 2' },
  isPercentage: { kind: 'boolean', says: 'The amount is a percentage; required with an amount' },
  languageId: { kind: 'text', says: 'ISO 639-1 code of its language' },
} as const satisfies Readonly<Record<string, PostedField>>;

type Posted = typeof POSTED_FIELDS;

/** A field whose bytes are limited. */
export type TextField = {
  [Name in keyof Posted]: Posted[Name] extends { readonly maxBytes: number } ? Name : never;
}[keyof Posted];

/** Document 2, Voucher returned by the list operation, in its order; all are always there (`docs/decisions.md#v9`). */
export const LISTED_FIELDS = {
  id: { kind: 'integer', says: 'Id of the voucher' },
  programId: { kind: 'integer', says: 'Program that owns it' },
  programName: { kind: 'text', says: 'Name of the program' },
  code: { kind: 'text', says: 'Code' },
  updateDate: { kind: 'date', says: 'Last update' },
  publishStartDate: { kind: 'date', says: 'Start of its publication' },
  publishEndDate: { kind: 'date', says: 'End of its publication' },
  startDate: { kind: 'date', says: 'Start of its validity' },
  endDate: { kind: 'date', says: 'End of its validity' },
  title: { kind: 'text', says: 'Title' },
  shortDescription: { kind: 'text', says: 'Short description' },
  description: { kind: 'text', says: 'Long description' },
  voucherTypeId: { kind: 'integer', says: `Type: ${types.join(', ')}` },
  defaultTrackUri: { kind: 'text', says: 'Tracker link, the landing page behind it' },
  siteSpecific: { kind: 'boolean', says: 'It is for some sites only' },
  landingUrl: { kind: 'text', says: 'Landing page' },
  discountAmount: { kind: 'amount', says: 'Amount of discount' },
  isPercentage: { kind: 'boolean', says: 'The amount is a percentage' },
  publisherInformation: { kind: 'text', says: 'For the publisher, not for customers' },
  languageId: { kind: 'text', says: 'ISO 639-1 code of its language' },
  exclusive: { kind: 'boolean', says: 'It is for a single site' },
  currencyId: { kind: 'text', says: 'ISO 4217 code of the program’s currency' },
  logoPath: { kind: 'text', says: 'Logo of the program' },
} as const satisfies Readonly<Record<string, { readonly kind: Kind; readonly says: string }>>;

interface Values {
  readonly text: string;
  readonly integer: number;
  readonly amount: number;
  readonly date: WrittenDate;
  readonly boolean: boolean;
}

/** A voucher as it is listed. */
export type OutputVoucher = {
  readonly [Name in keyof typeof LISTED_FIELDS]: Values[(typeof LISTED_FIELDS)[Name]['kind']];
} & {
  /** For its owner (`docs/decisions.md#v1`). */
  readonly sourceId?: string;
};
