import { type Position, START } from '../../kernel/event';
import { type Namespace } from './namespace';
import { type Readers } from './readers';
import { eventsIn } from './stream-reads';
import { maxPosition } from './sent-event';
import { backwardsRequest } from './requests';

/** Sizes of successive backwards reads, until one contains an event of the log. */
const PAGES = [1, 32, 500] as const;

/** The end of the log. */
export interface End {
  /** Position of the last event of the log, or `START`. */
  readonly head: Position;
  /** Position of the last event in the server, including its own and those of other programs, or `START`. */
  readonly last: Position;
}

/** Finds the end of the log. Reads no event twice, since the server writes many events that do not belong to the log. */
export class Head {
  #end: End = { head: START, last: START };
  #reading: Promise<End> | undefined;
  #next: Promise<End> | undefined;

  /** `signal` cancels reads in progress. */
  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    private readonly signal: AbortSignal,
  ) {}

  /** Reads the current end. Callers that arrive during a read share the next one. */
  async read(): Promise<End> {
    if (this.#reading === undefined) return await this.#start();
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(async () => {
        this.#next = undefined;
        return await this.#start();
      });
    return await this.#next;
  }

  /** Records that the log has an event at this position. */
  advanceTo(position: Position): void {
    this.#end = { head: maxPosition(this.#end.head, position), last: maxPosition(this.#end.last, position) };
  }

  async #start(): Promise<End> {
    this.#reading = this.#find().finally(() => (this.#reading = undefined));
    return await this.#reading;
  }

  async #find(): Promise<End> {
    let last: Position | undefined;
    let before: Position | undefined;
    for (let page = 0; ; page = Math.min(page + 1, PAGES.length - 1)) {
      const limit = PAGES[page] ?? 1;
      const messages = this.readers.read(backwardsRequest(before, limit), this.signal);
      let count = 0;
      for await (const sent of eventsIn(messages, this.namespace)) {
        const { position } = sent;
        count += 1;
        last ??= position;
        before = position;
        if (sent.isOfLog || position <= this.#end.last) {
          this.#end = {
            head: sent.isOfLog ? maxPosition(this.#end.head, position) : this.#end.head,
            last: maxPosition(this.#end.last, last),
          };
          return this.#end;
        }
      }
      this.signal.throwIfAborted();
      if (count < limit) break;
    }
    this.#end = { head: this.#end.head, last: maxPosition(this.#end.last, last ?? START) };
    return this.#end;
  }
}
