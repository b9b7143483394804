import { Empty } from '@eventstore/db-client/generated/shared_pb';
import { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position } from '../kernel/event';
import { type IdEncoding, TICKS_PER_MS, toOffset, toUuid } from './client-values';
import { toIdentifier } from './refusal';
import { type ClientEvent, type ReadEvent } from './client-log';

/** The progress of a filtered subscription. If `prepare` is before `commit`, the event at `commit` is not included. */
export interface Checkpoint {
  readonly commit: Position;
  readonly prepare: Position;
}

export function eventMessage({ event, link }: ReadEvent, ids: IdEncoding): ReadResp {
  const read = new ReadResp.ReadEvent();
  if (event !== undefined) read.setEvent(recordOf(event, ids));
  if (link !== undefined) read.setLink(recordOf(link, ids));
  const original = link ?? event;
  if (original === undefined) read.setNoPosition(new Empty());
  else read.setCommitPosition(toOffset(original.position));
  return new ReadResp().setEvent(read);
}

export function checkpointMessage({ commit, prepare }: Checkpoint): ReadResp {
  const checkpoint = new ReadResp.Checkpoint()
    .setCommitPosition(toOffset(commit))
    .setPreparePosition(toOffset(prepare));
  return new ReadResp().setCheckpoint(checkpoint);
}

export function notFoundMessage(stream: string): ReadResp {
  const notFound = new ReadResp.StreamNotFound().setStreamIdentifier(toIdentifier(stream));
  return new ReadResp().setStreamNotFound(notFound);
}

function recordOf(event: ClientEvent, ids: IdEncoding): ReadResp.ReadEvent.RecordedEvent {
  const offset = toOffset(event.position);
  const record = new ReadResp.ReadEvent.RecordedEvent()
    .setId(toUuid(event.id, ids))
    .setStreamIdentifier(toIdentifier(event.stream))
    .setStreamRevision(event.revision)
    .setCommitPosition(offset)
    .setPreparePosition(offset)
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  record
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.json ? 'application/json' : 'application/octet-stream')
    .set('created', String((event.created ?? 0) * TICKS_PER_MS));
  return record;
}
