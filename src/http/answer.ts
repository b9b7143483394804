import { type Position } from '../kernel/event';
import { type Fault, Faults } from '../kernel/fault';
import { type QueryOptions } from '../kernel/query';
import { type Shape } from '../wire/api/description';
import { type Format } from '../wire/api/format';
import { type AnsweredPage, pageHeaders } from '../wire/keys/pages';
import { documentWriter } from '../wire/record/document';
import { listPieces, type ListText, type ListView, listWriter } from '../wire/record/list';
import { type AnswerOf, type Kind, type List, type RecordKind } from '../wire/record/record';
import { type XmlElement } from '../wire/xml/write';
import { type Renderings, type Representation } from './representation';

interface Answering<K extends Kind> {
  readonly answer: Shape<K>;
}

interface AnswerDetails {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Log position of the last event that the request has written: sent as `X-Log-Position`. */
  readonly position?: Position;
  /** The format that a key asked for; it overrides negotiation. */
  readonly format?: Format;
  /** Of single items within the answer: the pages of their codes are linked. */
  readonly itemFaults?: readonly Fault[];
}

/** The faults of items that were refused. */
export function faultsIn(results: readonly ({ readonly faults: readonly Fault[] } | object)[]): Fault[] {
  return results.flatMap((result) => ('faults' in result ? result.faults : []));
}

/** Returned by a handler: `AnswerWriter` renders it in the negotiated format. */
export class Answer {
  constructor(
    readonly renderings: Renderings | { readonly faults: readonly Fault[] } | 'none',
    readonly details: AnswerDetails = {},
  ) {}

  /** The answer of an operation in JSON and XML, by the table of its fields. */
  static of<K extends Kind>(
    { answer: shape }: Answering<K>,
    answer: AnswerOf<K> & object,
    details?: AnswerDetails,
  ): Answer {
    return new Answer({ json: () => answer, xml: () => documentOf(shape)(answer) }, details);
  }

  static none({ position }: { readonly position: Position }, status: 200 | 204 = 204): Answer {
    return new Answer('none', { position, status });
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

interface Listed {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body in short pieces, each read and written on demand. */
  readonly pieces: AsyncIterable<Iterable<string>>;
}

/** The items of a list, in batches that are read on demand, and what its headers report. */
export interface FoundList<Item> extends AnsweredPage {
  readonly items: AsyncIterable<Iterable<Item>> | Iterable<Iterable<Item>>;
  readonly headers?: Readonly<Record<string, string>>;
}

type FindList<Item> = (query: QueryOptions) => Promise<FoundList<Item>>;

/** Returned by a handler that answers with a list; begun once `ReadQueue` admits it (`docs/decisions.md#x70`). */
export class ListAnswer {
  constructor(
    readonly begin: (request: ListRequest) => Promise<Listed>,
    readonly details: { readonly format?: Format | undefined } = {},
  ) {}

  /** The answer of an operation: a list of records, written by their table. `keys` may have a format. */
  static of<K extends RecordKind>(
    { answer }: Answering<List<K>>,
    find: FindList<AnswerOf<K>>,
    keys?: ListAnswer['details'],
  ): ListAnswer {
    return ListAnswer.written(listTextOf(answer), find, keys);
  }

  static written<Item>(
    textOf: (view: ListView) => ListText<Item>,
    find: FindList<Item>,
    { format }: ListAnswer['details'] = {},
  ): ListAnswer {
    return new ListAnswer(
      async ({ view, query }) => {
        const { items, headers, ...page } = await find(query);
        return { pieces: listPieces(textOf(view), items), headers: { ...pageHeaders(page), ...headers } };
      },
      { format },
    );
  }
}

/** Writers by shapes: each table is compiled once. */
const documents = new WeakMap<Shape, (answer: never) => XmlElement>();
const lists = new WeakMap<Shape, (view: ListView) => ListText<never>>();

function documentOf<K extends Kind>(shape: Shape<K>): (answer: AnswerOf<K>) => XmlElement {
  const writer = documents.get(shape) ?? documentWriter(shape);
  documents.set(shape, writer);
  return writer as (answer: AnswerOf<K>) => XmlElement;
}

function listTextOf<K extends RecordKind>(shape: Shape<List<K>>): (view: ListView) => ListText<AnswerOf<K>> {
  const writer = lists.get(shape) ?? listWriter(shape);
  lists.set(shape, writer);
  return writer as (view: ListView) => ListText<AnswerOf<K>>;
}

/** Returned by a handler that reads an answer of bounded size as a whole, once `ReadQueue` admits the request. */
export class QueuedAnswer {
  constructor(readonly begin: (query: QueryOptions) => Promise<Answer>) {}

  static of<K extends Kind>(
    operation: Answering<K>,
    find: (query: QueryOptions) => Promise<AnswerOf<K> & object>,
    details?: AnswerDetails,
  ): QueuedAnswer {
    return new QueuedAnswer(async (query) => Answer.of(operation, await find(query), details));
  }
}

export interface StreamRequest {
  readonly view: Representation;
  readonly gzip: boolean;
  readonly ifNoneMatch: string | undefined;
  /** HEAD: there will be no body. */
  readonly headOnly: boolean;
  /** Aborts when the client disconnects, also before there is an answer; once the answer was sent, it means nothing. */
  readonly signal: AbortSignal;
}

export interface Streamed {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Read at the client's pace, and returned early when it disconnects. Absent for 304 and HEAD. */
  readonly body?: AsyncIterable<Uint8Array>;
  /** Called when the body was sent, or the client has disconnected. */
  readonly ended?: () => void;
}

interface StreamDetails {
  readonly format?: Format | undefined;
  /** Compress it even if the client does not accept that. */
  readonly gzip?: boolean;
  /** Its chunks are sent at once, uncompressed, and its headers before the first one. */
  readonly isLive?: boolean;
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
