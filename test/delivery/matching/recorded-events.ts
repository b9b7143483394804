import { type DomainEvent, type ParsedEvent } from '../../../src/kernel/decider';
import { namedUuid, positionOf, type RecordedEvent } from '../../../src/kernel/event';
import {
  type Receiver,
  type SubscriptionContent,
  type SubscriptionEvent,
} from '../../../src/domain/subscriptions/subscription';
import { type Occurrence, type Topic } from '../../../src/domain/subscriptions/topic';

export const AT = '2026-03-01T12:00:00.000Z';

/** A topic whose events are occurrences as they are. */
export const claimTopic: Topic = {
  name: 'claims',
  streams: ['claim-'],
  streamOf: (subject) => `claim-${subject}`,
  handles: ['ClaimMoved'],
  attributes: ['claimId', 'amount', 'currencyId', 'stateId', 'epi'],
  occurrence: ({ data }: ParsedEvent) => ('siteId' in data ? (data as Occurrence) : undefined),
  example: (stateId, now) => ({
    ...occurrence({ stateId, programId: -1 }),
    at: now.toISOString(),
    attributes: { claimId: 'example', amount: 12.5, currencyId: 'EUR', stateId },
  }),
};

/** Of program 1, site 10, event 100 and type 4; parties are 1 and 2. */
function occurrence(changes: Partial<Occurrence> = {}): Occurrence {
  const stateId = changes.stateId ?? 1;
  return {
    subject: 'claim 1',
    sequence: 1,
    stateId,
    at: AT,
    parties: [1, 2],
    programId: 1,
    siteId: 10,
    eventId: 100,
    eventTypeId: 4,
    currencyId: 'EUR',
    attributes: { claimId: '1', amount: 100, currencyId: 'EUR', stateId },
    amounts: ['amount'],
    ...changes,
  };
}

export function moved(changes: Partial<Occurrence> = {}): DomainEvent {
  return { type: 'ClaimMoved', data: occurrence(changes) };
}

export const GET: Receiver = { httpMethod: 'GET', receiverUrl: 'https://a.example/?e=${epi}&a=${amount}' };
export const POST: Receiver = {
  httpMethod: 'POST',
  receiverUrl: 'https://b.example/',
  receiverFormat: 'JSON',
  receiverBody: '{"state":${stateId},"epi":${epi}}',
};

/** Of states 1 and 2, to one receiver. */
export function content(changes: Partial<SubscriptionContent> = {}): SubscriptionContent {
  return { filter: { stateIds: [1, 2] }, receivers: [GET], ...changes };
}

export function created(
  organisationId: number,
  subscription: Partial<SubscriptionContent> = {},
  topic: 'claims' | 'transactions' = 'claims',
): SubscriptionEvent {
  return {
    type: 'SubscriptionCreated',
    data: { at: AT, topic, organisationId, subscription: content(subscription) },
  };
}

export function replaced(subscription: Partial<SubscriptionContent>): SubscriptionEvent {
  return { type: 'SubscriptionReplaced', data: { at: AT, subscription: content(subscription) } };
}

export const DELETED: SubscriptionEvent = { type: 'SubscriptionDeleted', data: { at: AT } };

/** A log in memory: events as they are read from one. */
export class Recorded {
  private readonly revisions = new Map<string, number>();
  readonly events: RecordedEvent[] = [];

  /** The event as it is read after it was appended. */
  append(stream: string, { type, data }: DomainEvent): RecordedEvent {
    const revision = (this.revisions.get(stream) ?? -1) + 1;
    this.revisions.set(stream, revision);
    const id = namedUuid(Buffer.alloc(16), `${stream} ${revision}`);
    const position = positionOf(this.events.length + 1);
    const event = { id, stream, revision, position, type, data: JSON.stringify(data), meta: '{}' };
    this.events.push(event);
    return event;
  }
}
