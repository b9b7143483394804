import { type ParsedEvent, toDomainEvent } from '../../kernel/decider';
import { type RecordedEvent } from '../../kernel/event';
import { type TopicName } from './subscription';

/**
 * What subscriptions can be about. Notifications know no service: each that has something to tell describes it as a topic
 * (docs/architecture.md, Notifications).
 */
export interface Topic {
  readonly name: TopicName;
  /** Prefixes of the streams to read. */
  readonly streams: readonly string[];
  /** The stream with the occurrences of a subject. */
  readonly streamOf: (subject: string) => string;
  /** Event types to parse. */
  readonly handles: readonly string[];
  /** Names of attributes that may be placeholders. */
  readonly attributes: readonly string[];
  /** What has happened, if subscribers may want to be notified of it. */
  occurrence(event: ParsedEvent): Occurrence | undefined;
  /** An example, for tests of receivers. */
  example(stateId: number, now: Date): Occurrence;
}

/** A transaction or claim has entered a state. */
export interface Occurrence {
  /** The id of what it is about: its messages keep their order. */
  readonly subject: string;
  /** The revision of its event in the stream of the subject, plus 1. */
  readonly sequence: number;
  readonly stateId: number;
  /** When it happened, an ISO 8601 instant. */
  readonly at: string;
  /** The organisations that may be notified. */
  readonly parties: readonly number[];
  readonly programId: number;
  readonly siteId: number;
  readonly eventId: number;
  readonly eventTypeId?: number;
  /** ISO 4217. */
  readonly currencyId: string;
  /** By name, in the units of messages: amounts as decimals, times as ISO 8601 texts. Absent ones have no value. */
  readonly attributes: Attributes;
  /** The attributes that are amounts in `currencyId`; the attribute `currencyId` names it. */
  readonly amounts: readonly string[];
}

/** What has happened by an event that the topic handles. Raises what makes the event unusable: another program has written it. */
export function occurrenceOf(topic: Topic, recorded: RecordedEvent): Occurrence | undefined {
  const { stream, revision, position } = recorded;
  const occurrence = topic.occurrence({ ...toDomainEvent(recorded), stream, revision, position });
  if (occurrence !== undefined && !Array.isArray(occurrence.parties))
    throw new TypeError(`${recorded.type} without the organisations that may be notified`);
  return occurrence;
}

/** As `occurrenceOf`; undefined for an event that cannot be used, of which nobody is notified. */
export function usableOccurrence(topic: Topic, recorded: RecordedEvent): Occurrence | undefined {
  try {
    return occurrenceOf(topic, recorded);
  } catch {
    return undefined;
  }
}

export type Attributes = Readonly<Record<string, string | number>>;
