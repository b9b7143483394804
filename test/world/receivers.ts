import { type Attempt, type AttemptResult } from '../../src/delivery/sending/attempt';
import { type MakeAttempt } from '../../src/delivery/scheduling/dispatcher';
import { brokenBy } from './checks/broken';
import { BOUNDED } from './checks/processes';
import { Random } from './random';
import { type Process, type ProcessClock, type Say, type Simulation } from './simulation';

/** How a receiver behaves for a time. */
export type Mood = 'accepts' | 'refuses' | 'is gone' | 'hangs' | 'accepts, but nobody learns it';

/** An attempt, as the receiver and the sender know it. */
export interface Received {
  readonly id: string;
  readonly url: string;
  readonly sequence: number;
  readonly process: string;
  readonly isManual: boolean;
  readonly started: number;
  /** When the sender has learnt how it ended; undefined: never. */
  ended: number | undefined;
  end: AttemptResult['end'] | undefined;
  /** The receiver has it and has accepted it. */
  isAccepted: boolean;
}

/** What an attempt may take (ms). */
const ATTEMPT_MS = 15_000;

/** How often a message is tried at the same time: as it is due, and each time that somebody has asked for it. */
const MOST_TRIALS = 10;

/** The other ends of all messages: they remember everything. */
export class Receivers {
  readonly all: Received[] = [];
  /** Grows whenever anything of that changes. */
  changes = 0;
  private readonly moods = new Map<string, { readonly mood: Mood; readonly until: number }>();
  /** Until when processes cannot send anything. */
  private readonly without = new Map<string, number>();
  private trials = { now: 0, counts: new Map<string, number>() };
  private readonly random: Random;

  constructor(
    private readonly simulation: Simulation,
    seed: string,
    private readonly say: Say,
  ) {
    this.random = new Random(`${seed} receivers`);
  }

  setMood(url: string, mood: Mood, ms: number): void {
    this.moods.set(url, { mood, until: this.simulation.now + ms });
  }

  /** A process has no files, memory or ports for a time. */
  cannotSend(process: string, ms: number): void {
    this.without.set(process, this.simulation.now + ms);
  }

  cheerUp(): void {
    this.moods.clear();
    this.without.clear();
  }

  /** What a process sends with. */
  senderOf(process: Process, clock: ProcessClock): { readonly attempt: MakeAttempt; close(): Promise<void> } {
    return {
      attempt: (attempt, signal) => this.attempt(process, clock, attempt, signal),
      close: async () => undefined,
    };
  }

  private moodOf(url: string): Mood {
    const { mood, until } = this.moods.get(url.split('?')[0] ?? '') ?? { mood: 'accepts' as const, until: 0 };
    return until > this.simulation.now ? mood : 'accepts';
  }

  /** A message cannot be sent, and should not be tried again before some time has passed. */
  private tried(message: string): void {
    const { now } = this.simulation;
    if (this.trials.now !== now) this.trials = { now, counts: new Map() };
    const count = (this.trials.counts.get(message) ?? 0) + 1;
    this.trials.counts.set(message, count);
    if (count > MOST_TRIALS)
      this.simulation.crash ??= brokenBy(BOUNDED, `${message} is tried ${count} times while no time passes`);
  }

  private attempt(
    process: Process,
    clock: ProcessClock,
    { id, sequence, request: { url }, isManual }: Attempt,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const { simulation, random } = this;
    const [at, began] = [clock.wall(), clock.monotonic()];
    if ((this.without.get(process.name) ?? 0) > simulation.now) {
      this.tried(`${process.name} ${id}`);
      return Promise.resolve({ end: 'aborted', error: 'the sender had no resources', at, ms: 0 });
    }
    const received: Received = {
      ...{ id, url, sequence, process: process.name, isManual: isManual === true, started: simulation.now },
      ...{ ended: undefined, end: undefined, isAccepted: false },
    };
    this.all.push(received);
    this.changes += 1;
    this.say(() => `${process.name} sends ${id} (${sequence}) to ${url}${isManual === true ? ' again' : ''}`);
    return new Promise((resolve) => {
      const end = (end: AttemptResult['end'], status?: number): void => {
        if (received.end !== undefined) return;
        [received.end, received.ended] = [end, simulation.now];
        this.changes += 1;
        this.say(() => `${process.name} learns that ${id} has ended: ${end}`);
        const result = { end, at, ms: Math.round(clock.monotonic() - began) };
        resolve(status === undefined ? result : { ...result, status });
      };
      const abort = (): void => end('aborted');
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener('abort', abort, { once: true });
      const timeout = clock.timer(ATTEMPT_MS, () => end('timeout'));
      simulation.after(random.time(1, 3_000), undefined, () => {
        const mood = this.moodOf(url);
        if (mood === 'hangs') return;
        received.isAccepted = mood !== 'refuses' && mood !== 'is gone';
        this.changes += 1;
        if (mood === 'accepts, but nobody learns it') return;
        simulation.after(random.time(1, 1_000), process, () => {
          timeout.cancel();
          if (mood === 'accepts') end('success', 200);
          else if (mood === 'is gone') end('gone', 410);
          else end('failure', 500);
        });
      });
    });
  }
}
