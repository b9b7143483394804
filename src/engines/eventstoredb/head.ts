import { type Position, START } from '../../kernel/event';
import { eventsIn, type Readers } from './stream-reads';
import { NoAnswer } from './failure';
import { maxPosition, type Namespace, type SentEvent } from './sent-event';
import { backwardsRequest } from './requests';

/** Sizes of successive backwards reads, until one contains an event of the log. */
const PAGES = [1, 8, 64, 500] as const;

export interface End {
  /** Position of the last event of the log, or `START`. */
  readonly head: Position;
  /** Position of the last event in the server, including its own and those of other programs, or `START`. */
  readonly last: Position;
}

/** Finds the end of the log. Reads no event twice, since the server writes many that do not belong to the log. */
export class LogHead {
  #end: End = { head: START, last: START };
  #passed = 0;
  #isKnown = false;
  #reading: Promise<End> | undefined;
  #next: Promise<End> | undefined;

  /** `signal` cancels reads. `findKnown` finds an earlier end of the log, if one is recorded: reads stop there. */
  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    private readonly signal: AbortSignal,
    private readonly findKnown: () => Promise<End | undefined> = async () => undefined,
  ) {}

  /** How many events have been read so far in search of the end. */
  get passed(): number {
    return this.#passed;
  }

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
    this.#advance(position, position);
  }

  #advance(head: Position, last: Position): End {
    this.#end = { head: maxPosition(this.#end.head, head), last: maxPosition(this.#end.last, last) };
    return this.#end;
  }

  async #start(): Promise<End> {
    this.#reading = this.#find().finally(() => (this.#reading = undefined));
    return await this.#reading;
  }

  async #find(): Promise<End> {
    if (this.#isKnown) return await this.#findBackwards();
    const known = await this.findKnown();
    if (known !== undefined) this.#advance(known.head, known.last);
    const end = await this.#findBackwards(known === undefined);
    this.#isKnown = true;
    return end;
  }

  /** `filters`: lets the server skip what does not belong to the log, unless that takes it too long. */
  async #findBackwards(filters = false): Promise<End> {
    let [last, before] = [undefined, undefined] as [Position | undefined, Position | undefined];
    let isFiltered = false;
    for (let page = 0; ; page = Math.min(page + 1, PAGES.length - 1)) {
      // A filtered read ends only when it has found this many.
      const limit = PAGES[Math.max(0, isFiltered ? page - 1 : page)] ?? 1;
      let count = 0;
      try {
        for await (const sent of this.#read(before, limit, isFiltered)) {
          const { position } = sent;
          count += 1;
          last ??= position;
          before = position;
          if (sent.isOfLog || position <= this.#end.last)
            return this.#advance(sent.isOfLog ? position : START, last);
        }
      } catch (error) {
        if (!isFiltered || !(error instanceof NoAnswer)) throw error;
        [isFiltered, filters] = [false, false];
        continue;
      }
      this.signal.throwIfAborted();
      if (count < limit) break;
      isFiltered = filters;
    }
    return this.#advance(START, last ?? START);
  }

  async *#read(before: Position | undefined, limit: number, isFiltered: boolean): AsyncGenerator<SentEvent> {
    const regex = isFiltered ? this.namespace.expression(undefined) : undefined;
    const messages = this.readers.read(backwardsRequest(before, limit, regex), this.signal);
    for await (const sent of eventsIn(messages, this.namespace)) {
      this.#passed += 1;
      yield sent;
    }
  }
}
