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
  readonly description: string;
}

const types = Object.entries(VOUCHER_TYPES).map(([id, { name }]) => `${id} ${name}`);

/** Document 2, Voucher posted by an advertiser; Limits; of the other limits `docs/decisions.md#x40`. */
export const POSTED_FIELDS = {
  title: { kind: 'text', maxBytes: 70, required: true, description: 'Title' },
  programId: { kind: 'integer', required: true, description: 'Program that owns the voucher' },
  voucherTypeId: { kind: 'integer', required: true, description: `Type: ${types.join(', ')}` },
  code: { kind: 'text', maxBytes: 256, description: 'Code; required of type 1' },
  shortDescription: { kind: 'text', maxBytes: 100, required: true, description: 'Short description' },
  description: { kind: 'text', maxBytes: 65_535, required: true, description: 'Long description' },
  startDate: { kind: 'date', required: true, description: 'Valid from then on' },
  endDate: { kind: 'date', required: true, description: 'Valid until then, at most 366 days ahead' },
  sourceId: {
    kind: 'id',
    maxBytes: 1000,
    description: 'The advertiser’s id: one that is known edits that voucher',
  },
  siteIds: { kind: 'integers', most: 1000, description: 'Only these sites can use it' },
  landingUrl: { kind: 'text', maxBytes: 2048, description: 'Landing page' },
  publishStartDate: { kind: 'date', description: 'Listed from then on' },
  publishEndDate: { kind: 'date', description: 'Listed until then' },
  publisherInformation: {
    kind: 'text',
    maxBytes: 65_535,
    description: 'For the publisher, not for customers',
  },
  discountAmount: { kind: 'amount', description: 'Amount of discount; required of type 2' },
  isPercentage: { kind: 'boolean', description: 'The amount is a percentage; required with an amount' },
  languageId: { kind: 'text', description: 'ISO 639-1 code of its language' },
} as const satisfies Readonly<Record<string, PostedField>>;

type Posted = typeof POSTED_FIELDS;

/** A field whose bytes are limited. */
export type TextField = {
  [Name in keyof Posted]: Posted[Name] extends { readonly maxBytes: number } ? Name : never;
}[keyof Posted];

/** Document 2, Voucher returned by the list operation, in its order; all are always there (`docs/decisions.md#v9`). */
export const LISTED_FIELDS = {
  id: { kind: 'integer', description: 'Id of the voucher' },
  programId: { kind: 'integer', description: 'Program that owns it' },
  programName: { kind: 'text', description: 'Name of the program' },
  code: { kind: 'text', description: 'Code' },
  updateDate: { kind: 'date', description: 'Last update' },
  publishStartDate: { kind: 'date', description: 'Start of its publication' },
  publishEndDate: { kind: 'date', description: 'End of its publication' },
  startDate: { kind: 'date', description: 'Start of its validity' },
  endDate: { kind: 'date', description: 'End of its validity' },
  title: { kind: 'text', description: 'Title' },
  shortDescription: { kind: 'text', description: 'Short description' },
  description: { kind: 'text', description: 'Long description' },
  voucherTypeId: { kind: 'integer', description: `Type: ${types.join(', ')}` },
  defaultTrackUri: { kind: 'text', description: 'Tracker link, the landing page behind it' },
  siteSpecific: { kind: 'boolean', description: 'It is for some sites only' },
  landingUrl: { kind: 'text', description: 'Landing page' },
  discountAmount: { kind: 'amount', description: 'Amount of discount' },
  isPercentage: { kind: 'boolean', description: 'The amount is a percentage' },
  publisherInformation: { kind: 'text', description: 'For the publisher, not for customers' },
  languageId: { kind: 'text', description: 'ISO 639-1 code of its language' },
  exclusive: { kind: 'boolean', description: 'It is for a single site' },
  currencyId: { kind: 'text', description: 'ISO 4217 code of the program’s currency' },
  logoPath: { kind: 'text', description: 'Logo of the program' },
} as const satisfies Readonly<Record<string, { readonly kind: Kind; readonly description: string }>>;

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
