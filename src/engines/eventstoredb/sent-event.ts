import { randomUUID } from 'node:crypto';
import { type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
import { RefusedByServer } from './failure';
import { type ReadAnswer, type ServerRecord } from './protocol';
import { type CountedLog } from '../../runtime/metrics';

/** Start the names of streams that share a server with those of the domain: of the delivery log, and of leases. */
const DELIVERIES = 'deliveries.';
const LEASES = 'leases.';

/** Starts the names of streams that index the log of the domain, and belong to no log. */
export const INDEX = 'index.';

/** The streams of a server that belong to one log, which reads no others. Those of the server start with `$`. */
export class Namespace {
  static readonly domain = new Namespace('events', '', [DELIVERIES, LEASES, INDEX]);
  static readonly deliveries = new Namespace('deliveries', DELIVERIES);
  static readonly leases = new Namespace('leases', LEASES);

  private constructor(
    readonly log: CountedLog,
    readonly prefix: string,
    private readonly excluded: readonly string[] = [],
  ) {}

  /** The name in the server of a stream of this log. */
  toServer(stream: string): string {
    return this.prefix + stream;
  }

  /** The name in this log of a stream of the server; undefined if the stream does not belong to this log. */
  toLog(name: string): RecordedEvent['stream'] | undefined {
    const isForeign = this.excluded.some((prefix) => name.startsWith(prefix));
    if (name.startsWith('$') || isForeign || !name.startsWith(this.prefix)) return undefined;
    return name.slice(this.prefix.length);
  }

  /** A regular expression for the names in the server of all streams, or of those with one of these prefixes. */
  expression(prefixes: readonly string[] | undefined): string {
    // Not the protocol's own prefixes: the server compares them by the rules of its culture, so "p-" would not match a
    // name that continues with a combining mark.
    if (prefixes !== undefined)
      return `^${escapeRegExp(this.prefix)}(?:${prefixes.map(escapeRegExp).join('|')})`;
    const others = ['$', ...this.excluded].map(escapeRegExp);
    return this.prefix === '' ? `^(?!${others.join('|')})` : `^${escapeRegExp(this.prefix)}`;
  }
}

/** Escapes a text for a regular expression, in the syntax shared by .NET and JavaScript. */
function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

/** The offset that servers send instead of an unknown one: 2⁶⁴ − 1. */
const UNKNOWN_OFFSET = '18446744073709551615';

/** The server's times are in units of 100 ns. */
const TICKS_PER_MS = 10_000;

const BRACE = '{'.charCodeAt(0);

/** Converts an offset of EventStoreDB (decimal) to a position; undefined if it is unknown. */
export function toPosition(offset: string): Position | undefined {
  return offset === UNKNOWN_OFFSET ? undefined : offset.padStart(START.length, '0');
}

/** The later of two positions. */
export function maxPosition(one: Position, other: Position): Position {
  return one < other ? other : one;
}

/** An event as the server sent it. */
export class SentEvent {
  private constructor(
    private readonly record: ServerRecord,
    private readonly namespace: Namespace,
  ) {}

  static in({ event }: ReadAnswer, namespace: Namespace): SentEvent | undefined {
    return event && new SentEvent(event, namespace);
  }

  get revision(): number {
    return this.record.revision;
  }

  /** Raises `RefusedByServer` if the server did not send it. */
  get position(): Position {
    const position = toPosition(this.record.commit);
    if (position !== undefined) return position;
    throw new RefusedByServer(
      'its reads of streams carry no positions: expected EventStoreDB 23.10 or later',
    );
  }

  /** Its name in the log; undefined if the stream does not belong to it. */
  get stream(): string | undefined {
    return this.namespace.toLog(this.record.stream);
  }

  /** When the server stored it (epoch ms). */
  get created(): number {
    return Number(this.record.created ?? NaN) / TICKS_PER_MS;
  }

  get dataText(): string {
    return this.record.data.toString();
  }

  /** Whether its stream belongs to the log, EventStoreDB has not made it itself, and its data is a JSON object. */
  get isOfLog(): boolean {
    const isText = (bytes: Buffer): boolean => bytes[0] === BRACE;
    const { type, data, meta } = this.record;
    const isOwn = !type.startsWith('$') && this.stream !== undefined;
    return isOwn && isText(data) && (meta.length === 0 || isText(meta));
  }

  /** Converts the event for the port; undefined if it does not belong to the log. */
  toRecorded(): RecordedEvent | undefined {
    const { stream } = this;
    if (stream === undefined || !this.isOfLog) return undefined;
    return {
      stream,
      revision: this.revision,
      position: this.position,
      id: this.record.id,
      type: this.record.type,
      data: this.dataText,
      meta: this.record.meta.toString() || '{}',
    };
  }
}

export type StreamMetadata = Readonly<Record<string, unknown>>;

/** The metadata of a stream in their last event; none if another program wrote something else than an object. */
export function metadataIn(sent: SentEvent | undefined): StreamMetadata {
  try {
    const content: unknown = JSON.parse(sent?.dataText ?? '{}');
    return typeof content === 'object' && content !== null ? { ...content } : {};
  } catch {
    return {};
  }
}

export function metadataEvent(metadata: object): NewEvent {
  return { id: randomUUID(), type: '$metadata', data: JSON.stringify(metadata), meta: '{}' };
}
