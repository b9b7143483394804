import { type UUID } from '@eventstore/db-client/generated/shared_pb';
import { APPEND_LIMITS } from '../../kernel/event-log';
import { type Expectation, Refusal } from './refusal';
import { type ProposedEvent } from './stored-event';
import { readUuid } from './uuid';

/** An event as both kinds of append bring it. */
interface ProposedMessage {
  getId(): UUID | undefined;
  getMetadataMap(): { get(key: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

/** What an append, a deletion or a tombstone expects of its stream; not each of them can say everything. */
interface ExpectedRevision {
  readonly none: boolean;
  readonly any: boolean;
  readonly exists?: boolean;
  readonly revision: string | undefined;
}

const UUID_TEXT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The events of an append, taken as they come in. */
export class Proposal {
  readonly events: ProposedEvent[] = [];
  #bytes = 0;

  /** Raises `Refusal` for what cannot be appended, as soon as it is too much. */
  add(message: ProposedMessage): void {
    const type = message.getMetadataMap().get('type');
    const content = message.getMetadataMap().get('content-type');
    if (type === undefined || content === undefined)
      throw new Refusal({ kind: 'missing-required-metadata-property' });
    const id = readUuid(message.getId());
    if (!UUID_TEXT.test(id)) throw new Refusal({ kind: 'invalid', message: 'The id of an event is no UUID' });
    if (type === '' || type.includes('\0'))
      throw new Refusal({ kind: 'invalid', message: 'This cannot be the type of an event' });
    const data = message.getData_asU8();
    const metadata = message.getCustomMetadata_asU8();
    this.#bytes += Buffer.byteLength(type) + data.length + metadata.length;
    this.events.push({ id, type, json: content === 'application/json', data, metadata });
    if (this.#bytes > APPEND_LIMITS.bytes || this.events.length > APPEND_LIMITS.events)
      throw new Refusal({ kind: 'maximum-append-size-exceeded' });
  }
}

/** Raises `Refusal` where nothing is said. */
export function expectationOf({ none, any, exists = false, revision }: ExpectedRevision): Expectation {
  if (none) return 'none';
  if (any) return 'any';
  if (exists) return 'exists';
  if (revision === undefined)
    throw new Refusal({ kind: 'invalid', message: 'The expected revision is missing' });
  // No stream gets as far as numbers are exact: what is rounded is as wrong as what was meant.
  return Math.min(Number(revision), Number.MAX_SAFE_INTEGER);
}
