import { RevisionConflict, UnacceptableAppend } from '../../kernel/event-log';
import { withTimeout } from '../../kernel/unavailable';
import { KeyedMutex } from '../../kernel/keyed-mutex';
import { type Append, AppendCall, type Made } from './append-call';
import { Connection } from './connection';
import { Patience } from './patience';
import { NoAnswer, unavailable } from './trouble';

/** Most appends at a time: each may be of a megabyte, which waits in memory. */
const AT_WORK = 64;

/** The longest time after which an append that is not answered is retried (ms). */
const LONGEST_SILENCE = 60_000;

/** A server said nothing for so long, which is no answer of its own. */
class Silence extends NoAnswer {}

/**
 * Appends over one connection; where that is of no use any more, over another.
 *
 * An append whose outcome is unknown is retried with the same ids at the same revision: if it was made already, the server
 * finds it there. Appends to one stream wait for each other.
 */
export class Appender {
  #connection: Connection;
  #call: Promise<AppendCall> | undefined;
  #closed = false;
  readonly #mutex = new KeyedMutex<string>();
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** An append is retried after `silence`, then after double that, until `patience` is over (ms). */
  constructor(
    private readonly url: string,
    private readonly timing: { readonly silence: number; readonly patience: number },
  ) {
    this.#connection = new Connection(url);
  }

  /** The events have to be acceptable, and some. Raises `RevisionConflict`, `UnacceptableAppend`, `EngineUnavailable`. */
  async append(append: Append): Promise<Made> {
    // Patience starts here: those that this append waits for started before it, and end before it.
    const since = performance.now();
    return await this.#mutex.runExclusive(append.stream, async () => {
      await this.#slot();
      try {
        return await this.#persist(append, since);
      } finally {
        const next = this.#waiting.shift();
        if (next === undefined) this.#atWork -= 1;
        else next();
      }
    });
  }

  /** Appends under way fail; whether they were made is not known. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#drop(this.#call);
  }

  async #persist(append: Append, since: number): Promise<Made> {
    const patience = new Patience(this.timing.patience);
    let { silence } = this.timing;
    let failure: unknown;
    for (;;) {
      if (this.#closed) throw unavailable(new NoAnswer('it was closed'));
      const call = (this.#call ??= this.#open());
      try {
        return await this.#try(await call, append, Math.min(silence, patience.leftSince(since)));
      } catch (error) {
        if (error instanceof RevisionConflict || error instanceof UnacceptableAppend) throw error;
        if (error instanceof Silence) {
          silence = Math.min(2 * silence, LONGEST_SILENCE);
          await this.#drop(call);
        }
        await this.#reopen(call);
        // What an attempt was cut short by says less than what an earlier one met.
        failure = error instanceof Silence ? (failure ?? error) : error;
        await patience.afterFailure(await this.#connection.explained(failure), since);
      }
    }
  }

  async #try(call: AppendCall, append: Append, silence: number): Promise<Made> {
    return await withTimeout(
      call.append(append),
      silence,
      () => new Silence('it did not answer an append in time'),
    );
  }

  async #open(): Promise<AppendCall> {
    return new AppendCall(await this.#connection.batchAppend());
  }

  /** The next append opens a call of its own, if this one is over. */
  async #reopen(call: Promise<AppendCall>): Promise<void> {
    const isOver = await call.then(
      ({ isOver }) => isOver,
      () => true,
    );
    if (isOver && this.#call === call) this.#call = undefined;
  }

  /** Leaves a connection over which nothing is answered, with all that is under way: that is made again over another. */
  async #drop(call: Promise<AppendCall> | undefined): Promise<void> {
    if (call !== this.#call) return;
    const connection = this.#connection;
    this.#call = undefined;
    if (!this.#closed) this.#connection = new Connection(this.url);
    // An opening call may take its time: nobody waits for it.
    void call?.then(
      (opened) => opened.cancel(),
      () => undefined,
    );
    connection.close();
  }

  /** Waits until another append may be at work. */
  async #slot(): Promise<void> {
    if (this.#atWork >= AT_WORK) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#atWork += 1;
  }
}
