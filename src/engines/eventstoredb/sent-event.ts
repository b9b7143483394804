import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { Refused } from './failure';

/** The offset that servers send instead of an unknown one: 2⁶⁴ − 1. */
const UNKNOWN_OFFSET = '18446744073709551615';

const BRACE = '{'.charCodeAt(0);

type Recorded = NonNullable<ReturnType<NonNullable<ReturnType<ReadResp['getEvent']>>['getEvent']>>;

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
  private constructor(private readonly record: Recorded) {}

  /** The event in a message; undefined if it has none. */
  static in(message: ReadResp): SentEvent | undefined {
    const record = message.getEvent()?.getEvent();
    return record && new SentEvent(record);
  }

  get revision(): number {
    return Number(this.record.getStreamRevision());
  }

  /** Raises `Refused` if the server did not send it. */
  get position(): Position {
    const position = toPosition(this.record.getCommitPosition());
    if (position !== undefined) return position;
    throw new Refused('its reads of streams carry no positions: expected EventStoreDB 23.10 or later');
  }

  get stream(): string {
    return textOf(this.record.getStreamIdentifier()?.getStreamName_asU8());
  }

  /** Whether the event belongs to the log: it is not one of EventStoreDB itself, and its data is a JSON object. */
  get isOfLog(): boolean {
    const isText = (bytes: Uint8Array): boolean => bytes[0] === BRACE;
    const meta = this.record.getCustomMetadata_asU8();
    const [type = '$', stream] = [this.record.getMetadataMap().get('type'), this.stream];
    const isOwn = !type.startsWith('$') && !stream.startsWith('$');
    return isOwn && isText(this.record.getData_asU8()) && (meta.length === 0 || isText(meta));
  }

  /** Converts the event for the port; undefined if it does not belong to the log. */
  toRecorded(): RecordedEvent | undefined {
    if (!this.isOfLog) return undefined;
    return {
      stream: this.stream,
      revision: this.revision,
      position: this.position,
      id: this.record.getId()?.getString() ?? '',
      type: this.record.getMetadataMap().get('type') ?? '',
      data: textOf(this.record.getData_asU8()),
      meta: textOf(this.record.getCustomMetadata_asU8()) || '{}',
    };
  }
}

function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
