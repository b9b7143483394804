import { type DomainEvent, type ParsedEvent } from '../kernel/decider';
import { type RecordedEvent } from '../kernel/event';
import { type Filter } from '../kernel/query';
import { type CollectionSpec, type FieldValue } from '../kernel/read-store';
import { type CategoryChange } from '../network/categories/categories';
import { type Directory } from '../network/directory';
import { DIRECTORY_PREFIXES } from '../network/events';
import { type LeaseKind, PROJECTOR_LEASE, REBUILD_LEASE } from '../runtime/lease-holder';

/** What the store saves of a document: the fields that queries use, and the document itself. */
export interface Described<Document> {
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** Stored as JSON; passed to the next `fold` and to every answer. */
  readonly document: Document;
}

/**
 * A read model as pure functions: documents, each folded in log order from the events of one stream (or
 * `acrossStreams`). `Document` is plain JSON; the same events give the same text.
 *
 * Only `describe` reads the directory. So a document always is the fold of its own events, described with the
 * directory as of the same position.
 */
export interface Projection<Document extends object = object, Event extends DomainEvent = DomainEvent> {
  /** The name never changes. Increase the version whenever the same events would give other documents. */
  readonly collection: CollectionSpec;
  /** Prefixes of the streams to read. */
  readonly streams: readonly string[];
  /** Event types to fold; other events are not parsed. */
  readonly handles: readonly Event['type'][];
  /** Event types that replace the document whatever it was, so it need not be read first. */
  readonly replaces?: readonly Event['type'][];
  /** Id of the document that an event belongs to. */
  idOf(event: ParsedEvent<Event>): string;
  /** The document after an event: undefined when it is deleted, the same object when nothing changed. */
  fold(document: Document | undefined, event: ParsedEvent<Event>): Document | undefined;
  describe(document: Document, id: string, directory: Directory): Described<Document>;
  /** `describe` ignores the directory: that of its log need not be read. */
  readonly usesDirectory?: false;
  /**
   * Loads append very many events at once to its streams. Read models that take no loads are followed apart, so that
   * they are not behind one (`docs/decisions.md#x154`).
   */
  readonly takesLoads?: true;
  /**
   * A document is folded from events of several of the streams, which are read as a whole when it is retried; it is not
   * projected ahead of the checkpoint (`runsAhead`).
   */
  readonly acrossStreams?: true;
  /**
   * Documents leave the read model when the time in this `number` field (epoch ms) is longer ago than they are kept.
   */
  readonly expires?: {
    readonly field: string;
    /** The same time. */
    at(document: Document): number;
  };
  /** For documents that depend on the directory: which of them a change may affect. */
  readonly fanOut?: {
    affectedBy(changes: readonly CategoryChange[]): Filter;
    /** The stream that a document is folded from. */
    streamOf(document: Document): string;
  };
}

/** Whether small streams are projected ahead of the checkpoint while it is behind (ADR 72). */
export function runsAhead({ takesLoads, acrossStreams }: Projection): boolean {
  return takesLoads === true && acrossStreams !== true;
}

/** Prefixes of the streams with the directory that these projections use. */
export function directoryPrefixes(projections: readonly Projection[]): readonly string[] {
  return projections.some(({ usesDirectory = true }) => usesDirectory) ? DIRECTORY_PREFIXES : [];
}

/** An event that several projections read: parsed lazily, and only once. */
export class IncomingEvent {
  private parsed: ParsedEvent | undefined;
  private documentId: { readonly idOf: Projection['idOf']; readonly id: string } | undefined;

  constructor(readonly event: RecordedEvent) {}

  parse(): ParsedEvent {
    const { type, data, stream, revision, position } = this.event;
    return (this.parsed ??= { type, data: JSON.parse(data) as object, stream, revision, position });
  }

  /** Id of the document that the event belongs to, cached for projections that share one `idOf`. */
  documentIdFor(projection: Pick<Projection, 'idOf'>): string {
    if (this.documentId?.idOf !== projection.idOf)
      this.documentId = { idOf: projection.idOf, id: projection.idOf(this.parse()) };
    return this.documentId.id;
  }
}

/** A log that read models are projected from: what the read store keeps for it, under these names. */
export interface Source {
  /** The collection that records which log it is. */
  readonly origin: string;
  /** The process that holds it updates the live read models of this log. */
  readonly projectorLease: LeaseKind;
  /** The process that holds it builds generations of them. */
  readonly rebuildLease: LeaseKind;
  /** Its events expire, so the first one does not identify it. */
  readonly isExpiring: boolean;
  /** Where the log is kept, if read models of another log are replaced automatically, since people alone read them. */
  readonly replacesOther?: string;
}

export const DOMAIN_LOG: Source = {
  origin: 'origin',
  projectorLease: PROJECTOR_LEASE,
  rebuildLease: REBUILD_LEASE,
  isExpiring: false,
};

export const DELIVERY_LOG: Source = {
  origin: 'origin-deliveries',
  projectorLease: { ...PROJECTOR_LEASE, name: 'projector-deliveries' },
  rebuildLease: { ...REBUILD_LEASE, name: 'rebuild-deliveries' },
  isExpiring: true,
  replacesOther: 'deliveries.sqlite, or the streams deliveries.* of EventStoreDB',
};
