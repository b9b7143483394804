import { Clock, type Timer } from '../../src/runtime/clock';
import { Random } from './random';

/** What is to happen at a time. */
interface Happening {
  at: number;
  /** Orders what happens at the same time: drawn from the seed. */
  readonly tie: number;
  readonly number: number;
  readonly process: Process | undefined;
  /** It waits for time that has passed in the process, which stands still while its machine is suspended. */
  readonly isTimer: boolean;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Where a process that is part of the world is, as to time and life. */
export class Process {
  isKilled = false;
  /** Since when it does not run (ms of the world). */
  frozenAt: number | undefined;
  /** Its machine is suspended: the time that has passed stands still too. */
  isSuspended = false;
  /** By how much its system clock is wrong (ms), and how much faster it is than time. */
  clockError = 0;
  drift = 0;
  readonly held: Happening[] = [];
  /** How long its machine was suspended (ms). */
  private suspendedMs = 0;

  constructor(
    readonly name: string,
    private readonly simulation: Simulation,
  ) {}

  /** The system clock, epoch ms. */
  wall(): number {
    const { now } = this.simulation;
    return Math.floor(EPOCH + now + this.clockError + this.drift * now);
  }

  /** A clock that nobody can set (ms). */
  monotonic(): number {
    return 1_000 + this.simulation.now - this.suspendedMs;
  }

  /** It stops between two steps, until it is thawed. `isSuspended`: with its machine. */
  freeze(isSuspended: boolean): void {
    this.frozenAt ??= this.simulation.now;
    this.isSuspended = isSuspended;
  }

  thaw(): void {
    if (this.frozenAt === undefined) return;
    const ms = this.simulation.now - this.frozenAt;
    if (this.isSuspended) this.suspendedMs += ms;
    this.frozenAt = undefined;
    this.simulation.thawed(this, this.isSuspended ? ms : 0);
  }
}

/** When worlds begin. */
export const EPOCH = Date.parse('2026-03-01T12:00:00Z');

/** The clock of one process. */
export class ProcessClock extends Clock {
  constructor(
    private readonly simulation: Simulation,
    readonly process: Process,
    private readonly chance: Random,
  ) {
    super();
  }

  wall(): number {
    return this.process.wall();
  }

  monotonic(): number {
    return this.process.monotonic();
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.cancel();
        reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }));
      };
      const timer = this.timer(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  timer(ms: number, callback: () => void): Timer {
    return this.simulation.after(Math.max(1, ms), this.process, callback, true);
  }

  interval(ms: number, callback: () => void): Timer {
    let timer = this.timer(ms, repeat);
    const { process } = this;
    const set = (): Timer => this.timer(ms, repeat);
    function repeat(): void {
      if (!process.isKilled) timer = set();
      callback();
    }
    const all = { cancel: () => timer.cancel(), unref: () => all };
    return all;
  }

  soon(callback: () => void): void {
    this.simulation.after(0, this.process, callback);
  }

  random(): number {
    return this.chance.next();
  }

  uuid(): string {
    return this.chance.uuid();
  }
}

const settled = globalThis.setImmediate;
/** A world that takes more steps does not end: most take 10,000. */
const MOST_STEPS = 200_000;
/** Steps between rounds of the event loop. */
const ROUND = 16;

/**
 * Time, and what happens at which time: one thing after the other, in an order drawn from the seed. While something
 * happens in a process, and whatever follows from it at once, that process is the current one.
 */
export class Simulation {
  /** Ms since the beginning of the world. */
  now = 0;
  current: Process | undefined;
  /** What has happened so far. */
  count = 0;
  /** Why a real process would have ended. */
  crash: unknown;
  private readonly heap: Happening[] = [];
  private readonly ties: Random;
  private numbers = 0;

  constructor(seed: string) {
    this.ties = new Random(`${seed} order`);
  }

  /** Without a process: it happens outside of all, in the network, in an engine. */
  after(ms: number, process: Process | undefined, run: () => void, isTimer = false): Timer {
    this.numbers += 1;
    const [at, number] = [this.now + Math.max(0, ms), this.numbers];
    const one = { at, tie: this.ties.next(), number, process, isTimer, run, isCancelled: false };
    this.push(one);
    const timer = { cancel: () => void (one.isCancelled = true), unref: () => timer };
    return timer;
  }

  /** Resolves in the process once the time has passed, without one in the network; never if it is killed. */
  pause(ms: number, process?: Process): Promise<void> {
    return new Promise((resolve) => this.after(ms, process, resolve));
  }

  /** Lets things happen up to a time (ms), or until it `isEnough`, which is asked after each step. */
  async run(until: number, isEnough: () => boolean = () => false): Promise<void> {
    while (!isEnough() && this.crash === undefined) {
      const next = this.heap[0];
      if (next === undefined || next.at > until) {
        this.now = Math.max(this.now, until);
        return;
      }
      this.pop();
      if (next.isCancelled || next.process?.isKilled === true) continue;
      this.now = Math.max(this.now, next.at);
      if (next.process?.frozenAt !== undefined) {
        next.process.held.push(next);
        continue;
      }
      this.count += 1;
      if (this.count > MOST_STEPS) throw new Error(`no end after ${MOST_STEPS} steps`);
      this.current = next.process;
      try {
        next.run();
      } catch (error) {
        this.crash = error;
      }
      // All that follows at once are microtasks, which end before this. Nobody's rejections are reported in a round.
      await new Promise<void>((resolve) =>
        this.count % ROUND === 0 ? settled(resolve) : process.nextTick(resolve),
      );
      this.current = undefined;
    }
  }

  /** What a process would have done while it was frozen, it does now; what awaits time, by so much later. */
  thawed(process: Process, laterMs: number): void {
    for (const one of this.heap) if (one.process === process && one.isTimer) one.at += laterMs;
    for (const one of process.held.splice(0)) {
      one.at = one.isTimer ? Math.max(this.now, one.at + laterMs) : this.now;
      this.heap.push(one);
    }
    this.heap.sort(inOrder);
  }

  private push(one: Happening): void {
    const { heap } = this;
    heap.push(one);
    for (let at = heap.length - 1; at > 0;) {
      const above = (at - 1) >> 1;
      if (inOrder(heap[above] as Happening, heap[at] as Happening) <= 0) break;
      swap(heap, at, above);
      at = above;
    }
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && inOrder(heap[left] as Happening, heap[least] as Happening) < 0) least = left;
      if (right < heap.length && inOrder(heap[right] as Happening, heap[least] as Happening) < 0)
        least = right;
      if (least === at) return;
      swap(heap, at, least);
      at = least;
    }
  }
}

function inOrder(a: Happening, b: Happening): number {
  return a.at - b.at || a.tie - b.tie || a.number - b.number;
}

function swap(heap: Happening[], a: number, b: number): void {
  const one = heap[a] as Happening;
  heap[a] = heap[b] as Happening;
  heap[b] = one;
}
