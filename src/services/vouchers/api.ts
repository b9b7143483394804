import { operationsById, shape, type Shape } from '../../wire/api/description';
import { INTEGER } from '../../wire/keys/keys';
import { IGNORED_FIELDS, ITEM_HELP } from '../../wire/keys/name-list';
import { SINCE_HEADERS } from '../../wire/keys/pages';
import { MOST_VERSIONS, type Version } from '../../kernel/decider';
import { defined } from '../../kernel/values';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { jsonList, type ListText, type ListView, listWriter } from '../../wire/record/list';
import { type AnswerOf, type Fields, listOf, optional, record } from '../../wire/record/record';
import { amount, boolean, date, idOf, integer, language, text, url } from '../../wire/record/kinds';
import { errorList } from '../../wire/api/errors';
import {
  isOfMoney,
  type ListedVoucher,
  VOUCHER_TYPES,
  type VoucherContent,
  type VoucherCurrency,
  type VoucherState,
} from '../../domain/vouchers/voucher';
import { type DateFormat, DAY, writeDate } from '../../wire/date';
import { clickLink } from '../../wire/url';

const VOUCHER_TYPE = { kind: idOf(VOUCHER_TYPES), description: 'Type' } as const;

/** The start of the day that is this many days from now, in milliseconds. */
function dayFrom(now: Date, days: number): number {
  return (Math.floor(now.getTime() / DAY) + days) * DAY;
}

/** Document 2, Voucher posted by an advertiser; Limits; other limits `docs/decisions.md#x40`. */
const POSTED = {
  title: {
    kind: text({ maxBytes: 70 }),
    required: true,
    description: 'Title',
    example: 'Ten per cent off lamps',
  },
  programId: { kind: integer(), required: true, description: 'Program that owns the voucher', example: 101 },
  voucherTypeId: { ...VOUCHER_TYPE, required: true, example: 1 },
  code: { kind: text({ maxBytes: 256 }), description: 'Code; required of type 1', example: 'LAMPS-10' },
  shortDescription: {
    kind: text({ maxBytes: 100 }),
    required: true,
    description: 'Short description',
    example: 'Ten per cent off',
  },
  description: {
    kind: text({ maxBytes: 65_535 }),
    required: true,
    description: 'Long description',
    example: 'Ten per cent off all lamps, once per customer.',
  },
  startDate: {
    kind: date(),
    required: true,
    description: 'Start of validity',
    example: (now: Date) => dayFrom(now, 0),
  },
  endDate: {
    kind: date(),
    required: true,
    description: 'End of validity, at most 366 days ahead',
    example: (now: Date) => dayFrom(now, 90),
  },
  sourceId: {
    kind: text({ maxBytes: 1000, orInteger: true, isId: true }),
    description: 'The advertiser’s id; a known one edits that voucher',
    example: 'lamps-10',
  },
  siteIds: {
    kind: listOf(integer(), { each: 'siteId', most: 1000, items: 'integers', isNoneIfEmpty: true }),
    in: 'content',
    restricts: ['site', 'sites'],
    description: 'Only these sites can use it',
  },
  landingUrl: { kind: url({ maxBytes: 2048 }), description: 'Landing page' },
  publishStartDate: { kind: date(), restricts: [], description: 'Start of publication' },
  publishEndDate: { kind: date(), restricts: [], description: 'End of publication' },
  publisherInformation: {
    kind: text({ maxBytes: 65_535 }),
    description: 'For the publisher, not for customers',
  },
  discountAmount: { kind: amount(), description: 'Amount of discount; required of type 2' },
  isPercentage: {
    kind: boolean(),
    description: 'Whether the amount is a percentage; required with an amount',
  },
  languageId: { kind: language(), description: 'ISO 639-1 code of its language' },
} as const satisfies Fields;

export const postedVoucher = record(POSTED, { name: 'PostedVoucher' });

/** `docs/decisions.md#v17`. */
export const postedVouchers = listOf(postedVoucher, { each: 'voucher', most: 1000 });

/**
 * Document 2, Voucher returned by the list operation, in its order; all fields are always present
 * (`docs/decisions.md#v9`).
 */
const LISTED = {
  id: { kind: integer(), description: 'Id of the voucher' },
  programId: POSTED.programId,
  programName: { kind: text(), description: 'Name of the program' },
  code: { ...POSTED.code, description: 'Code' },
  updateDate: { kind: date(), description: 'Last update' },
  publishStartDate: POSTED.publishStartDate,
  publishEndDate: POSTED.publishEndDate,
  startDate: POSTED.startDate,
  endDate: { kind: date(), description: 'End of validity' },
  title: POSTED.title,
  shortDescription: POSTED.shortDescription,
  description: POSTED.description,
  voucherTypeId: VOUCHER_TYPE,
  defaultTrackUri: { kind: text(), description: 'Tracker link to the landing page' },
  siteSpecific: { kind: boolean(), description: 'Whether it is for some sites only' },
  landingUrl: POSTED.landingUrl,
  discountAmount: { kind: amount(), description: 'Amount of discount' },
  isPercentage: { kind: boolean(), description: 'Whether the amount is a percentage' },
  publisherInformation: POSTED.publisherInformation,
  languageId: POSTED.languageId,
  exclusive: { kind: boolean(), description: 'Whether it is for a single site' },
  currencyId: { kind: text(), description: 'ISO 4217 code: the currency of the amount' },
  logoPath: { kind: text(), description: 'Logo of the program' },
  /** `docs/decisions.md#v1`. */
  sourceId: { kind: text(), optional: true, description: 'The advertiser’s id, for its owner' },
} as const satisfies Fields;

const listedVouchers = listOf(record(LISTED, { name: 'Voucher' }), { each: 'voucher' });

export type OutputVoucher = AnswerOf<ReturnType<typeof listedVouchers.of>>;

/** Document 2, Endpoints, Vouchers: the new primary key. */
const voucherKey = listOf(integer(), { each: 'long', least: 1, most: 1 });

/** What became of one posted voucher: its id, or why it was refused. */
const bulkResult = record(
  { id: { ...LISTED.id, optional: true }, errors: { ...errorList.fields.errors, optional: true } },
  { name: 'BulkResult' },
);

/** An id or an error list for each posted voucher (`docs/decisions.md#v17`). */
const bulkResults = listOf(bulkResult, { each: 'result', most: 1000 });

/** Of posted fields, and the currency of the amount. */
const voucherValues = record(
  { ...optional(POSTED), currencyId: { ...LISTED.currencyId, optional: true } },
  { name: 'VoucherValues' },
);

type OutputValues = AnswerOf<typeof voucherValues>;

const voucherVersion = record({
  version: { kind: integer(), in: 'attribute', description: 'Counted from 1' },
  time: { kind: date(), in: 'attribute', description: 'When it was posted or deleted' },
  deleted: {
    kind: boolean(),
    in: 'attribute',
    optional: true,
    description: 'True of a deletion, which changes no fields',
  },
  changed: {
    kind: listOf(text(), { each: 'changed' }),
    in: 'content',
    description: 'Names of the posted fields that changed',
  },
  before: {
    kind: voucherValues,
    optional: true,
    description: 'The values of these fields before; a field that had none is absent',
  },
  after: {
    kind: voucherValues,
    optional: true,
    description: 'The values of these fields after; a field that has none any more is absent',
  },
});

export type OutputVersion = AnswerOf<typeof voucherVersion>;

const VERSIONS = listOf(voucherVersion, { each: 'version', most: MOST_VERSIONS });

/** `docs/decisions.md#v17`. */
const voucherVersions = record({ versions: { kind: VERSIONS, description: 'Oldest first' } });

const asXml = listWriter({ kind: VERSIONS, xml: { file: '', root: 'versions' } });

/** How versions are written: in JSON their list is in an object. */
export function versionsText(view: ListView): ListText<OutputVersion> {
  return view.format === 'xml' ? asXml(view) : jsonList(view, { before: {}, name: 'versions' });
}

/** Whose answers, and how they are written. */
export interface VoucherView {
  readonly directory: Directory;
  readonly caller: Caller;
  readonly clickUrl: string;
  readonly dates: DateFormat;
}

/** A voucher as a caller sees it (Document 2, Voucher returned by the list operation). */
export function toOutput(listed: ListedVoucher, view: VoucherView): OutputVoucher {
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

type CodeOf = ReturnType<typeof codeIn>;

export function toVersion(
  { version, time, changed, before, after }: Version<VoucherState>,
  codeOf: CodeOf,
  dates: DateFormat,
): OutputVersion {
  const isDeletion = before.status === 'published' && after.status === 'withdrawn';
  const values = (state: VoucherState) => valuesIn(state, changed, codeOf, dates);
  return {
    version,
    time: writeDate(Date.parse(time), dates),
    ...(isDeletion ? { deleted: true } : {}),
    changed,
    ...defined({ before: values(before), after: values(after) }),
  };
}

/** The values of some posted fields, and with an amount its currency; undefined if it has none of them. */
function valuesIn(
  state: VoucherState,
  names: readonly string[],
  codeOf: CodeOf,
  dates: DateFormat,
): OutputValues | undefined {
  if (state.status !== 'published') return undefined;
  const { voucher, currency, programId, sourceId } = state;
  const isAmongThem = names.includes('discountAmount') && isOfMoney(voucher);
  const all = { ...voucher, programId, ...defined({ sourceId }) };
  const written = Object.entries(all).flatMap(([name, value]) => {
    if (!names.includes(name)) return [];
    return [[name, DATES.has(name) ? writeDate(Date.parse(String(value)), dates) : value] as const];
  });
  if (written.length === 0) return undefined;
  return {
    ...Object.fromEntries(written),
    ...(isAmongThem ? { currencyId: codeOf(currency, programId) } : {}),
  };
}

const DATES: ReadonlySet<string> = new Set([
  'startDate',
  'endDate',
  'publishStartDate',
  'publishEndDate',
] satisfies readonly (keyof VoucherContent)[]);

/** The code of the currency of a posted amount; empty if it is not known (`docs/decisions.md#v19`). */
export function codeIn({ currencies }: Directory) {
  return (posted: VoucherCurrency, programId: number): string =>
    'currency' in posted ? posted.currency : (currencies.ofProgram(programId, posted.postedAt) ?? '');
}

/** `docs/decisions.md#v7`, `#v13`. */
function trackUri(
  { programId, voucher }: ListedVoucher,
  { directory, caller, clickUrl }: VoucherView,
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

/** Headers of posts (`docs/decisions.md#a15`). */
const POST_HEADERS = {
  ...IGNORED_FIELDS,
  'X-Dry-Run':
    '`true` with dryRun=true: nothing was stored; the id of a voucher that does not exist yet is 0',
} as const;

const VOUCHER_ID = { id: { type: INTEGER, description: 'Id of the voucher', example: 1 } } as const;

export const VOUCHERS = {
  name: 'Vouchers',
  kind: listedVouchers,
  xml: { file: 'VoucherList_v1_0.xsd', root: 'voucherList' },
  examples: {
    ics:
      'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Affilog//vouchers//EN\r\nBEGIN:VEVENT\r\nUID:voucher-1@affilog\r\n' +
      'DTSTAMP:20261101T093000Z\r\nDTSTART:20261101T000000Z\r\nDTEND:20270130T000000Z\r\nSUMMARY:Ten per cent off lamps\r\n' +
      'DESCRIPTION:Ten per cent off\r\nURL:https://clk.example/click?p=101\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
  },
} as const satisfies Shape;

/** The operations of Document 2, Endpoints, Vouchers, and those beyond it (`docs/decisions.md#v17`). */
export const voucherApi = operationsById({
  listVouchers: {
    summary: 'List and export vouchers',
    description:
      'Publishers see vouchers that are published and have not ended, advertisers all of their own; newest first. ' +
      'CSV has a column for each field, iCalendar an event for each voucher.',
    example: { pageSize: 3 },
    answer: VOUCHERS,
    sends: { 'X-Page-Size': 'Vouchers on a page, if the request asked for more', ...SINCE_HEADERS },
  },
  postVoucher: {
    summary: 'Create or edit a voucher',
    description:
      'A sourceId that is known in the program edits that voucher: all fields are replaced. The id of a voucher that ' +
      'was posted without a sourceId is its sourceId. The answer is the id. At most 1 MiB.',
    body: { name: 'PostedVoucher', kind: postedVoucher, xml: { file: 'Voucher_v1_0.xsd', root: 'voucher' } },
    answer: {
      ...shape('VoucherKey', voucherKey),
      examples: { xml: '<?xml version="1.0" encoding="UTF-8"?><long>1</long>' },
    },
    sends: POST_HEADERS,
  },
  postVouchers: {
    summary: 'Create or edit several vouchers',
    description:
      'Each is validated separately: the answer has an id or an error list for each, in order. At most 1,000 of ' +
      'them, 8 MiB in all and 1 MiB each.',
    body: { name: 'PostedVouchers', kind: postedVouchers },
    answer: { name: 'BulkResults', kind: bulkResults },
    sends: { ...POST_HEADERS, ...ITEM_HELP },
  },
  deleteVoucher: { summary: 'Delete a voucher', path: VOUCHER_ID },
  listVersions: {
    summary: 'List what each edit of a voucher changed',
    description:
      'For its owner, even after a deletion; the last 1,000, oldest first: the fields that changed, with their values before ' +
      'and after.',
    path: VOUCHER_ID,
    answer: shape('VoucherVersions', voucherVersions),
  },
});
