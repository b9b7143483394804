import crypto from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { getHeapStatistics } from 'node:v8';
import zlib from 'node:zlib';
import { Clock, SYSTEM_CLOCK, type Timer } from '../../src/runtime/clock';
import { sliceBy } from '../../src/runtime/concurrency';
import { brokenBy } from './checks/broken';
import { BOUNDED } from './checks/processes';
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

  /** Its machine is suspended. */
  get isAsleep(): boolean {
    return this.frozenAt !== undefined && this.isSuspended;
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
    this.simulation.looks();
    return this.process.monotonic();
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.cancel();
        reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }));
      };
      const over = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const timer = ms === LOOK_MS ? this.simulation.look(this.process, over) : this.timer(ms, over);
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

/**
 * What does not take time and chance from its clock yet gets those of the world, which learns of errors that nobody
 * handles. Returns what ends that.
 */
export function takeOver(simulation: Simulation, seed: string): () => void {
  const chance = new Random(`${seed} chance`);
  const original = { randomUUID: crypto.randomUUID, randomInt: crypto.randomInt };
  const { gzip, gunzip } = zlib;
  AbortSignal.any = anyOf;
  Object.assign(crypto, { randomUUID: () => chance.uuid(), randomInt: (most: number) => chance.below(most) });
  // Threads would answer at any time.
  Object.assign(zlib, { gzip: atOnce(zlib.gzipSync), gunzip: atOnce(zlib.gunzipSync) });
  sliceBy(new ProcessClock(simulation, new Process('the thread', simulation), chance));
  const crash = (error: unknown): void => void (simulation.crash ??= error);
  process.on('uncaughtException', crash).on('unhandledRejection', crash);
  return () => {
    process.off('uncaughtException', crash).off('unhandledRejection', crash);
    sliceBy(SYSTEM_CLOCK);
    Object.assign(crypto, original);
    Object.assign(zlib, { gzip, gunzip });
  };
}

const atOnce =
  (work: (bytes: Buffer) => Buffer) =>
  (bytes: Buffer, done: (error: null, result: Buffer) => void): void =>
    done(null, work(bytes));

/** Node.js keeps combined signals for ever that nobody aborts, and with them worlds whose processes are killed. */
function anyOf(signals: Iterable<AbortSignal>): AbortSignal {
  const all = new AbortController();
  for (const signal of signals) {
    setMaxListeners(0, signal);
    if (signal.aborted) all.abort(signal.reason);
    else signal.addEventListener('abort', () => all.abort(signal.reason), { once: true });
  }
  return all.signal;
}

/** Adds to the story of a world; a text that is made for it alone is made if somebody listens. */
export type Say = (text: string | (() => string)) => void;

/** Between looks at whether something has happened (ms). */
const LOOK_MS = 1_000;
/** When nothing has happened for a while, they are later by so much, until something does (ms). */
const IDLE = { afterMs: 5_000, lateMs: 9_000 } as const;

const settled = globalThis.setImmediate;
/** Steps between rounds of the event loop. */
const ROUND = 16;
/**
 * What a world may use: most take 10,000 steps, those that wait for an hour up to 500,000, few calls of engines
 * in one of them, and 150 MB.
 */
const MOST = { steps: 600_000, calls: 20_000, looks: 500_000, heapBytes: 1.2 * 2 ** 30 } as const;
/** Steps between looks at the heap. */
const HEAP_LOOK = 1_024;

/** Time, and what happens at which time: one thing after the other, in an order drawn from the seed. */
export class Simulation {
  /** Ms since the beginning of the world. */
  now = 0;
  /** What has happened so far. */
  count = 0;
  /** Why a real process would have ended. */
  crash: unknown;
  /** All faults have ended: most looks would find nothing. */
  isCalm = false;
  private happenedAt = 0;
  private readonly lateLooks: Happening[] = [];
  /** What comes next is last. */
  private readonly agenda: Happening[] = [];
  private readonly ties: Random;
  private numbers = 0;
  /** Calls of engines in this step, and looks at clocks. */
  private calls = 0;
  private looked = 0;

  constructor(seed: string) {
    this.ties = new Random(`${seed} order`);
  }

  /** Without a process: it happens outside of all, in the network, in an engine. */
  after(ms: number, process: Process | undefined, run: () => void, isTimer = false): Timer {
    return timerOf(this.plan(ms, process, run, isTimer));
  }

  /** A timer between two looks at whether something has happened. */
  look(process: Process, run: () => void): Timer {
    if (!this.isIdle) return this.after(LOOK_MS, process, run, true);
    const look = this.plan(LOOK_MS + IDLE.lateMs, process, run, true);
    this.lateLooks.push(look);
    return timerOf(look);
  }

  get isIdle(): boolean {
    return this.isCalm && this.now - this.happenedAt > IDLE.afterMs;
  }

  /** Call it when something has happened that others look for. Returns the present. */
  happened(): number {
    this.happenedAt = this.now;
    const late = this.lateLooks.splice(0);
    for (const one of late) one.at = Math.max(this.now, one.at - IDLE.lateMs);
    if (late.length > 0) this.agenda.sort(lastFirst);
    return this.now;
  }

  /** Resolves in the process once the time has passed, without one in the network; never if it is killed. */
  pause(ms: number, process?: Process): Promise<void> {
    return new Promise((resolve) => this.after(ms, process, resolve));
  }

  /**
   * Call it with each call of an engine. False: so many were made without any time passing that there is a loop
   * without end, which an answer would only continue.
   */
  mayCall(engine: string, method: string): boolean {
    this.calls += 1;
    if (this.calls <= MOST.calls) return true;
    this.crash ??= brokenBy(
      BOUNDED,
      `${MOST.calls} calls while no time passed, the last of ${engine}.${method}`,
    );
    return false;
  }

  /** Call it with each look at a clock. Raises an error if there are so many in one step that it does not end. */
  looks(): void {
    this.looked += 1;
    if (this.looked <= MOST.looks) return;
    this.crash ??= brokenBy(BOUNDED, `${MOST.looks} looks at the clock while no time passed`);
    throw this.crash;
  }

  /** Lets things happen up to a time (ms). */
  async run(until: number): Promise<void> {
    while (this.crash === undefined) {
      const next = this.agenda.at(-1);
      if (next === undefined || next.at > until) {
        this.now = Math.max(this.now, until);
        return;
      }
      this.agenda.pop();
      if (next.isCancelled || next.process?.isKilled === true) continue;
      this.now = Math.max(this.now, next.at);
      if (next.process?.frozenAt !== undefined) {
        next.process.held.push(next);
        continue;
      }
      this.count += 1;
      [this.calls, this.looked] = [0, 0];
      try {
        this.requireBounds();
        next.run();
      } catch (error) {
        this.crash = error;
      }
      // All that follows at once are microtasks, which end before this. Nobody's rejections are reported in a round.
      await new Promise<void>((resolve) =>
        this.count % ROUND === 0 ? settled(resolve) : process.nextTick(resolve),
      );
    }
  }

  /** What a process would have done while it was frozen, it does now; what awaits time, by so much later. */
  thawed(process: Process, laterMs: number): void {
    for (const one of this.agenda) if (one.process === process && one.isTimer) one.at += laterMs;
    for (const one of process.held.splice(0)) {
      one.at = one.isTimer ? Math.max(this.now, one.at + laterMs) : this.now;
      this.agenda.push(one);
    }
    this.agenda.sort(lastFirst);
  }

  private requireBounds(): void {
    if (this.count > MOST.steps) throw brokenBy(BOUNDED, `no end after ${MOST.steps} steps`);
    if (this.count % HEAP_LOOK !== 0) return;
    const { used_heap_size: bytes } = getHeapStatistics();
    if (bytes > MOST.heapBytes)
      throw brokenBy(BOUNDED, `${Math.round(bytes / 2 ** 20)} MiB of memory are used`);
  }

  private plan(ms: number, process: Process | undefined, run: () => void, isTimer: boolean): Happening {
    this.numbers += 1;
    const [at, number] = [this.now + Math.max(0, ms), this.numbers];
    const one = { at, tie: this.ties.next(), number, process, isTimer, run, isCancelled: false };
    this.insert(one);
    return one;
  }

  private insert(one: Happening): void {
    let [low, high] = [0, this.agenda.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lastFirst(this.agenda[middle] as Happening, one) < 0) low = middle + 1;
      else high = middle;
    }
    this.agenda.splice(low, 0, one);
  }
}

function timerOf(one: Happening): Timer {
  const timer = { cancel: () => void (one.isCancelled = true), unref: () => timer };
  return timer;
}

function lastFirst(a: Happening, b: Happening): number {
  return b.at - a.at || b.tie - a.tie || b.number - a.number;
}
