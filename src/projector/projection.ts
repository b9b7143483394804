import { type CategoryChange } from '../directory/categories';
import { type Directory } from '../directory/directory';
import { type DomainEvent } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { type Filter } from '../kernel/query';
import { type CollectionSpec, type FieldValue } from '../kernel/read-store';

/** An event as a fold takes it: parsed, with its place in the log. */
export type ParsedEvent<Event extends DomainEvent = DomainEvent> = Event & {
  readonly stream: string;
  readonly position: Position;
};

/** What is kept of a document: what it is found by, and what answers are made of. */
export interface Described<Document> {
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Kept as JSON: the next `fold` and every answer gets it. */
  readonly document: Document;
}

/**
 * A read model, described purely: documents, each folded from the events of one stream, in order. `Document` is
 * plain JSON, the same text for the same events.
 *
 * What of a document hangs on the directory is made by `describe` alone, from the directory as it stands: a
 * document is what its own events made of it, described by the directory of the same position.
 */
export interface Projection<Document extends object = object, Event extends DomainEvent = DomainEvent> {
  /** Its name is for ever; its version rises whenever the same events would make other documents. */
  readonly collection: CollectionSpec;
  /** Prefixes of the streams it is folded from. */
  readonly streams: readonly string[];
  /** Types of the events it is folded from; others are not even parsed. */
  readonly handles: readonly Event['type'][];
  /** Types of events that leave a document whatever it was before, so that it is not read for them. */
  readonly replaces?: readonly Event['type'][];
  /** The document that an event is about. */
  idOf(event: ParsedEvent<Event>): string;
  /** The document after an event, undefined when there is none any more; the same object when nothing changed. */
  fold(document: Document | undefined, event: ParsedEvent<Event>): Document | undefined;
  describe(document: Document, id: string, directory: Directory): Described<Document>;
  /** For documents that hang on the directory: which ones a change of it may concern. */
  readonly fanOut?: {
    concerned(changes: readonly CategoryChange[]): Filter;
    /** The stream that a document is folded from. */
    streamOf(document: Document): string;
  };
}
