import { type ParsedEvent } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { defined } from '../../kernel/values';
import { Programs } from '../../network/programs';
import { DAY } from '../../wire/date';
import { amount, idOf, instant, integer, text, wordOf } from '../../wire/record/kinds';
import { type Fields } from '../../wire/record/record';
import { tokensOf } from '../../wire/words';
import { type Attributes, messageOf, type Occurrence, type SubscriptionTopic } from '../subscriptions/topic';
import {
  isOfMoney,
  phaseAfter,
  textsOf,
  VOUCHER,
  VOUCHER_TYPES,
  type VoucherContent,
  type VoucherEvent,
} from './voucher';

/** What becomes of a voucher for those who may see it (`docs/decisions.md#n18`). */
const CHANGES = { 1: { name: 'New' }, 2: { name: 'Changed' }, 3: { name: 'Ended' } } as const;

type ChangeId = keyof typeof CHANGES;

/** Why a voucher has ended: deleted, by its time, or since an edit has another time, other sites or other texts. */
const END_REASONS = ['withdrawn', 'expired', 'edited'] as const;

type EndReason = (typeof END_REASONS)[number];

const optional = { optional: true } as const;

/** Of a listed voucher, without what differs between those who list it, and what needs the directory. */
const VOUCHER_ATTRIBUTES = {
  voucherId: { kind: integer(), description: 'Id of the voucher' },
  changeId: { kind: idOf(CHANGES), description: 'What has become of it' },
  changeName: { kind: text(), description: 'Name of the change' },
  changeTime: { kind: instant(), description: 'When it changed' },
  endReason: {
    kind: wordOf(...END_REASONS),
    ...optional,
    description: 'Why it has ended: it was deleted, its time is over, or it was edited',
  },
  programId: { kind: integer(), description: 'Program that owns the voucher' },
  title: { kind: text(), description: 'Title' },
  voucherTypeId: { kind: idOf(VOUCHER_TYPES), description: 'Type' },
  voucherTypeName: { kind: text(), description: 'Name of the type' },
  code: { kind: text(), ...optional, description: 'Code' },
  shortDescription: { kind: text(), description: 'Short description' },
  description: { kind: text(), description: 'Long description' },
  startDate: { kind: instant(), description: 'Start of validity' },
  endDate: { kind: instant(), description: 'End of validity' },
  publishStartDate: { kind: instant(), ...optional, description: 'Start of publication' },
  publishEndDate: { kind: instant(), ...optional, description: 'End of publication' },
  siteSpecific: { kind: wordOf('true', 'false'), description: 'Whether it is for some sites only' },
  exclusive: { kind: wordOf('true', 'false'), description: 'Whether it is for a single site' },
  landingUrl: { kind: text(), ...optional, description: 'Landing page' },
  discountAmount: { kind: amount(), ...optional, description: 'Amount of discount' },
  isPercentage: {
    kind: wordOf('true', 'false'),
    ...optional,
    description: 'Whether the amount is a percentage',
  },
  currencyId: { kind: text(), ...optional, description: 'ISO 4217 code: the currency of an amount of money' },
  languageId: { kind: text(), ...optional, description: 'ISO 639-1 code of its language' },
  publisherInformation: {
    kind: text(),
    ...optional,
    description: 'For the publisher, not for customers',
  },
} as const satisfies Fields;

type VoucherAttribute = keyof typeof VOUCHER_ATTRIBUTES;

const ATTRIBUTES = Object.keys(VOUCHER_ATTRIBUTES) as readonly VoucherAttribute[];

/** Notifications of vouchers, and subscriptions to them (`docs/decisions.md#n18`). */
export const voucherTopic: SubscriptionTopic = {
  name: 'vouchers',
  streams: [`${VOUCHER}-`],
  joins: ['program-', 'site-'],
  streamOf: (subject) => streamOf(VOUCHER, subject),
  handles: [
    'VoucherPublished',
    'VoucherRevised',
    'VoucherWithdrawn',
    'VoucherShown',
    'VoucherHidden',
  ] satisfies VoucherEvent['type'][],
  attributes: ATTRIBUTES,
  occurrence: (event, programs) => occurrenceOf(event as VoucherEvent & ParsedEvent, programs),
  example: (changeId, now) => exampleOf(changeId as ChangeId, now),
  service: {
    system: 'VOUCHERS',
    module: 'vouchers/subscriptions',
    title: 'Voucher subscriptions',
    description: 'Subscriptions to messages about vouchers.',
    errorSchema: 'VoucherSubscriptionErrors_v1_0.xsd',
  },
  path: '/1.0/vouchers/subscriptions',
  typeName: 'VoucherSubscription',
  prefix: 'Voucher',
  subject: 'voucher',
  subjectField: 'voucherId',
  subjectId: '17',
  states: { field: 'changeIds', ids: CHANGES, notForAdvertisers: [] },
  filter: {
    programIds: { description: 'Programs' },
    siteIds: { description: 'Sites that can use the voucher' },
    voucherTypeIds: { description: 'Types of vouchers', of: VOUCHER_TYPES },
    languageIds: { description: 'Languages of vouchers', of: 'language' },
    keywords: {
      description: 'Words of which title, descriptions and code have all of one value',
      of: 'keyword',
    },
  },
  message: messageOf('VoucherMessage', VOUCHER_ATTRIBUTES),
  sample: {
    states: [1, 3],
    receiverBody: '{"voucher": ${voucherId}, "change": "${changeName}", "until": "${endDate}"}',
  },
};

function occurrenceOf(event: VoucherEvent & ParsedEvent, programs: Programs): Occurrence | undefined {
  const { type, data, stream, revision } = event;
  const happened = {
    voucherId: Number(stream.slice(VOUCHER.length + 1)),
    sequence: revision + 1,
    at: data.at,
  };
  const seen = { ...happened, programs };
  switch (type) {
    case 'VoucherPublished':
    case 'VoucherShown':
      return phaseAfter(event) === 'shown' ? changed({ ...seen, ...data }, 1) : undefined;
    case 'VoucherHidden':
      return data.unseen === true ? undefined : changed({ ...seen, ...data }, 3, { endReason: 'expired' });
    case 'VoucherWithdrawn': {
      const { replaced } = data;
      if (replaced?.phase !== 'shown') return undefined;
      return changed({ ...seen, ...replaced }, 3, { endReason: 'withdrawn' });
    }
    case 'VoucherRevised': {
      const { replaced, ...content } = data;
      if (replaced === undefined) return undefined;
      const now = { ...seen, ...content, programId: replaced.programId };
      const isShown = phaseAfter(event) === 'shown';
      if (replaced.phase !== 'shown') return isShown ? changed(now, 1) : undefined;
      const disappeared = changed({ ...seen, ...replaced }, 3, { endReason: 'edited' });
      return isShown
        ? changed(now, 2, { otherwise: { appeared: changed(now, 1), disappeared } })
        : disappeared;
    }
  }
}

/** A voucher as it was seen, or is now. */
interface SeenVoucher {
  readonly voucherId: number;
  readonly sequence: number;
  readonly at: string;
  readonly programId: number;
  readonly voucher: VoucherContent;
  readonly currency?: string;
  readonly programs: Programs;
}

interface ChangeDetails extends Pick<Occurrence, 'otherwise'> {
  readonly endReason?: EndReason;
}

function changed(
  seen: SeenVoucher,
  changeId: ChangeId,
  { endReason, otherwise }: ChangeDetails = {},
): Occurrence {
  const { voucherId, sequence, at, programId, voucher, currency } = seen;
  const { voucherTypeId, languageId } = voucher;
  // Most occurrences interest nobody.
  let [attributes, tokens]: [Attributes | undefined, ReadonlySet<string> | undefined] = [
    undefined,
    undefined,
  ];
  return {
    subject: String(voucherId),
    sequence,
    stateId: changeId,
    at,
    ...audienceIn(seen),
    programId,
    voucherTypeId,
    ...defined({ languageId: languageId?.toLowerCase(), otherwise }),
    get keyword() {
      return (tokens ??= new Set(textsOf(voucher).flatMap(tokensOf)));
    },
    currencyId: currency ?? '',
    get attributes() {
      return (attributes ??= attributesOf(seen, changeId, endReason));
    },
    amounts: isOfMoney(voucher) ? ['discountAmount'] : [],
  };
}

/** Its sites, and who may be notified: who sees it in lists (`docs/decisions.md#v10`, `#v18`). */
function audienceIn({ programs, programId, voucher }: SeenVoucher): Pick<Occurrence, 'parties' | 'siteId'> {
  const program = programs.get(programId);
  const connected = programs.sitesConnectedTo(programId);
  const sites = voucher.siteIds === undefined ? connected : voucher.siteIds.filter((id) => connected.has(id));
  const parties = new Set(program === undefined ? [] : [program.organisationId]);
  if (program?.status === 'active')
    for (const id of sites) parties.add(programs.site(id)?.organisationId ?? program.organisationId);
  return { parties, siteId: new Set(sites) };
}

function attributesOf(
  { voucherId, at, programId, voucher, currency }: SeenVoucher,
  changeId: ChangeId,
  endReason: EndReason | undefined,
): Attributes {
  const { siteIds = [], isPercentage, ...content } = voucher;
  const values: Readonly<Partial<Record<VoucherAttribute, string | number | undefined>>> = {
    ...content,
    ...{ voucherId, programId, changeId, changeName: CHANGES[changeId].name, changeTime: at, endReason },
    voucherTypeName: VOUCHER_TYPES[voucher.voucherTypeId].name,
    siteSpecific: String(siteIds.length > 0),
    exclusive: String(siteIds.length === 1),
    isPercentage: isPercentage === undefined ? undefined : String(isPercentage),
    currencyId: isOfMoney(voucher) ? currency : undefined,
  };
  const found = ATTRIBUTES.flatMap((attribute) => {
    const value = values[attribute];
    return value === undefined ? [] : [[attribute, value] as const];
  });
  return Object.fromEntries(found);
}

/** A voucher with a value for each attribute that its change has. */
function exampleOf(changeId: ChangeId, now: Date): Occurrence {
  const at = (days: number): string => new Date(now.getTime() + days * DAY).toISOString();
  const voucher: VoucherContent = {
    title: 'Ten euros off lamps',
    voucherTypeId: 1,
    code: 'LAMPS-10',
    shortDescription: 'Ten euros off',
    description: 'Ten euros off all lamps, once per customer.',
    startDate: at(-1),
    endDate: at(30),
    siteIds: [1101],
    landingUrl: 'https://shop.example/lamps',
    publishStartDate: at(-1),
    publishEndDate: at(30),
    publisherInformation: 'Not with other offers',
    discountAmount: 10,
    isPercentage: false,
    languageId: 'en',
  };
  const seen = { voucherId: 1, sequence: 1, at: at(0), programId: 101, voucher, currency: 'EUR' };
  const ended = changeId === 3 ? ({ endReason: 'expired' } as const) : {};
  return changed({ ...seen, programs: new Programs() }, changeId, ended);
}
