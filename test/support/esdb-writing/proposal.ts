import { type UUID } from '@eventstore/db-client/generated/shared_pb';
import { type ClientEvent, invalid } from '../../../src/replay/client-values';
import { APPEND_BYTES, type Expectation, notAccepted, propertyMissing, sizeExceeded } from './refused-write';

/** An event as sent by a client of EventStoreDB. */
export type ProposedEvent = Pick<ClientEvent, 'id' | 'type' | 'json' | 'data' | 'metadata'>;

/** An event as both kinds of append contain it. */
interface ProposedMessage {
  getId(): UUID | undefined;
  getMetadataMap(): { get(key: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

/** What an append, a deletion or a tombstone expects of its stream; not every kind applies to each of them. */
interface ExpectedRevision {
  readonly none: boolean;
  readonly any: boolean;
  readonly exists?: boolean;
  readonly revision: string | undefined;
}

/** UUID formats that .NET parses: with or without dashes, and in braces or parentheses. */
const UUID_TEXT =
  /^(?:(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})|\{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}|\([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\))$/;
const NIL = '00000000-0000-0000-0000-000000000000';

/** The events of an append, taken as they arrive. */
export class Proposal {
  readonly events: ProposedEvent[] = [];
  #bytes = 0;

  /** Raises `Refusal` for an event that cannot be appended, and as soon as the append is too large. */
  add(message: ProposedMessage): void {
    const type = message.getMetadataMap().get('type');
    const content = message.getMetadataMap().get('content-type');
    if (type === undefined || content === undefined) throw propertyMissing();
    if (type === '' || type.includes('\0')) throw notAccepted(`"${type}" cannot be the type of an event`);
    const id = eventId(message.getId());
    const data = message.getData_asU8();
    const metadata = message.getCustomMetadata_asU8();
    this.#bytes += data.length;
    if (this.#bytes > APPEND_BYTES) throw sizeExceeded();
    this.events.push({ id, type, json: content === 'application/json', data, metadata });
  }
}

/** The id of an event, in lower case. Raises `Refusal`. */
function eventId(uuid: UUID | undefined): string {
  const text = readUuid(uuid).trim();
  const digits = UUID_TEXT.test(text) ? text.replace(/[^0-9a-f]/g, '') : '';
  const id = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (id === '' || id === NIL) throw notAccepted(`"${text}" cannot be the id of an event`);
  return id;
}

/** Raises `Refusal` if the expectation is missing. */
export function expectationOf({ none, any, exists = false, revision }: ExpectedRevision): Expectation {
  if (none) return 'none';
  if (any) return 'any';
  if (exists) return 'exists';
  if (revision === undefined) throw invalid('The expected revision is missing');
  // Far beyond any stream, where rounding does not matter.
  return Math.min(Number(revision), Number.MAX_SAFE_INTEGER);
}

/** Decodes an id, in lower case; empty if there is none. */
export function readUuid(uuid: UUID | undefined): string {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString().toLowerCase() ?? '';
  const digits =
    fromInt64(structured.getMostSignificantBits()) + fromInt64(structured.getLeastSignificantBits());
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function fromInt64(number: string): string {
  return BigInt.asUintN(64, BigInt(number)).toString(16).padStart(16, '0');
}
