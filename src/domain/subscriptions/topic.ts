import { type ParsedEvent, toDomainEvent } from '../../kernel/decider';
import { type RecordedEvent } from '../../kernel/event';
import { type System } from '../../network/events';
import { Programs } from '../../network/programs';
import { type Fields, nullable, record, type RecordKind } from '../../wire/record/record';
import { type SubscriptionFilter, type TopicName } from './subscription';

/**
 * What subscriptions can be about: the delivery engine knows no domain but by this (docs/architecture.md,
 * Notifications).
 */
export interface Topic {
  readonly name: TopicName;
  /** Prefixes of the streams to read. */
  readonly streams: readonly string[];
  /** Prefixes of the streams of reference data that decide who may be notified, if events alone do not. */
  readonly joins?: readonly string[];
  /** The stream with the occurrences of a subject. */
  readonly streamOf: (subject: string) => string;
  readonly handles: readonly string[];
  /** Names of attributes that may be placeholders. */
  readonly attributes: readonly string[];
  /**
   * What has happened, if subscribers may want to be notified of it. `programs`: as of the event, if it `joins` them.
   */
  occurrence(event: ParsedEvent, programs: Programs): Occurrence | undefined;
  /** An example, for tests of receivers. */
  example(stateId: number, now: Date): Occurrence;
}

/** What a filter has beside the states. */
type FilterList = Exclude<keyof SubscriptionFilter, 'stateIds'>;

interface FilterValues {
  readonly description: string;
  /** Ids that have names; without, ids of the directory. A `percent` is one value. */
  readonly of?: NamedIds | 'language' | 'keyword' | 'percent';
}

/** Integer ids that have names. */
type NamedIds = Readonly<Record<number, { readonly name: string }>>;

/** A topic, and what differs between subscriptions to it and those to another. */
export interface SubscriptionTopic extends Topic {
  /** The service that its subscriptions are part of, and its name in OpenAPI. */
  readonly service: {
    readonly system: System;
    /** Its path after `/1.0/`: `claims/subscriptions`. */
    readonly module: string;
    readonly title: string;
    readonly description: string;
    readonly errorSchema: string;
  };
  /** Path of the subscriptions: `/1.0/claims/subscriptions`. */
  readonly path: string;
  /** What one is called in names of operations, of schemas and in OpenAPI: `ClaimSubscription`. */
  readonly typeName: string;
  /** What comes before other names there: empty, or `Claim`. */
  readonly prefix: string;
  /** What messages are about: `claim`; the field with its id: `claimId`; an example of such an id. */
  readonly subject: string;
  readonly subjectField: string;
  readonly subjectId: string;
  /** The states to be notified of, and the field of the filter that selects them. */
  readonly states: {
    readonly field: string;
    readonly ids: NamedIds;
    readonly notForAdvertisers: readonly number[];
  };
  /** The other lists of the filter. */
  readonly filter: Readonly<Partial<Record<FilterList, FilterValues>>>;
  /** A message that has each attribute under its own name. */
  readonly message: RecordKind;
  /** For the description: states to select, and a body with placeholders. */
  readonly sample: { readonly states: readonly number[]; readonly receiverBody: string };
}

/** A message of these attributes, by its name in OpenAPI. Those that an occurrence may lack are null then. */
export function messageOf(name: string, attributes: Fields): RecordKind {
  const fields = Object.entries(attributes).map(([attribute, { kind, description, optional }]) => [
    attribute,
    { kind: optional && kind.is === 'scalar' ? nullable(kind) : kind, description, optional: true },
  ]);
  return record(Object.fromEntries(fields) as Fields, { name, isOpen: true });
}

/** What filters select by. Of several values, one that is wanted is enough; without one, no list is met. */
type OccurrenceFacts = {
  readonly [Name in FilterList as Name extends `${infer One}s` ? One : never]?:
    number | string | ReadonlySet<number | string>;
};

/** The subject of a topic, such as a transaction or claim, has entered a state. */
export interface Occurrence extends OccurrenceFacts {
  /** The id of what it is about: its messages keep their order. */
  readonly subject: string;
  /** The revision of its event in the stream of the subject, plus 1. */
  readonly sequence: number;
  readonly stateId: number;
  readonly at: string;
  /** By how much a price fell, in per cent of the price before. */
  readonly fall?: number;
  /** The organisations that may be notified. */
  readonly parties: readonly number[] | ReadonlySet<number>;
  readonly currencyId: string;
  /** By name, in the units of messages: amounts as decimals, times as ISO 8601 texts. Absent ones have no value. */
  readonly attributes: Attributes;
  /** Further attributes, which differ between subscriptions; `programs` as of the event, of a topic that joins them. */
  readonly own?: (subscriber: Notified, programs: Programs) => Attributes;
  /** The attributes that are amounts in `currencyId`; the attribute `currencyId` names it. */
  readonly amounts: readonly string[];
  /**
   * Of a change of what a subscription may have selected before: what it is to one that selects only what it is now,
   * and to one that selects only what it was (`docs/decisions.md#n18`).
   */
  readonly otherwise?: { readonly appeared: Occurrence; readonly disappeared: Occurrence };
}

/** Whom a message is for: an organisation, or one of its sites only. */
interface Notified {
  readonly organisationId: number;
  readonly siteId?: number | undefined;
}

/** The field with one state: `messageTypeId` where `messageTypeIds` selects states. */
export function stateField({ field }: Pick<SubscriptionTopic['states'], 'field'>): string {
  return field.replace(/s$/, '');
}

/** For those who do not ask who may be notified. */
const NO_PROGRAMS = new Programs();

/**
 * What has happened by an event that the topic handles. Raises what makes the event unusable: another program has
 * written it.
 */
export function occurrenceOf(
  topic: Topic,
  recorded: RecordedEvent,
  programs = NO_PROGRAMS,
): Occurrence | undefined {
  const { stream, revision, position } = recorded;
  const occurrence = topic.occurrence({ ...toDomainEvent(recorded), stream, revision, position }, programs);
  const parties: unknown = occurrence?.parties ?? [];
  if (!Array.isArray(parties) && !(parties instanceof Set))
    throw new TypeError(`${recorded.type} without the organisations that may be notified`);
  return occurrence;
}

/** As `occurrenceOf`; undefined for an event that cannot be used, of which nobody is notified. */
export function usableOccurrence(
  topic: Topic,
  recorded: RecordedEvent,
  programs?: Programs,
): Occurrence | undefined {
  try {
    return occurrenceOf(topic, recorded, programs);
  } catch {
    return undefined;
  }
}

/** What an occurrence is to some subscription. */
export function variantsOf(occurrence: Occurrence): readonly Occurrence[] {
  const { otherwise } = occurrence;
  return otherwise === undefined ? [occurrence] : [occurrence, otherwise.appeared, otherwise.disappeared];
}

/** All organisations to which an occurrence is something. */
export function partiesOf({ parties, otherwise }: Occurrence): ReadonlySet<number> {
  if (otherwise !== undefined) return new Set([...parties, ...otherwise.disappeared.parties]);
  return 'has' in parties ? parties : new Set(parties);
}

export function isParty({ parties }: Pick<Occurrence, 'parties'>, organisationId: number): boolean {
  return 'has' in parties ? parties.has(organisationId) : parties.includes(organisationId);
}

export type Attributes = Readonly<Record<string, string | number>>;
