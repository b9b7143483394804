import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { Refused } from './trouble';

/** The offset that servers send where they know of none: 2⁶⁴ − 1. */
const NOWHERE = '18446744073709551615';

const BRACE = '{'.charCodeAt(0);

type Recorded = NonNullable<ReturnType<NonNullable<ReturnType<ReadResp['getEvent']>>['getEvent']>>;

/** An offset of EventStoreDB (a decimal number) as a position of the port; undefined where it is none. */
export function toPosition(offset: string): Position | undefined {
  return offset === NOWHERE ? undefined : offset.padStart(START.length, '0');
}

/** The later of two positions. */
export function later(one: Position, other: Position): Position {
  return one < other ? other : one;
}

/** An event as the server sent it. */
export class SentEvent {
  private constructor(private readonly record: Recorded) {}

  /** Undefined for a message that is no event. */
  static in(message: ReadResp): SentEvent | undefined {
    const record = message.getEvent()?.getEvent();
    return record && new SentEvent(record);
  }

  get revision(): number {
    return Number(this.record.getStreamRevision());
  }

  /** Raises `Refused` where the server does not say it. */
  get position(): Position {
    const position = toPosition(this.record.getCommitPosition());
    if (position !== undefined) return position;
    throw new Refused('its reads of streams carry no positions: expected EventStoreDB 23.10 or later');
  }

  get stream(): string {
    return textOf(this.record.getStreamIdentifier()?.getStreamName_asU8());
  }

  /** Whether it belongs to the log: not to EventStoreDB itself, nor to a program that writes no JSON objects. */
  get isOfLog(): boolean {
    const isText = (bytes: Uint8Array): boolean => bytes[0] === BRACE;
    const meta = this.record.getCustomMetadata_asU8();
    const [type = '$', stream] = [this.record.getMetadataMap().get('type'), this.stream];
    const isOwn = !type.startsWith('$') && !stream.startsWith('$');
    return isOwn && isText(this.record.getData_asU8()) && (meta.length === 0 || isText(meta));
  }

  /** The event as the port has it, if it belongs to the log. */
  recorded(): RecordedEvent | undefined {
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
