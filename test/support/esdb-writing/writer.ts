import { randomUUID } from 'node:crypto';
import { NO_STREAM, type Position } from '../../../src/kernel/event';
import { type Appended, type EventLog, RevisionConflict } from '../../../src/kernel/event-log';
import { KeyedMutex } from '../../../src/runtime/concurrency';
import { metastreamOf, originalOf, storedName, TOMBSTONE } from './client-names';
import { type ProposedEvent } from './proposal';
import { RecentIds } from './recent-ids';
import { type Expectation, notAccepted, streamDeleted, WrongVersion } from './refused-write';
import { lastOf, stateOf, type StreamState } from './stream-state';
import { inAppends, toStored } from './to-stored';

/** The maximum revision: EventStoreDB truncates a deleted stream before it. */
const DELETED = '9223372036854775807';

/** The end of an append. */
export interface Written {
  /** Revision of the last event now in the stream, -1 if it has none. */
  readonly revision: number;
  /** Position of the last event appended; undefined if there was none, or if it is unknown. */
  readonly position: Position | undefined;
}

/**
 * Writes by the rules of EventStoreDB, over a log that supports only exact revisions. Deletions and tombstones are
 * events of the metadata stream (`$$stream`). Raises `Refusal`, `EngineUnavailable`.
 */
export class Writer {
  readonly #recent = new RecentIds();
  readonly #mutex = new KeyedMutex<string>();

  constructor(
    private readonly log: EventLog,
    private readonly now: () => number,
  ) {}

  /**
   * Appends all events to a stream, or none. A repeated append of the same events at the same revision is recognized.
   */
  async append(stream: string, expected: Expectation, events: readonly ProposedEvent[]): Promise<Written> {
    return this.#inTurn(stream, async () => {
      const state = await this.#living(stream);
      await this.#checkExists(stream, expected, state);
      const again = isLoose(expected) ? this.#recent.find(stream, events) : undefined;
      if (again === 'other') throw new WrongVersion(stream, expected, await this.#revisionOf(stream));
      if (again !== undefined) return this.#found(stream, again, state);
      const before = state.metadata === undefined ? NO_STREAM : await this.#revisionOf(stream);
      const written = await this.#place(stream, expected, events, state);
      if (written.revision <= before) return this.#found(stream, written.revision, state);
      if (state.deleted) await this.#revive(stream, before + 1, state);
      this.#recent.remember(stream, events, written.revision);
      return written;
    });
  }

  /** Deletes a stream; an append recreates it and continues its revisions. */
  async delete(stream: string, expected: Expectation): Promise<Position> {
    return this.#inTurn(stream, async () => {
      const state = await this.#checkDeletion(stream, expected);
      if (state.metadata === undefined && (await this.#revisionOf(stream)) === NO_STREAM)
        throw new WrongVersion(stream, expected, NO_STREAM);
      return this.#appendMeta(stream, '$metadata', `{"$tb":${DELETED}}`);
    });
  }

  /** Deletes a stream permanently. */
  async tombstone(stream: string, expected: Expectation): Promise<Position> {
    return this.#inTurn(stream, async () => {
      await this.#checkDeletion(stream, expected);
      return this.#appendMeta(stream, TOMBSTONE, '{}');
    });
  }

  /** Appends at the expected revision, or at the current one. */
  async #place(
    stream: string,
    expected: Expectation,
    events: readonly ProposedEvent[],
    state: StreamState,
  ): Promise<Written> {
    const appends = inAppends(toStored(events, this.now()));
    const append = async (revision: number): Promise<Written> => {
      let appended: Appended | undefined;
      for (const stored of appends)
        appended = await this.log.append(storedName(stream), appended?.revision ?? revision, stored);
      return { revision, ...appended, position: events.length === 0 ? undefined : appended?.position };
    };
    for (;;) {
      try {
        if (isLoose(expected)) return await append(await this.#revisionOf(stream));
        return await append(expected === 'none' ? NO_STREAM : expected);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        if (expected === 'none' && state.deleted) return append(error.actual);
        if (!isLoose(expected)) throw new WrongVersion(stream, expected, error.actual);
      }
    }
  }

  /** Finds a repeated append. Its position is unknown if the stream was truncated since. */
  async #found(stream: string, revision: number, { retention }: StreamState): Promise<Written> {
    const first = (await this.#revisionOf(stream)) - retention.maxCount + 1;
    if (revision < Math.max(first, retention.truncateBefore)) return { revision, position: undefined };
    for await (const [event] of this.log.readStream(storedName(stream), { from: revision, limit: 1 }))
      return { revision, position: event?.position };
    return { revision, position: undefined };
  }

  async #living(stream: string): Promise<StreamState> {
    if (stream === '' || !stream.isWellFormed() || stream.includes('\0'))
      throw notAccepted(`"${stream}" cannot be the name of a stream`);
    const state = await stateOf(this.log, stream);
    if (state.tombstoned) throw streamDeleted(stream);
    return state;
  }

  async #checkExists(stream: string, expected: Expectation, state: StreamState): Promise<void> {
    if (expected !== 'exists') return;
    if (state.deleted) throw streamDeleted(stream);
    if (state.metadata === undefined && (await this.#revisionOf(stream)) === NO_STREAM)
      throw new WrongVersion(stream, expected, NO_STREAM);
  }

  async #checkDeletion(stream: string, expected: Expectation): Promise<StreamState> {
    const state = await this.#living(stream);
    await this.#checkExists(stream, expected, state);
    const current = await this.#revisionOf(stream);
    const fits =
      isLoose(expected) ||
      (expected === 'none' ? current === NO_STREAM || state.deleted : expected === current);
    if (!fits) throw new WrongVersion(stream, expected, current);
    return state;
  }

  /** Events before a revision remain deleted; later ones are visible. */
  async #revive(stream: string, from: number, state: StreamState): Promise<void> {
    const metadata = { ...state.metadata, $tb: from };
    await this.#appendMeta(stream, '$metadata', JSON.stringify(metadata));
  }

  async #appendMeta(stream: string, type: string, data: string): Promise<Position> {
    const event = {
      id: randomUUID(),
      type,
      json: true,
      data: Buffer.from(data),
      metadata: Buffer.from('{}'),
    };
    const metastream = metastreamOf(stream);
    const revision = await this.#revisionOf(metastream);
    const stored = toStored([event], this.now());
    return (await this.log.append(storedName(metastream), revision, stored)).position;
  }

  async #revisionOf(stream: string): Promise<number> {
    return (await lastOf(this.log, stream))?.revision ?? NO_STREAM;
  }

  /** Serialises the writes to a stream and to its metadata. */
  async #inTurn<T>(stream: string, write: () => Promise<T>): Promise<T> {
    let key = stream;
    for (let original = originalOf(key); original !== undefined; original = originalOf(key)) key = original;
    return await this.#mutex.runExclusive(key, write);
  }
}

function isLoose(expected: Expectation): expected is 'any' | 'exists' {
  return expected === 'any' || expected === 'exists';
}
