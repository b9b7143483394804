import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type Sieve } from './filter';
import { type Checkpoint } from './messages';
import { END } from './position';
import { PAGE, type Pace } from './read-options';
import { type ShownEvent, toShown } from './stored-event';

/** A part of what a subscription sends, in this order. */
export interface Followed {
  readonly events: readonly ShownEvent[];
  readonly checkpoint?: Checkpoint | undefined;
  /** Nothing is left to send, for the first time or again. */
  readonly caughtUp?: boolean;
}

/** How many events and checkpoints may wait for a live subscriber: with more it falls behind. */
export const LIVE = 32;

interface Page {
  readonly start: Checkpoint;
  considered: number;
  passed: number;
}

/** What EventStoreDB sends as a checkpoint before a subscription from the start has come anywhere. */
const NOWHERE: Checkpoint = { commit: END, prepare: END };

/**
 * Decides, like EventStoreDB, when a subscription to all events sends events, checkpoints and that it has caught up.
 *
 * While it catches up it reads pages, of at most `window` events considered and 32 that pass. At the end of the
 * first page after `interval` events it sends a checkpoint: where the page began, or the last event sent if that is
 * later. At the end of the log it sends the later of the last checkpoint and the last event, even if that is still
 * 2^64 - 1, nowhere, after which there is no greater one to send. Live it sends a checkpoint with every `interval`th
 * event; when more arrives at a time than fits its queue it catches up again.
 */
export class AllSubscription {
  #live = false;
  /** The last place sent, of an event or a checkpoint; undefined before all of them. */
  #sent: Checkpoint | undefined;
  /** The event there is one that passes. */
  #sentPassed = false;
  /** The last checkpoint sent. */
  #checkpoint: Checkpoint | undefined;
  /** The page that is being read; undefined until its first event. */
  #page: Page | undefined;
  /** Events considered since the last checkpoint, while catching up and while live. */
  #considered = 0;
  #liveConsidered = 0;
  /** The last checkpoint due to live subscribers while this one was catching up. */
  #missed: Position | undefined;

  /** `head`: where the log ended when the subscription began. Without a `pace` there are no checkpoints. */
  constructor(
    private readonly sieve: Sieve,
    private readonly pace: Pace | undefined,
    private readonly head: Position,
  ) {}

  get live(): boolean {
    return this.#live;
  }

  /** Begins at the end of the log, or beyond it. */
  goLive(at: Position): Followed {
    this.#live = true;
    if (at !== START) this.#sent = { commit: at, prepare: at };
    return { events: [], caughtUp: true };
  }

  /** Begins at the event, or after it. */
  catchUpFrom(event: RecordedEvent, inclusive: boolean): void {
    const { position } = event;
    this.#sent = { commit: position, prepare: inclusive ? START : position };
    this.#sentPassed = !inclusive && this.sieve.passing([event]).length > 0;
    this.catchUp();
    if (inclusive) this.#page = { start: this.#sent, considered: 0, passed: 0 };
  }

  /** Begins with a page that includes the last place sent. */
  catchUp(): void {
    this.#live = false;
    this.#considered = 0;
    this.#page =
      this.#sent === undefined
        ? { start: { commit: START, prepare: START }, considered: 0, passed: 0 }
        : { start: this.#sent, considered: 1, passed: Number(this.#sentPassed) };
  }

  /** What to send for the next events of the log. */
  *take(events: readonly RecordedEvent[]): Generator<Followed> {
    const marks = this.sieve.marks(events);
    if (this.#live) {
      if (this.#waiting(events, marks) <= LIVE) {
        yield* this.#takeLive(events, marks);
        return;
      }
      yield { events: [], checkpoint: this.#due(this.#sent) };
      this.catchUp();
    }
    yield* this.#takePages(events, marks);
  }

  /** What to send when the log has no more events. */
  *endOfLog(): Generator<Followed> {
    yield { events: [], checkpoint: this.#due(this.#sent), caughtUp: true };
    this.#live = true;
    const missed = this.#missed;
    this.#missed = undefined;
    if (missed !== undefined && missed >= (this.#sent?.commit ?? START))
      yield { events: [], checkpoint: this.#due(this.#advance(missed, missed, this.#sentPassed)) };
  }

  *#takePages(events: readonly RecordedEvent[], marks: Marks): Generator<Followed> {
    if (this.pace === undefined) {
      const last = events.at(-1);
      if (last !== undefined) this.#advance(last.position, last.position, true);
      yield { events: events.map(toShown) };
      return;
    }
    const { window, interval } = this.pace;
    let passing: ShownEvent[] = [];
    for (const [index, event] of events.entries()) {
      const page = (this.#page ??= {
        start: { commit: event.position, prepare: START },
        considered: 0,
        passed: 0,
      });
      page.considered += 1;
      if (this.#countLive(event)) this.#missed = event.position;
      if (passes(marks, index)) {
        page.passed += 1;
        passing.push(toShown(event));
        this.#advance(event.position, event.position, true);
      }
      if (page.considered < window && page.passed < PAGE) continue;
      this.#page = undefined;
      this.#considered += page.considered;
      if (this.#considered < interval) continue;
      this.#considered %= interval;
      const { commit, prepare } = page.start;
      if (this.#sent === undefined || commit > this.#sent.commit) this.#advance(commit, prepare, false);
      yield { events: passing, checkpoint: this.#due(this.#sent) };
      passing = [];
    }
    yield { events: passing };
  }

  *#takeLive(events: readonly RecordedEvent[], marks: Marks): Generator<Followed> {
    let passing: ShownEvent[] = [];
    for (const [index, event] of events.entries()) {
      const { position } = event;
      const passed = passes(marks, index);
      if (passed) {
        passing.push(toShown(event));
        this.#advance(position, position, true);
      }
      if (!this.#countLive(event)) continue;
      yield { events: passing, checkpoint: this.#due(this.#advance(position, position, passed)) };
      passing = [];
    }
    yield { events: passing };
  }

  /** How much would wait for a live subscriber. */
  #waiting(events: readonly RecordedEvent[], marks: Marks): number {
    const passed = marks === undefined ? events.length : marks.filter(Boolean).length;
    if (this.pace === undefined) return passed;
    return passed + Math.floor((this.#liveConsidered + events.length) / this.pace.interval);
  }

  /** Whether a checkpoint is due to live subscribers with this event. */
  #countLive({ position }: RecordedEvent): boolean {
    if (this.pace === undefined || position <= this.head) return false;
    this.#liveConsidered += 1;
    if (this.#liveConsidered < this.pace.interval) return false;
    this.#liveConsidered = 0;
    return true;
  }

  #advance(commit: Position, prepare: Position, passed: boolean): Checkpoint {
    this.#sentPassed = passed;
    return (this.#sent = { commit, prepare });
  }

  /** The checkpoint to send for a place, if it is greater than the last one. */
  #due(place: Checkpoint | undefined): Checkpoint | undefined {
    const last = this.#checkpoint;
    const checkpoint = place ?? NOWHERE;
    if (this.pace === undefined || (last !== undefined && !isAfter(checkpoint, last))) return undefined;
    return (this.#checkpoint = checkpoint);
  }
}

/** Whether each event passes; undefined if all do. */
type Marks = readonly boolean[] | undefined;

function passes(marks: Marks, index: number): boolean {
  return marks === undefined || marks[index] === true;
}

function isAfter(a: Checkpoint, b: Checkpoint): boolean {
  if (b.commit === END) return false;
  if (a.commit === END) return true;
  return a.commit > b.commit || (a.commit === b.commit && a.prepare > b.prepare);
}
