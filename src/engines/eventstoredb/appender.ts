import { RevisionConflict, StreamDeleted, UnacceptableAppend } from '../../kernel/event-log';
import { withTimeout } from '../../runtime/unavailable';
import { FairQueue } from '../../runtime/fair-queue';
import { type Append, AppendCall, type AppendResult } from './append-call';
import { Connection } from './connection';
import { NoAnswer, unavailable } from './failure';
import { RetryBudget } from './retry-budget';

/** Maximum concurrent appends: each holds up to a megabyte in memory. */
const MAX_CONCURRENT = 64;

/** Maximum time-out (ms) of one attempt. */
const MAX_TIMEOUT_MS = 60_000;

/** What is wrong with the append itself. */
function isRefusal(error: unknown): boolean {
  return [RevisionConflict, StreamDeleted, UnacceptableAppend].some((kind) => error instanceof kind);
}

/** Our own time-out of an attempt, as opposed to an answer of the server. */
class AttemptTimeout extends NoAnswer {}

/**
 * Appends over one connection, and replaces it if it stops working.
 *
 * An append whose outcome is unknown is retried with the same ids at the same revision: if it was made already, the server
 * recognizes it. Appends to the same stream run one at a time.
 */
export class Appender {
  #connection: Connection;
  #call: Promise<AppendCall> | undefined;
  #closed = false;
  readonly #queue = new FairQueue({ atOnce: MAX_CONCURRENT, perClient: 1 });

  /** An attempt times out after `timeoutMs`, the next one after twice that, and so on. Retries end after `retryMs`. */
  constructor(
    private readonly url: string,
    private readonly timing: { readonly timeoutMs: number; readonly retryMs: number },
  ) {
    this.#connection = new Connection(url);
  }

  /**
   * Requires validated events, at least one. Raises `RevisionConflict`, `StreamDeleted`, `UnacceptableAppend`,
   * `EngineUnavailable`.
   */
  async append(append: Append): Promise<AppendResult> {
    // The budget starts here, before the wait in the queue: the appends ahead started earlier and give up earlier.
    const since = performance.now();
    return await this.#queue.run(append.stream, () => this.#persist(append, since));
  }

  /** Appends in progress fail; their outcome is unknown. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#drop(this.#call);
  }

  async #persist(append: Append, since: number): Promise<AppendResult> {
    const budget = new RetryBudget(this.timing.retryMs);
    let { timeoutMs } = this.timing;
    let failure: unknown;
    for (;;) {
      if (this.#closed) throw unavailable(new NoAnswer('it was closed'));
      const call = (this.#call ??= this.#open());
      let opened: AppendCall | undefined;
      try {
        opened = await this.#opened(call, budget.leftSince(since));
        return await this.#try(opened, append, Math.min(timeoutMs, budget.leftSince(since)));
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (error instanceof AttemptTimeout) {
          timeoutMs = Math.min(2 * timeoutMs, MAX_TIMEOUT_MS);
          await this.#drop(call);
        }
        // The next append opens another.
        if (opened?.isOver === true && this.#call === call) this.#call = undefined;
        // An error of an earlier attempt says more than our own time-out.
        failure = error instanceof AttemptTimeout ? (failure ?? error) : error;
        await budget.afterFailure(await this.#connection.explain(failure), since);
      }
    }
  }

  /** Waits for the call to open: the leader of a cluster may have to be found, for longer than this append is retried. */
  async #opened(call: Promise<AppendCall>, leftMs: number): Promise<AppendCall> {
    return await withTimeout(call, leftMs, () => new NoAnswer('its leader was not found in time'));
  }

  async #try(call: AppendCall, append: Append, timeoutMs: number): Promise<AppendResult> {
    return await withTimeout(
      call.append(append),
      timeoutMs,
      () => new AttemptTimeout('it did not answer an append in time'),
    );
  }

  /** A call that cannot be opened is forgotten, so that the next append opens another. */
  #open(): Promise<AppendCall> {
    const opening = this.#connection.batchAppend().then((call) => new AppendCall(call));
    opening.catch(() => {
      if (this.#call === opening) this.#call = undefined;
    });
    return opening;
  }

  /** Replaces a connection that does not answer. Its other appends fail and are retried over the new one. */
  async #drop(call: Promise<AppendCall> | undefined): Promise<void> {
    if (call !== this.#call) return;
    const connection = this.#connection;
    this.#call = undefined;
    if (!this.#closed) this.#connection = new Connection(this.url);
    // Do not wait for a call that is still opening.
    call?.then((opened) => opened.cancel()).catch(() => undefined);
    connection.close();
  }
}
