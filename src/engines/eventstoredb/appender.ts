import { type EventData, type EventStoreDBClient, NO_STREAM as MISSING } from '@eventstore/db-client';
import { NO_STREAM, type NewEvent } from '../../kernel/event';
import { type Appended, RevisionConflict, UnacceptableAppend } from '../../kernel/event-log';
import { inTime } from '../../kernel/in-time';
import { closeConnection } from './channel';
import { Patience } from './patience';
import { toPosition } from './records';
import { isFinal, isReconnecting, marksOf, NoAnswer, unavailable } from './trouble';

/**
 * How long the server may take for an append (ms). It is told a time of day, so that a clock which is wrong by
 * more than this makes every append fail.
 */
const DEADLINE = 60_000;

/**
 * Most appends at a time. The client's stream takes so many messages without waiting; those that wait when the
 * connection breaks are rejected where nobody can catch it, which ends the process.
 */
const AT_WORK = 15;

/**
 * Appends over one client. Where that is of no use any more, `connect` gives the `n`th one, over a connection of
 * its own.
 *
 * The client keeps the appends of a whole process in one place and gives none of them a time-out. So there has
 * to be one appender for a server in a process, each append has a timer, and an append whose outcome is not
 * known is made again with the same ids at the same revision, which finds it there if it was made. Appends to
 * one stream wait for each other: on a new connection the client would let them overtake.
 */
export class Appender {
  #client: EventStoreDBClient;
  #closed = false;
  #replaced = 0;
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** An append is made again after `silence`, then after double that, until `patience` is over (ms). */
  constructor(
    private readonly connect: (n: number) => EventStoreDBClient,
    private readonly timing: { readonly silence: number; readonly patience: number },
  ) {
    this.#client = connect(0);
  }

  /** The events have to be acceptable, and some. Raises `RevisionConflict`, `EngineUnavailable`. */
  async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    const before = this.#turns.get(stream);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return this.#appendInTurn(stream, expected, events);
    })();
    this.#turns.set(stream, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(stream) === turn) this.#turns.delete(stream);
    }
  }

  /** Appends under way fail; whether they were made is not known. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#client.dispose();
    closeConnection(this.#client);
  }

  async #appendInTurn(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    const data = events.map(toData);
    const patience = new Patience(this.timing.patience);
    for (let time = this.timing.silence; ; time *= 2) {
      if (this.#closed) throw unavailable(new NoAnswer('it has been closed'));
      await this.#place();
      const client = this.#client;
      try {
        return await this.#tried(client, stream, expected, data, time);
      } catch (error) {
        if (error instanceof RevisionConflict || error instanceof UnacceptableAppend) throw error;
        if (!isFinal(error) && !isReconnecting(error)) await this.#replace(client);
        await patience.afterFailure(error);
      }
    }
  }

  /** Waits until another append may be at work; `#tried` gives the place back. */
  async #place(): Promise<void> {
    if (this.#atWork >= AT_WORK) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#atWork += 1;
  }

  async #tried(
    client: EventStoreDBClient,
    stream: string,
    expected: number,
    data: EventData[],
    time: number,
  ): Promise<Appended> {
    try {
      if (this.#closed) throw new NoAnswer('it has been closed');
      const expectedRevision = expected === NO_STREAM ? MISSING : BigInt(expected);
      const appending = client.appendToStream(stream, data, { expectedRevision, deadline: DEADLINE });
      const { nextExpectedRevision, position } = await inTime(
        appending,
        time,
        () => new NoAnswer(`no answer within ${time} ms`),
      );
      if (position === undefined) throw new NoAnswer('the position of an append is not told');
      return { revision: Number(nextExpectedRevision), position: toPosition(position.commit) };
    } catch (error) {
      throw asPortError(error, stream, expected);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#atWork -= 1;
      else next();
    }
  }

  /** A client that does not answer is left, with all that it is at: that is made again over the new one. */
  async #replace(client: EventStoreDBClient): Promise<void> {
    if (this.#closed || client !== this.#client) return;
    this.#replaced += 1;
    this.#client = this.connect(this.#replaced);
    await client.dispose();
    closeConnection(client);
  }
}

/**
 * The event as the client takes it: it makes JSON by itself, so that a text it would not make to the letter goes
 * as bytes. What it could not make anything of would end the process; that is found here.
 */
function toData({ id, type, data, meta }: NewEvent): EventData {
  const metadata = bytesOf(meta);
  const value: unknown = JSON.parse(data);
  return isObject(value) && JSON.stringify(value) === data
    ? { id, type, contentType: 'application/json', data: value, metadata }
    : { id, type, contentType: 'application/octet-stream', data: bytesOf(data), metadata };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The client knows bytes by their exact class. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

/** Errors that the port has a name for. */
function asPortError(error: unknown, stream: string, expected: number): unknown {
  const { type } = marksOf(error);
  if (type === 'wrong-expected-version' && error instanceof Error) {
    const actual: unknown = Reflect.get(error, 'actualVersion');
    return new RevisionConflict(stream, expected, typeof actual === 'bigint' ? Number(actual) : NO_STREAM);
  }
  if (type === 'stream-deleted') return new UnacceptableAppend(`${stream} has been deleted for ever`);
  if (type === 'maximum-append-size-exceeded')
    return new UnacceptableAppend('the server takes no appends of this size');
  return error;
}
