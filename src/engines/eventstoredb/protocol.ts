/**
 * The protocol of EventStoreDB as far as the log uses it: its calls and messages, by the definitions that are published
 * as `streams.proto`, `gossip.proto`, `serverfeatures.proto`, `shared.proto` and `status.proto` (ADR 68).
 */

/** The calls, by their paths over gRPC. */
export const CALLS = {
  read: '/event_store.client.streams.Streams/Read',
  batchAppend: '/event_store.client.streams.Streams/BatchAppend',
  gossip: '/event_store.client.gossip.Gossip/Read',
  supportedMethods: '/event_store.client.server_features.ServerFeatures/GetSupportedMethods',
} as const;

/** How values are encoded: as a number of variable length, or after their length. */
const [VARINT, LENGTH] = [0, 2];

/** Bytes of values that the messages used here do not have. */
const FIXED: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

/**
 * Encodes a message from its end, since the length of a part precedes it. The order of fields does not matter; elements
 * of a list are written from the last to the first.
 */
export class MessageWriter {
  #bytes: Buffer;
  #start: number;

  /** `size`: bytes that the message will probably have. */
  constructor(size = 256) {
    this.#bytes = Buffer.allocUnsafe(size);
    this.#start = size;
  }

  /** The message. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start);
  }

  /** An unsigned integer, an enumerated value, or 1 for true. */
  number(field: number, value: number | bigint): void {
    this.#varint(value);
    this.#varint(field * 8 + VARINT);
  }

  text(field: number, text: string): void {
    const length = Buffer.byteLength(text);
    this.#reserve(length);
    this.#bytes.write(text, this.#start);
    this.#head(field, length);
  }

  /** `write` writes the fields of the message, if it has some. */
  message(field: number, write: () => void = () => undefined): void {
    const before = this.#size;
    write();
    this.#head(field, this.#size - before);
  }

  get #size(): number {
    return this.#bytes.length - this.#start;
  }

  #head(field: number, length: number): void {
    this.#varint(length);
    this.#varint(field * 8 + LENGTH);
  }

  #varint(value: number | bigint): void {
    if (typeof value === 'bigint') {
      if (value > Number.MAX_SAFE_INTEGER) this.#large(value);
      else this.#varint(Number(value));
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
    this.#reserve(size);
    let at = this.#start;
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) + 128;
    this.#bytes[at] = rest;
  }

  /** The first seven groups of seven bits are followed by others. */
  #large(value: bigint): void {
    this.#varint(Number(value >> 49n));
    this.#reserve(7);
    for (let group = 0; group < 7; group += 1)
      this.#bytes[this.#start + group] = Number((value >> BigInt(7 * group)) & 127n) + 128;
  }

  #reserve(size: number): void {
    if (size > this.#start) {
      const grown = Buffer.allocUnsafe(2 * this.#bytes.length + size);
      const start = grown.length - this.#size;
      this.#bytes.copy(grown, start, this.#start);
      this.#bytes = grown;
      this.#start = start;
    }
    this.#start -= size;
  }
}

/** Decodes a message, one field at a time. */
class MessageReader {
  /** The number of the current field. */
  field = 0;
  /** The value of a field that is a number. Beyond 2⁵³ use `decimal`. */
  number = 0;
  #from = 0;
  #at: number;

  constructor(
    private readonly bytes: Buffer,
    start = 0,
    private readonly end = bytes.length,
  ) {
    this.#at = start;
  }

  /** Moves to the next field; false at the end. Raises `RangeError` if the message is cut off. */
  next(): boolean {
    if (this.#at === this.end) return false;
    const tag = this.#varint();
    const type = tag & 7;
    this.field = tag >>> 3;
    const length = type === VARINT ? 0 : type === LENGTH ? this.#varint() : (FIXED[type] ?? NaN);
    this.#from = this.#at;
    if (type === VARINT) this.number = this.#varint();
    else this.#at += length;
    if (this.#at <= this.end) return true;
    throw new RangeError('a message of EventStoreDB is cut off');
  }

  get decimal(): string {
    if (this.number <= Number.MAX_SAFE_INTEGER) return String(this.number);
    let value = 0n;
    for (let at = this.#at - 1; at >= this.#from; at -= 1)
      value = (value << 7n) | BigInt((this.bytes[at] ?? 0) & 127);
    return value.toString();
  }

  /** Bytes of the value of a field that has a length. */
  get size(): number {
    return this.#at - this.#from;
  }

  get text(): string {
    return this.bytes.toString('utf8', this.#from, this.#at);
  }

  get content(): Buffer {
    return this.bytes.subarray(this.#from, this.#at);
  }

  get message(): MessageReader {
    return new MessageReader(this.bytes, this.#from, this.#at);
  }

  /** This field of the message; `missing` if it has none. */
  find<Value>(field: number, value: (reader: MessageReader) => Value, missing: Value): Value {
    let found = missing;
    while (this.next()) if (this.field === field) found = value(this);
    return found;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      // Beyond the end `next` raises.
      const byte = this.bytes[this.#at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }
}

const text = ({ text: value }: MessageReader): string => value;
const decimal = ({ decimal: value }: MessageReader): string => value;

/** An event as the server has recorded it. */
export interface ServerRecord {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  /** Its position, in decimal. */
  readonly commit: string;
  readonly type: string;
  /** When it was stored, in units of 100 ns. */
  readonly created: string | undefined;
  readonly data: Buffer;
  readonly meta: Buffer;
}

/** A message of a read or a subscription. */
export interface ReadAnswer {
  readonly event: ServerRecord | undefined;
  readonly isConfirmation: boolean;
  /** A position up to which no further event matches, in decimal. */
  readonly checkpoint: string | undefined;
  /** Of the stream that is read, whether its last event can be read or not. */
  readonly lastRevision: number | undefined;
  readonly isCaughtUp: boolean;
}

const NOTHING = Buffer.alloc(0);

export function readAnswer(bytes: Buffer): ReadAnswer {
  const reader = new MessageReader(bytes);
  const answer: { -readonly [Name in keyof ReadAnswer]: ReadAnswer[Name] } = {
    event: undefined,
    isConfirmation: false,
    checkpoint: undefined,
    lastRevision: undefined,
    isCaughtUp: false,
  };
  while (reader.next())
    switch (reader.field) {
      case 1:
        answer.event = reader.message.find(1, ({ message }) => recordIn(message), undefined);
        break;
      case 2:
        answer.isConfirmation = true;
        break;
      case 3:
        answer.checkpoint = reader.message.find(1, decimal, '0');
        break;
      case 6:
        answer.lastRevision = reader.number;
        break;
      case 8:
        answer.isCaughtUp = true;
        break;
    }
  return answer;
}

function recordIn(reader: MessageReader): ServerRecord {
  const record: { -readonly [Name in keyof ServerRecord]: ServerRecord[Name] } = {
    id: '',
    stream: '',
    revision: 0,
    commit: '0',
    type: '',
    created: undefined,
    data: NOTHING,
    meta: NOTHING,
  };
  while (reader.next())
    switch (reader.field) {
      case 1:
        record.id = idIn(reader.message);
        break;
      case 2:
        record.stream = reader.message.find(3, text, '');
        break;
      case 3:
        record.revision = reader.number;
        break;
      case 5:
        record.commit = reader.decimal;
        break;
      case 6:
        addSystemMetadata(record, reader.message);
        break;
      case 7:
        record.meta = reader.content;
        break;
      case 8:
        record.data = reader.content;
        break;
    }
  return record;
}

/** Requests ask for ids as text. */
function idIn(reader: MessageReader): string {
  return reader.find(2, text, '');
}

/** The names of an event's metadata that matter have lengths of their own; others are not worth decoding. */
function addSystemMetadata(
  record: { type: string; created: string | undefined },
  entry: MessageReader,
): void {
  let name = 0;
  while (entry.next())
    if (entry.field === 1) name = entry.size;
    else if (name === 'type'.length) record.type = entry.text;
    else if (name === 'created'.length) record.created = entry.text;
}

/** The server's answer to one append. */
export interface AppendAnswer {
  /** The id of the append. */
  readonly id: string;
  /** Absent if it was not made. */
  readonly success: AppendSuccess | undefined;
  readonly error: AppendError | undefined;
}

interface AppendSuccess {
  readonly revision: number;
  /** In decimal. */
  readonly commit: string | undefined;
}

export interface AppendError {
  /** Without its package, such as `WrongExpectedVersion`. */
  readonly type: string;
  readonly message: string;
  /** Of a conflict: the stream's last revision; undefined if it has no events. */
  readonly current: number | undefined;
}

export function appendAnswer(bytes: Buffer): AppendAnswer {
  const reader = new MessageReader(bytes);
  let [id, success, error]: [string, AppendSuccess | undefined, AppendError | undefined] = [
    '',
    undefined,
    undefined,
  ];
  while (reader.next())
    if (reader.field === 1) id = idIn(reader.message);
    else if (reader.field === 2) error = errorIn(reader.message);
    else if (reader.field === 3) success = successIn(reader.message);
  return { id, success, error };
}

function successIn(reader: MessageReader): AppendSuccess {
  let [revision, commit]: [number, string | undefined] = [0, undefined];
  while (reader.next())
    if (reader.field === 1) revision = reader.number;
    else if (reader.field === 3) commit = reader.message.find(1, decimal, '0');
  return { revision, commit };
}

/** A `google.rpc.Status`, whose details name a type and contain its message. */
function errorIn(reader: MessageReader): AppendError {
  let [url, message, current]: [string, string, number | undefined] = ['', '', undefined];
  while (reader.next())
    if (reader.field === 2) message = reader.text;
    else if (reader.field === 3)
      for (const details = reader.message; details.next();)
        if (details.field === 1) url = details.text;
        else if (details.field === 2) current = currentRevision(details.message);
  const type = url.slice(url.lastIndexOf('/') + 1).replace('event_store.client.', '');
  return { type, message, current: type === 'WrongExpectedVersion' ? current : undefined };
}

function currentRevision(conflict: MessageReader): number | undefined {
  return conflict.find<number | undefined>(1, ({ number }) => number, undefined);
}

/** A node of a cluster, as gossip describes it. */
export interface ClusterMember {
  readonly state: number;
  readonly isAlive: boolean;
  /** Where it listens, if that is known. */
  readonly endpoint: { readonly address: string; readonly port: number } | undefined;
}

export function clusterMembers(bytes: Buffer): readonly ClusterMember[] {
  const members: ClusterMember[] = [];
  for (const reader = new MessageReader(bytes); reader.next();)
    if (reader.field === 1) members.push(memberIn(reader.message));
  return members;
}

function memberIn(reader: MessageReader): ClusterMember {
  let [state, isAlive, endpoint]: [number, boolean, ClusterMember['endpoint']] = [0, false, undefined];
  while (reader.next())
    if (reader.field === 3) state = reader.number;
    else if (reader.field === 4) isAlive = reader.number === 1;
    else if (reader.field === 5) endpoint = endpointIn(reader.message);
  return { state, isAlive, endpoint };
}

function endpointIn(reader: MessageReader): { readonly address: string; readonly port: number } {
  let [address, port] = ['', 0];
  while (reader.next())
    if (reader.field === 1) address = reader.text;
    else if (reader.field === 2) port = reader.number;
  return { address, port };
}

/** The version in the answer to `supportedMethods`. */
export function serverVersion(bytes: Buffer): string {
  return new MessageReader(bytes).find(2, text, '');
}
