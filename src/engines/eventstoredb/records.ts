import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent, START } from '../../kernel/event';

/** A position of EventStoreDB (a decimal number), as the port has it. */
export function toPosition(commit: string | bigint): Position {
  return String(commit).padStart(START.length, '0');
}

/** The later of two positions. */
export function later(one: Position, other: Position): Position {
  return one < other ? other : one;
}

/**
 * The event of a message as the port has it. Undefined for what is none of it: events of EventStoreDB itself,
 * and such of other programs that are no JSON objects.
 */
export function recordOf(message: ReadResp): RecordedEvent | undefined {
  const record = message.getEvent()?.getEvent();
  if (record === undefined) return undefined;
  const type = record.getMetadataMap().get('type') ?? '$';
  const stream = textOf(record.getStreamIdentifier()?.getStreamName_asU8());
  const data = textOf(record.getData_asU8());
  const meta = textOf(record.getCustomMetadata_asU8()) || '{}';
  const own =
    !type.startsWith('$') && !stream.startsWith('$') && data.startsWith('{') && meta.startsWith('{');
  if (!own) return undefined;
  return {
    stream,
    revision: Number(record.getStreamRevision()),
    position: toPosition(record.getCommitPosition()),
    id: record.getId()?.getString() ?? '',
    type,
    data,
    meta,
  };
}

function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
