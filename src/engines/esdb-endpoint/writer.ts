import { randomUUID } from 'node:crypto';
import { NO_STREAM, type Position } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { metastreamOf, storedName } from './names';
import { RecentIds, type Written } from './recent-ids';
import { type Expectation, Refusal } from './refusal';
import { type ProposedEvent, TOMBSTONE, toStored } from './stored-event';
import { DELETED, lastOf, stateOf, type StreamState } from './stream-state';

/**
 * Writes as EventStoreDB decides it, over a log that only knows exact revisions. Deletions and tombstones are
 * events of the metadata stream (`$$stream`). Raises `Refusal`, `EngineUnavailable`.
 */
export class Writer {
  readonly #recent = new RecentIds();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(
    private readonly log: EventLog,
    private readonly now: () => number,
  ) {}

  /** Appends all events to a stream, or nothing; the same events again at the same place are found there. */
  async append(stream: string, expected: Expectation, events: readonly ProposedEvent[]): Promise<Written> {
    return this.#inTurn(stream, async () => {
      const state = await this.#living(stream);
      await this.#checkExists(stream, expected, state);
      const again = isLoose(expected) ? this.#recent.find(stream, events) : undefined;
      if (again === 'other') throw wrongVersion(stream, expected, await this.#revisionOf(stream));
      if (again !== undefined) return again;
      const before = state.deleted ? await this.#revisionOf(stream) : NO_STREAM;
      const written = await this.#place(stream, expected, events, state);
      if (state.deleted && written.revision > before) await this.#revive(stream, before + 1, state);
      this.#recent.remember(stream, events, written);
      return written;
    });
  }

  /** Deletes a stream so that an append revives it; numbering then goes on. */
  async delete(stream: string, expected: Expectation): Promise<Position> {
    return this.#inTurn(stream, async () => {
      const state = await this.#checkDeletion(stream, expected);
      if (state.metadata === undefined && (await this.#revisionOf(stream)) === NO_STREAM)
        throw wrongVersion(stream, expected, NO_STREAM);
      return this.#appendMeta(stream, '$metadata', `{"$tb":${DELETED}}`, state);
    });
  }

  /** Ends a stream for ever. */
  async tombstone(stream: string, expected: Expectation): Promise<Position> {
    return this.#inTurn(stream, async () => {
      const state = await this.#checkDeletion(stream, expected);
      return this.#appendMeta(stream, TOMBSTONE, '{}', state);
    });
  }

  /** Appends at the revision that is expected, or at the one the stream has. */
  async #place(
    stream: string,
    expected: Expectation,
    events: readonly ProposedEvent[],
    state: StreamState,
  ): Promise<Written> {
    const stored = toStored(events, this.now());
    const append = async (revision: number): Promise<Written> => {
      const appended = await this.log.append(storedName(stream), revision, stored);
      return { ...appended, position: events.length === 0 ? undefined : appended.position };
    };
    for (;;) {
      try {
        if (isLoose(expected)) return await append(await this.#revisionOf(stream));
        return await append(expected === 'none' ? NO_STREAM : expected);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        if (expected === 'none' && state.deleted) return append(error.actual);
        if (!isLoose(expected)) throw wrongVersion(stream, expected, error.actual);
      }
    }
  }

  async #living(stream: string): Promise<StreamState> {
    if (stream === '' || !stream.isWellFormed() || stream.includes('\0'))
      throw new Refusal({ kind: 'invalid', message: 'This cannot be the name of a stream' });
    const state = await stateOf(this.log, stream);
    if (state.tombstoned) throw new Refusal({ kind: 'stream-deleted', stream });
    return state;
  }

  async #checkExists(stream: string, expected: Expectation, state: StreamState): Promise<void> {
    if (expected !== 'exists') return;
    if (state.deleted) throw new Refusal({ kind: 'stream-deleted', stream });
    if (state.metadata === undefined && (await this.#revisionOf(stream)) === NO_STREAM)
      throw wrongVersion(stream, expected, NO_STREAM);
  }

  async #checkDeletion(stream: string, expected: Expectation): Promise<StreamState> {
    const state = await this.#living(stream);
    await this.#checkExists(stream, expected, state);
    const current = await this.#revisionOf(stream);
    const fits =
      isLoose(expected) ||
      (expected === 'none' ? current === NO_STREAM || state.deleted : expected === current);
    if (!fits) throw wrongVersion(stream, expected, current);
    return state;
  }

  /** What was deleted stays so; what comes from a revision on is shown. */
  async #revive(stream: string, from: number, state: StreamState): Promise<void> {
    const metadata = { ...state.metadata, $tb: from };
    await this.#appendMeta(stream, '$metadata', JSON.stringify(metadata), state);
  }

  async #appendMeta(
    stream: string,
    type: string,
    data: string,
    { metaRevision }: StreamState,
  ): Promise<Position> {
    const event = {
      id: randomUUID(),
      type,
      json: true,
      data: Buffer.from(data),
      metadata: Buffer.from('{}'),
    };
    const stored = toStored([event], this.now());
    const { position } = await this.log.append(storedName(metastreamOf(stream)), metaRevision, stored);
    return position;
  }

  async #revisionOf(stream: string): Promise<number> {
    return (await lastOf(this.log, stream))?.revision ?? NO_STREAM;
  }

  /** One write to a stream, or to its metadata, after the other. */
  async #inTurn<T>(stream: string, write: () => Promise<T>): Promise<T> {
    const key = stream.startsWith('$$') ? stream.slice(2) : stream;
    const before = this.#turns.get(key);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return write();
    })();
    this.#turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }
}

function isLoose(expected: Expectation): expected is 'any' | 'exists' {
  return expected === 'any' || expected === 'exists';
}

function wrongVersion(stream: string, expected: Expectation, actual: number): Refusal {
  return new Refusal({ kind: 'wrong-expected-version', stream, expected, actual });
}
