import { type NewEvent, type Position, type RecordedEvent } from '../../../src/kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  type SubscribeOptions,
} from '../../../src/kernel/event-log';
import {
  BATCH,
  type ClientEvent,
  type FollowedPart,
  type ReadEvent,
  type StreamPart,
  type StreamRead,
  timeIn,
} from '../../../src/replay/client-values';
import { ClientLog } from '../../../src/replay/client-log';
import { clientName, clientStream, storedName, storedPrefixes, TOMBSTONE } from './client-names';
import { streamDeleted } from './refused-write';
import { lastOf, stateOf, type StreamState } from './stream-state';

/** The revision that EventStoreDB gives to a tombstone. */
const LAST_REVISION = '9223372036854775807';

/** The encoding of data or metadata that are not JSON objects. */
export const ENCODED_BYTES = /^\{"\$(json|octets)":"([A-Za-z0-9+/]*=*)"\}$/;

/** A creation time that was added to the metadata. */
export const STAMP = /^\{"\$at":(\d{1,15})(?:,|(?=\}$))/;

/**
 * A log that clients write to, with what only they and EventStoreDB itself write: metadata, links, tombstones, any
 * bytes.
 */
export class WrittenLog extends ClientLog {
  constructor(private readonly stored: EventLog) {
    super(new NamedLog(stored));
  }

  override toClient(event: RecordedEvent): ClientEvent {
    const { id, type, stream, position } = event;
    const stamp = STAMP.exec(event.meta);
    const meta = stamp === null ? event.meta : `{${event.meta.slice(stamp[0].length)}`;
    const created = stamp === null ? timeIn(event.data) : Number(stamp[1]);
    const { bytes: data, json } = fromText(event.data);
    const { bytes: metadata } = fromText(meta);
    const revision = type === TOMBSTONE ? LAST_REVISION : String(event.revision);
    return { id, type, json, data, metadata, stream, revision, position, created };
  }

  override async readStream(
    stream: string,
    { from, backwards, count }: StreamPart,
  ): Promise<StreamRead | undefined> {
    const state = await stateOf(this.stored, stream);
    if (state.tombstoned) throw streamDeleted(stream);
    const end = await lastOf(this.stored, stream);
    if (end === undefined || state.deleted) return undefined;
    const range = rangeOf(state, end);
    const { first, last } = range;
    const start = backwards ? Math.min(from ?? last, last) : Math.max(from ?? last + 1, first);
    const batchSize = Math.min(BATCH, count);
    const batches = this.log.readStream(stream, { from: start, backwards, batchSize });
    return { events: atMost(count, this.visibleIn(batches, range)), first, last };
  }

  /** Links are what clients have written. */
  override follow(
    stream: string,
    from: number | undefined,
    signal: AbortSignal,
  ): AsyncIterable<FollowedPart> {
    return this.followStored(stream, from, signal);
  }

  /** A link whose data does not start with a number is returned like any other event. */
  override async resolve(event: ClientEvent): Promise<ReadEvent> {
    if (event.type !== '$>') return { event, link: undefined };
    const [, revision, stream = ''] = LINK.exec(Buffer.from(event.data).toString('utf8')) ?? [];
    if (revision === undefined) return { event, link: undefined };
    const target = stream === '' ? undefined : await this.visibleEvent(stream, Number(revision));
    return { event: target, link: event };
  }

  override readonly checkEnd = (stream: string, events: readonly RecordedEvent[]): void => {
    if (events.some(({ type }) => type === TOMBSTONE)) throw streamDeleted(stream);
  };

  private async visibleEvent(stream: string, revision: number): Promise<ClientEvent | undefined> {
    const state = await stateOf(this.stored, stream);
    const last = await lastOf(this.stored, stream);
    if (last === undefined || state.tombstoned) return undefined;
    // EventStoreDB interprets -1 as the last event.
    const from = revision === -1 ? last.revision : revision;
    if (from < 0) return undefined;
    const part = this.log.readStream(stream, { from, limit: 1 });
    for await (const batch of this.visibleIn(part, rangeOf(state, last)))
      return batch.find((event) => event.revision === String(from));
    return undefined;
  }

  private async *visibleIn(
    batches: AsyncIterable<readonly RecordedEvent[]>,
    { first, last, oldest }: VisibleRange,
  ): AsyncGenerator<readonly ClientEvent[]> {
    for await (const batch of batches) {
      const inside = batch.filter(({ revision }) => revision >= first && revision <= last);
      const shown = inside.map((event) => this.toClient(event));
      yield shown.filter(({ created = Infinity }) => created >= oldest);
      if (inside.length < batch.length) return;
    }
  }
}

const LINK = /^\s*([+-]?\d+)\s*(?:@(.*))?$/s;

/** Which events of a stream are visible. */
interface VisibleRange {
  readonly first: number;
  readonly last: number;
  /** Events created earlier are not visible (ms since 1970). */
  readonly oldest: number;
}

function rangeOf({ retention }: StreamState, { revision: last }: RecordedEvent): VisibleRange {
  const first = Math.max(retention.truncateBefore, last - retention.maxCount + 1, 0);
  return { first, last, oldest: Date.now() - retention.maxAge };
}

async function* atMost(
  count: number,
  batches: AsyncIterable<readonly ClientEvent[]>,
): AsyncGenerator<readonly ClientEvent[]> {
  let left = count;
  for await (const batch of batches) {
    yield batch.slice(0, left);
    left -= batch.length;
    if (left <= 0) return;
  }
}

function fromText(text: string): { readonly bytes: Uint8Array; readonly json: boolean } {
  const encoded = text.startsWith('{"$') ? ENCODED_BYTES.exec(text) : null;
  if (encoded === null) return { bytes: Buffer.from(text), json: true };
  return { bytes: Buffer.from(encoded[2] ?? '', 'base64'), json: encoded[1] === 'json' };
}

/** A log whose streams and types have the names that clients gave them. */
class NamedLog extends EventLog {
  constructor(private readonly log: EventLog) {
    super();
  }

  override append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    return this.log.append(storedName(stream), expected, events);
  }

  override async *readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const events of this.log.readStream(storedName(stream), options)) yield events.map(named);
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    for await (const batch of this.log.readAll(stored(options))) yield namedBatch(batch);
  }

  override async *readAllBackwards(options?: ReadBackwardsOptions): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const events of this.log.readAllBackwards(options)) yield events.map(named);
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    for await (const batch of this.log.subscribe(stored(options))) yield namedBatch(batch);
  }

  override head(): Promise<Position> {
    return this.log.head();
  }

  override close(): Promise<void> {
    return this.log.close();
  }
}

function stored<Options extends ReadAllOptions>({
  prefixes,
  ...options
}: Options): Omit<Options, 'prefixes'> {
  const found = prefixes && storedPrefixes(prefixes);
  return found === undefined ? options : { ...options, prefixes: found };
}

function namedBatch(batch: EventBatch): EventBatch {
  return { ...batch, events: batch.events.map(named) };
}

/** A tombstone comes after all events of its stream. */
function named(event: RecordedEvent): RecordedEvent {
  const type = clientName(event.type);
  const revision = type === TOMBSTONE ? Number.MAX_SAFE_INTEGER : event.revision;
  return { ...event, stream: clientStream(event), type, revision };
}
