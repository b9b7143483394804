import { randomUUID } from 'node:crypto';
import { type ClientDuplexStream } from '@grpc/grpc-js';
import { type NewEvent, NO_STREAM, type Position } from '../../kernel/event';
import { RevisionConflict, StreamDeleted, UnacceptableAppend } from '../../kernel/event-log';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { FairQueue } from '../../runtime/fair-queue';
import { APPEND_RETRIES, type CountedLog } from '../../runtime/metrics';
import { withTimeout } from '../../runtime/unavailable';
import { Connection } from './connection';
import { NoAnswer, RefusedByServer, unavailable } from './failure';
import { type AppendAnswer, type AppendError, MessageWriter } from './protocol';
import { RetryBudget } from './requests';
import { toPosition } from './sent-event';

/** Maximum concurrent appends: each holds up to a megabyte in memory. */
const MAX_CONCURRENT = 64;

/** Bytes of an event in a request beside its data and metadata, or a little more. */
const EVENT_BYTES = 256;

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
 * An append whose outcome is unknown is retried with the same ids at the same revision: if it was made already, the
 * server recognizes it. Appends to the same stream run one at a time.
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
    private readonly log: CountedLog = 'events',
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
        // An error of an earlier attempt explains more than our own time-out.
        failure = error instanceof AttemptTimeout ? (failure ?? error) : error;
        await budget.afterFailure(await this.#connection.explain(failure), since);
        APPEND_RETRIES.add(1, { log: this.log });
      }
    }
  }

  /** Waits for the call to open: finding the leader of a cluster may take longer than this append is retried. */
  async #opened(call: Promise<AppendCall>, leftMs: number): Promise<AppendCall> {
    return await withTimeout(
      SYSTEM_CLOCK,
      call,
      leftMs,
      () => new NoAnswer('its leader was not found in time'),
    );
  }

  async #try(call: AppendCall, append: Append, timeoutMs: number): Promise<AppendResult> {
    return await withTimeout(
      SYSTEM_CLOCK,
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

interface Append {
  readonly stream: string;
  readonly expected: number;
  readonly events: readonly NewEvent[];
}

/** The end of the stream after an append. */
export interface AppendResult {
  readonly revision: number;
  /** Unknown if the append was made earlier and the stream was truncated since. */
  readonly position: Position | undefined;
}

interface Pending {
  readonly append: Append;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
}

type Call = ClientDuplexStream<Buffer, AppendAnswer>;

/** One call for any number of appends. The server answers each of them separately. */
class AppendCall {
  readonly #pending = new Map<string, Pending>();
  #failure: Error | undefined;

  constructor(private readonly call: Call) {
    call.on('data', (answer: AppendAnswer) => this.#answer(answer));
    call.on('error', (error) => this.#fail(error));
    call.on('end', () => this.#fail(new NoAnswer('it ended the appends')));
  }

  /** The call has ended and accepts no more appends. */
  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Raises `RevisionConflict`, `StreamDeleted` or `UnacceptableAppend`. If the call ends, raises its error: the outcome
   * is unknown then. An answer may never come, so callers need a time-out.
   */
  async append(append: Append): Promise<AppendResult> {
    return await new Promise<AppendResult>((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      const id = randomUUID();
      const request = requestOf(id, append);
      this.#pending.set(id, { append, resolve, reject });
      this.call.write(request);
    });
  }

  /** Ends the call; pending appends fail. */
  cancel(): void {
    this.#fail(new NoAnswer('it was closed'));
    this.call.cancel();
  }

  #answer({ id, success, error }: AppendAnswer): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    if (success === undefined) {
      pending.reject(toPortError(error, pending.append));
      return;
    }
    const { revision, commit } = success;
    pending.resolve({ revision, position: commit === undefined ? undefined : toPosition(commit) });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

/**
 * The numbers are those of the fields of `BatchAppendReq` and of what they contain. It has no deadline: the protocol's
 * is a time of day, so a slow clock would make every append fail; the server has its own time-out.
 */
function requestOf(id: string, { stream, expected, events }: Append): Buffer {
  let size = EVENT_BYTES;
  for (const { data, meta } of events) size += data.length + meta.length + EVENT_BYTES;
  const request = new MessageWriter(size);
  const addEntry = (name: string, value: string): void =>
    request.message(2, () => {
      request.text(2, value);
      request.text(1, name);
    });
  request.number(4, 1);
  for (const event of events.toReversed())
    request.message(3, () => {
      request.text(4, event.data);
      request.text(3, event.meta);
      addEntry('content-type', 'application/json');
      addEntry('type', event.type);
      request.message(1, () => request.text(2, event.id));
    });
  request.message(2, () => {
    if (expected === NO_STREAM) request.message(3);
    else request.number(2, expected);
    request.message(1, () => request.text(3, stream));
  });
  request.message(1, () => request.text(2, id));
  return request.bytes;
}

/** Translates the server's error for an append that it did not make, or not yet. */
function toPortError(error: AppendError | undefined, { stream, expected }: Append): Error {
  switch (error?.type) {
    case 'WrongExpectedVersion':
      return new RevisionConflict(stream, expected, error.current ?? NO_STREAM);
    case 'StreamDeleted':
      return new StreamDeleted(stream);
    case 'MaximumAppendSizeExceeded':
      return new UnacceptableAppend('the append exceeds the maximum size of the server');
    case 'AccessDenied':
      return new RefusedByServer(
        `access is denied: the user in its URL must be allowed to write to the stream ${stream}`,
      );
    // The outcome is unknown or pending: a retry of the same append settles it.
    case 'Timeout':
      return new NoAnswer('it did not make an append in time');
    case 'BadRequest':
      return new RefusedByServer('it refused an append as malformed');
    default:
      return new NoAnswer(`it did not make an append (${error?.message || 'unknown'})`);
  }
}
