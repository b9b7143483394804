import { type FastifyReply } from 'fastify';
import { type Position } from '../kernel/event';
import { type Fault, Faults } from '../kernel/fault';
import { type QueryOptions } from '../kernel/query';
import { type Format } from '../wire/api/format';
import { type XmlElement } from '../wire/xml/write';
import { type Renderings, type Representation } from './representation';

interface AnswerDetails {
  /** HTTP status, by default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Log position of the last event that the request has written: sent as `X-Log-Position`. */
  readonly position?: Position;
  /** The format that a key asked for; it overrides negotiation. */
  readonly format?: Format;
}

/** Returned by a handler: `AnswerWriter` renders it in the negotiated format. */
export class Answer {
  constructor(
    readonly renderings: Renderings | { readonly faults: readonly Fault[] } | 'none',
    readonly details: AnswerDetails = {},
  ) {}

  /** The same answer in JSON, and in XML by the table of its fields. */
  static of<T extends object>(answer: T, toXml: (answer: T) => XmlElement, details?: AnswerDetails): Answer {
    return new Answer({ json: () => answer, xml: () => toXml(answer) }, details);
  }

  /** No body: HTTP status 204. */
  static none(details: Pick<AnswerDetails, 'position'>): Answer {
    return new Answer('none', { ...details, status: 204 });
  }

  /** The error list of a write (Document 1, Errors): empty is success. */
  static errors(faults: readonly Fault[], details: Omit<AnswerDetails, 'format' | 'status'> = {}): Answer {
    const status = faults.length === 0 ? 200 : new Faults(faults).status;
    return new Answer({ faults }, { ...details, status });
  }
}

/** How a request wants a list, and the options of its queries. */
interface ListRequest {
  readonly view: Representation;
  readonly query: QueryOptions;
}

/** A list, found but not read yet. */
interface Listed {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body in short pieces, each read and written on demand. */
  readonly pieces: AsyncIterable<Iterable<string>>;
}

/**
 * Returned by a handler that answers with documents from the read store. `begin` is called when `ReadQueue` admits the
 * request (`docs/decisions.md#x70`), and may raise what a handler may.
 */
export class ListAnswer {
  constructor(
    readonly begin: (request: ListRequest) => Promise<Listed>,
    readonly details: {
      /** The format that a key asked for; it overrides negotiation. */
      readonly format?: Format | undefined;
    } = {},
  ) {}
}

/**
 * Returned by a handler that reads an answer of bounded size as a whole. `begin` is called when `ReadQueue` admits the
 * request (`docs/decisions.md#x70`), with the options of its queries, and may raise what a handler may. What has no
 * bound is a `ListAnswer`.
 */
export class QueuedAnswer {
  constructor(readonly begin: (query: QueryOptions) => Promise<Answer>) {}
}

/** How a request wants a streamed answer. */
export interface StreamRequest {
  readonly view: Representation;
  /** The body will be compressed. */
  readonly gzip: boolean;
  readonly ifNoneMatch: string | undefined;
  /** HEAD: there will be no body. */
  readonly headOnly: boolean;
}

/** Status, headers and body of an answer. */
export interface Streamed {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Read at the client's pace, and returned early when it disconnects. Absent for 304 and HEAD. */
  readonly body?: AsyncIterable<Uint8Array>;
  /** Called when the body was sent, or the client has disconnected. */
  readonly ended?: () => void;
}

interface StreamDetails {
  /** The format that a key asked for; it overrides negotiation. */
  readonly format?: Format | undefined;
  /** Compress it even if the client does not accept that. */
  readonly gzip?: boolean;
  /** Bytes a second, before they are compressed, below which a client is disconnected. */
  readonly leastRate: number;
}

/** Returned by a handler whose answer is sent while it is being produced. `begin` may raise what a handler may. */
export class StreamedAnswer {
  constructor(
    readonly begin: (request: StreamRequest) => Promise<Streamed>,
    readonly details: StreamDetails,
  ) {}
}

/** Marks the answer of a dry run, a failure too (`docs/decisions.md#a15`). Returns whether it is one. */
export function markDryRun(reply: FastifyReply, dryRun = false): boolean {
  if (dryRun) reply.header('X-Dry-Run', 'true');
  return dryRun;
}
