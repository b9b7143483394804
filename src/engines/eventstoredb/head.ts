import { type Position, START } from '../../kernel/event';
import { type Readers } from './readers';
import { eventsIn } from './reading';
import { later } from './records';
import { backwardsRequest } from './requests';

/** Events asked for, the last one first, until the last one of the log is among them. */
const PAGES = [1, 32, 500] as const;

/** What a look at the end of the log finds. */
export interface End {
  /** Position of the last event of the log, or `START`. */
  readonly head: Position;
  /** Position of the last event of all, the server's own and other programs' included, or `START`. */
  readonly last: Position;
}

/** Where the log ends. Nothing is looked at twice: a server writes many events that are none of the log's. */
export class Head {
  #end: End = { head: START, last: START };
  #looking: Promise<End> | undefined;
  #next: Promise<End> | undefined;

  /** `signal` ends what is under way. */
  constructor(
    private readonly readers: Readers,
    private readonly signal: AbortSignal,
  ) {}

  /** Looks at the end; those who ask while a look is under way share the next one. */
  async look(): Promise<End> {
    if (this.#looking === undefined) return await this.#start();
    this.#next ??= this.#looking
      .catch(() => undefined)
      .then(async () => {
        this.#next = undefined;
        return await this.#start();
      });
    return await this.#next;
  }

  /** The log is known to have an event there. */
  reached(position: Position): void {
    this.#end = { head: later(this.#end.head, position), last: later(this.#end.last, position) };
  }

  async #start(): Promise<End> {
    this.#looking = this.#find().finally(() => (this.#looking = undefined));
    return await this.#looking;
  }

  async #find(): Promise<End> {
    let last: Position | undefined;
    let before: Position | undefined;
    for (let page = 0; ; page = Math.min(page + 1, PAGES.length - 1)) {
      const limit = PAGES[page] ?? 1;
      const messages = this.readers.read(backwardsRequest(before, limit), this.signal);
      let count = 0;
      for await (const sent of eventsIn(messages)) {
        const { position } = sent;
        count += 1;
        last ??= position;
        before = position;
        if (sent.isOfLog || position <= this.#end.last) {
          this.#end = {
            head: sent.isOfLog ? later(this.#end.head, position) : this.#end.head,
            last: later(this.#end.last, last),
          };
          return this.#end;
        }
      }
      this.signal.throwIfAborted();
      if (count < limit) break;
    }
    this.#end = { head: this.#end.head, last: later(this.#end.last, last ?? START) };
    return this.#end;
  }
}
