import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventFilter, type ReadPace, PAGE } from './read-options';
import { type Checkpoint, type ClientEvent, END } from './client-values';

/** What a subscription sends next: the events, then the checkpoint, then whether it has caught up. */
export interface SubscriptionPart {
  readonly events: readonly ClientEvent[];
  readonly checkpoint?: Checkpoint | undefined;
  /** The subscription has caught up, for the first time or again. */
  readonly caughtUp?: boolean;
}

/** Queue length of a live subscriber, in events and checkpoints: with more it falls behind. */
export const LIVE = 32;

/** The checkpoint that EventStoreDB sends before a subscription from the start has made progress. */
const NOWHERE: Checkpoint = { commit: END, prepare: END };

/**
 * Decides, as EventStoreDB does, when a subscription to all events sends events, checkpoints and the message that it
 * has caught up.
 *
 * While catching up it reads pages of at most `window` considered and 32 matching events. At the end of the first page
 * after `interval` events it sends a checkpoint: the start of the page, or the last event sent if that is later. At the
 * end of the log it sends the later of the last checkpoint and the last event, even if that is still `NOWHERE` (2^64 -
 * 1), after which no checkpoint is greater. While live it sends a checkpoint with every `interval`th event. If more
 * events arrive at once than its queue holds, it falls behind and catches up again.
 */
export class AllSubscription {
  #live = false;
  /** The last position sent, of an event or a checkpoint; undefined before the first. */
  #sent: Checkpoint | undefined;
  /** Whether the event at that position matches the filter. */
  #sentMatches = false;
  #checkpoint: Checkpoint | undefined;
  /** The current page; undefined until its first event. */
  #page: { readonly start: Checkpoint; considered: number; matched: number } | undefined;
  /** Events considered since the last checkpoint, while catching up and while live. */
  #considered = 0;
  #liveConsidered = 0;
  /** The last checkpoint that was due to live subscribers while this one was catching up. */
  #missed: Position | undefined;

  /** `head`: the end of the log when the subscription started. Without `pace` it sends no checkpoints. */
  constructor(
    private readonly toClient: (event: RecordedEvent) => ClientEvent,
    private readonly eventFilter: EventFilter,
    private readonly pace: ReadPace | undefined,
    private readonly head: Position,
  ) {}

  get live(): boolean {
    return this.#live;
  }

  /** Starts at the end of the log, or beyond it. */
  goLive(at: Position): SubscriptionPart {
    this.#live = true;
    if (at !== START) this.#sent = { commit: at, prepare: at };
    return { events: [], caughtUp: true };
  }

  /** Starts at the event (`inclusive`), or after it. */
  catchUpFrom(event: RecordedEvent, inclusive: boolean): void {
    const { position } = event;
    this.#sent = { commit: position, prepare: inclusive ? START : position };
    this.#sentMatches = !inclusive && this.eventFilter.selected([event]).length > 0;
    this.catchUp();
    if (inclusive) this.#page = { start: this.#sent, considered: 0, matched: 0 };
  }

  /** Catches up, with a page that includes the last position sent. */
  catchUp(): void {
    this.#live = false;
    this.#considered = 0;
    this.#page =
      this.#sent === undefined
        ? { start: { commit: START, prepare: START }, considered: 0, matched: 0 }
        : { start: this.#sent, considered: 1, matched: Number(this.#sentMatches) };
  }

  /** Returns what to send for the next events of the log. */
  *push(events: readonly RecordedEvent[]): Generator<SubscriptionPart> {
    const matches = this.eventFilter.matches(events);
    if (this.#live) {
      if (this.#queueLength(events, matches) <= LIVE) {
        yield* this.#pushLive(events, matches);
        return;
      }
      yield { events: [], checkpoint: this.#due(this.#sent) };
      this.catchUp();
    }
    yield* this.#pushPages(events, matches);
  }

  /** Returns what to send at the end of the log. */
  *endOfLog(): Generator<SubscriptionPart> {
    yield { events: [], checkpoint: this.#due(this.#sent), caughtUp: true };
    this.#live = true;
    const missed = this.#missed;
    this.#missed = undefined;
    if (missed !== undefined && missed >= (this.#sent?.commit ?? START))
      yield { events: [], checkpoint: this.#due(this.#advance(missed, missed, this.#sentMatches)) };
  }

  *#pushPages(events: readonly RecordedEvent[], matches: EventTest): Generator<SubscriptionPart> {
    if (this.pace === undefined) {
      const last = events.at(-1);
      if (last !== undefined) this.#advance(last.position, last.position, true);
      yield { events: events.map(this.toClient) };
      return;
    }
    const { window, interval } = this.pace;
    let selected: ClientEvent[] = [];
    for (const [index, event] of events.entries()) {
      const page = (this.#page ??= {
        start: { commit: event.position, prepare: START },
        considered: 0,
        matched: 0,
      });
      page.considered += 1;
      if (this.#countLive(event)) this.#missed = event.position;
      if (isMatch(matches, index)) {
        page.matched += 1;
        selected.push(this.toClient(event));
        this.#advance(event.position, event.position, true);
      }
      if (page.considered < window && page.matched < PAGE) continue;
      this.#page = undefined;
      this.#considered += page.considered;
      if (this.#considered < interval) continue;
      this.#considered %= interval;
      const { commit, prepare } = page.start;
      if (this.#sent === undefined || commit > this.#sent.commit) this.#advance(commit, prepare, false);
      yield { events: selected, checkpoint: this.#due(this.#sent) };
      selected = [];
    }
    yield { events: selected };
  }

  *#pushLive(events: readonly RecordedEvent[], matches: EventTest): Generator<SubscriptionPart> {
    let selected: ClientEvent[] = [];
    for (const [index, event] of events.entries()) {
      const { position } = event;
      const matched = isMatch(matches, index);
      if (matched) {
        selected.push(this.toClient(event));
        this.#advance(position, position, true);
      }
      if (!this.#countLive(event)) continue;
      yield { events: selected, checkpoint: this.#due(this.#advance(position, position, matched)) };
      selected = [];
    }
    yield { events: selected };
  }

  /** How long the queue of a live subscriber would become. */
  #queueLength(events: readonly RecordedEvent[], matches: EventTest): number {
    const matched = matches === undefined ? events.length : matches.filter(Boolean).length;
    if (this.pace === undefined) return matched;
    return matched + Math.floor((this.#liveConsidered + events.length) / this.pace.interval);
  }

  /** Whether a checkpoint is due to live subscribers with this event. */
  #countLive({ position }: RecordedEvent): boolean {
    if (this.pace === undefined || position <= this.head) return false;
    this.#liveConsidered += 1;
    if (this.#liveConsidered < this.pace.interval) return false;
    this.#liveConsidered = 0;
    return true;
  }

  #advance(commit: Position, prepare: Position, matches: boolean): Checkpoint {
    this.#sentMatches = matches;
    return (this.#sent = { commit, prepare });
  }

  /** The checkpoint to send for a position, if it is greater than the last one. */
  #due(at: Checkpoint | undefined): Checkpoint | undefined {
    const last = this.#checkpoint;
    const checkpoint = at ?? NOWHERE;
    if (this.pace === undefined || (last !== undefined && !isAfter(checkpoint, last))) return undefined;
    return (this.#checkpoint = checkpoint);
  }
}

/** Whether each event matches; undefined if all do. */
type EventTest = readonly boolean[] | undefined;

function isMatch(matches: EventTest, index: number): boolean {
  return matches === undefined || matches[index] === true;
}

function isAfter(a: Checkpoint, b: Checkpoint): boolean {
  if (b.commit === END) return false;
  if (a.commit === END) return true;
  return a.commit > b.commit || (a.commit === b.commit && a.prepare > b.prepare);
}
