import { type ParsedEvent } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { day, idOf, integer, text } from '../../wire/record/kinds';
import { decimalOf, money } from '../../wire/record/minor-units';
import { type Fields } from '../../wire/record/record';
import { messageOf, type Occurrence, type SubscriptionTopic } from '../subscriptions/topic';
import { CLAIM, type ClaimContent, type ClaimEvent, inMemory, type Ruling } from './claim';
import { type StatusId, STATUSES } from './statuses';
import { DAY } from '../../wire/date';

type StatusEvent = Extract<ClaimEvent, { readonly type: 'ClaimScreened' | 'ClaimRuled' }>;

const optional = { optional: true } as const;

/** Of a listed claim, without what needs the directory, the creation and the countdown (`docs/decisions.md#c13`). */
export const CLAIM_ATTRIBUTES = {
  claimId: { kind: integer(), description: 'Id of the claim' },
  statusId: { kind: idOf(STATUSES), description: 'Status' },
  statusName: { kind: text(), description: 'Name of the status' },
  statusState: { kind: text(), description: 'State of the status' },
  statusMessage: { kind: text(), ...optional, description: 'Message of the status' },
  statusChanged: { kind: day(), description: 'Last change of the status' },
  publisherId: { kind: integer(), description: 'Publisher organisation' },
  affiliateSiteId: { kind: integer(), description: 'Site of the publisher' },
  programId: { kind: integer(), description: 'Program' },
  timeStampEvent: { kind: day(), description: 'Date of the transaction' },
  eventId: { kind: integer(), description: 'Event of the program' },
  orderNumber: { kind: text(), description: 'Order number' },
  orderValue: { kind: money(), description: 'Value of the order' },
  adjustedOrderValue: { kind: money(), ...optional, description: 'Order value, corrected by the advertiser' },
  currencyId: { kind: text(), description: 'ISO 4217 code' },
  epi: { kind: text(), ...optional, description: 'Extra publisher information' },
  epi2: { kind: text(), ...optional, description: 'Further publisher information' },
  trackingUrl: { kind: text(), ...optional, description: 'Tracking URL or click tag that was used' },
  productName: { kind: text(), ...optional, description: 'Name or description of the product' },
  expectedCommission: { kind: money(), ...optional, description: 'Expected commission' },
  adjustedExpectedCommission: {
    kind: money(),
    ...optional,
    description: 'Commission, corrected by the advertiser',
  },
  proofOfClaims: { kind: text(), ...optional, description: 'URL of a proof' },
  advertiserInformation: { kind: text(), ...optional, description: 'Information for the advertiser' },
  versionNo: { kind: integer(), description: 'Version of the claim' },
} as const satisfies Fields;

type Attribute = keyof typeof CLAIM_ATTRIBUTES;

const ATTRIBUTES = Object.keys(CLAIM_ATTRIBUTES) as readonly Attribute[];

/** Notifications of claims, and subscriptions to them (`docs/decisions.md#c13`). */
export const claimTopic: SubscriptionTopic = {
  name: 'claims',
  streams: [`${CLAIM}-`],
  streamOf: (subject) => streamOf(CLAIM, subject),
  handles: ['ClaimScreened', 'ClaimRuled'] satisfies StatusEvent['type'][],
  attributes: ATTRIBUTES,
  occurrence: (event) => {
    const claimId = Number(event.stream.slice(CLAIM.length + 1));
    return statusOccurrence(claimId, event as StatusEvent & ParsedEvent, event.revision + 1);
  },
  example: (statusId, now) => statusOccurrence(1, exampleOf(statusId as StatusId, now), 1),
  service: {
    system: 'CLAIMS',
    module: 'claims/subscriptions',
    title: 'Claim subscriptions',
    description: 'Subscriptions to messages about claims.',
    errorSchema: 'ClaimSubscriptionErrors_v1_0.xsd',
  },
  path: '/1.0/claims/subscriptions',
  typeName: 'ClaimSubscription',
  prefix: 'Claim',
  subject: 'claim',
  subjectField: 'claimId',
  subjectId: '4711',
  states: { field: 'statusIds', ids: STATUSES, notForAdvertisers: [] },
  filter: {
    programIds: { description: 'Programs' },
    siteIds: { description: 'Sites' },
    eventIds: { description: 'Events of programs' },
  },
  message: messageOf('ClaimMessage', CLAIM_ATTRIBUTES),
  sample: {
    states: [2, 3, 201],
    receiverBody: '{"claim": ${claimId}, "order": "${orderNumber}", "status": "${statusName}"}',
  },
};

function statusOccurrence(claimId: number, event: StatusEvent, sequence: number): Occurrence {
  const { type, data } = inMemory(event);
  const { at, statusId, message, publisherId, advertiserId, currencyId = '', version, claim } = data;
  const { siteId, programId, eventId } = claim;
  const { name, state } = STATUSES[statusId];
  const adjusted: Partial<Ruling> = type === 'ClaimRuled' ? data : {};
  const values: Readonly<Partial<Record<Attribute, string | number | undefined>>> = {
    claimId,
    statusId,
    statusName: name,
    statusState: state,
    statusMessage: message,
    statusChanged: at.slice(0, 10),
    publisherId,
    affiliateSiteId: siteId,
    programId,
    ...contentOf(claim, currencyId),
    adjustedOrderValue: decimal(adjusted.orderValue, currencyId),
    adjustedExpectedCommission: decimal(adjusted.expectedCommission, currencyId),
    currencyId,
    versionNo: version,
  };
  const attributes = ATTRIBUTES.flatMap((attribute) => {
    const value = values[attribute];
    return value === undefined ? [] : [[attribute, value] as const];
  });
  return {
    subject: String(claimId),
    sequence,
    stateId: statusId,
    at,
    parties: advertiserId === undefined ? [publisherId] : [advertiserId, publisherId],
    programId,
    siteId,
    eventId,
    currencyId,
    attributes: Object.fromEntries(attributes),
    amounts: ['orderValue', 'adjustedOrderValue', 'expectedCommission', 'adjustedExpectedCommission'],
  };
}

function contentOf(claim: ClaimContent, currency: string) {
  const { transactionDate: timeStampEvent, eventId, orderNumber, epi, epi2, trackingUrl } = claim;
  const { productName, expectedCommission, proofOfClaims, advertiserInformation } = claim;
  return {
    timeStampEvent,
    ...{ eventId, orderNumber, epi, epi2, trackingUrl, productName, proofOfClaims, advertiserInformation },
    orderValue: decimalOf(claim.orderValue, currency),
    expectedCommission: decimal(expectedCommission, currency),
  };
}

function decimal(amount: number | undefined, currency: string): number | undefined {
  return amount === undefined ? undefined : decimalOf(amount, currency);
}

/** A claim with a value for each attribute that its status has. */
function exampleOf(statusId: StatusId, now: Date): StatusEvent {
  const at = now.toISOString();
  const claim: ClaimContent = {
    siteId: 1101,
    programId: 101,
    transactionDate: new Date(now.getTime() - 7 * DAY).toISOString().slice(0, 10),
    eventId: 17,
    orderNumber: 'TEST-1',
    orderValue: 12_990,
    epi: 'epi',
    epi2: 'epi2',
    trackingUrl: 'https://publisher.example/lamps',
    productName: 'Wall lamp',
    proofOfClaims: 'https://publisher.example/proofs/1',
    expectedCommission: 1299,
    advertiserInformation: 'Ordered by telephone',
  };
  const subject = { publisherId: 2, advertiserId: 1, currencyId: 'EUR', claim, at };
  if (statusId === 1 || statusId === 2 || (statusId >= 100 && statusId < 200))
    return { type: 'ClaimScreened', data: { ...subject, version: 0, statusId: statusId as 2 } };
  return {
    type: 'ClaimRuled',
    data: {
      ...subject,
      version: 1,
      by: 'advertiser',
      statusId: statusId as 3,
      ...(statusId === 201 ? { message: 'Search' } : {}),
      ...(statusId === 3 ? { orderValue: 9990, expectedCommission: 999 } : {}),
    },
  };
}
