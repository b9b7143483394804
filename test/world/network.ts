import { EngineUnavailable, type EventBatch } from '../../src/kernel/event-log';
import { newPromise } from '../../src/runtime/concurrency';
import { Random } from './random';
import { type Process, type Say, type Simulation } from './simulation';

/** What a process talks to. */
export type EngineName = 'log' | 'deliveries' | 'store' | 'leases';

/** What may become of a call. */
type Fate =
  | 'at once'
  | 'slow'
  /** The engine does not get it, or its answer gets lost: which of both, the caller cannot know. */
  | 'lost before it took effect'
  | 'lost after it took effect'
  /** The same, and the caller learns it after a long time only. */
  | 'never answered';

export type Faults = Record<
  Exclude<Fate, 'at once' | 'slow'> | 'subscription ended' | 'batch cut' | 'cut off',
  number
>;

/** How often calls fail (shares of all). */
export interface Weather {
  readonly slow: number;
  readonly lost: number;
  /** How long a subscription lasts on average (ms). */
  readonly subscriptionMs: number;
}

export const CALM: Weather = { slow: 0, lost: 0, subscriptionMs: Infinity };

/** After which time a client of an engine gives up (ms). */
export const PATIENCE_MS = { least: 1_000, most: 20_000 } as const;

/** How long a slow call is on its way at most, and its answer (ms). */
const SLOW_MS = 2_000;

/** What was wrong with a process, or between it and an engine. */
export interface Trouble {
  readonly process: string;
  /** `lost`: a single call; `set`: its clock, by which leases count, was set so that they are over. */
  readonly kind: 'killed' | 'stopped' | 'frozen' | 'cut' | 'lost' | 'set';
  readonly engine?: EngineName;
  readonly from: number;
  until: number;
}

/** What happens at a later call of a process, once that has taken effect, and before its answer arrives. */
interface Interruption {
  readonly engine: EngineName;
  readonly method: string;
  /** How many of these calls are made before. */
  readonly after: number;
  readonly happen: () => void;
}

/** What is between processes and engines: it delays, loses and cuts. */
export class Network {
  readonly faults: Faults = {
    'lost before it took effect': 0,
    'lost after it took effect': 0,
    'never answered': 0,
    'subscription ended': 0,
    'batch cut': 0,
    'cut off': 0,
  };
  weather = CALM;
  /**
   * How long each call of the read store takes at most on its way, and its answer (ms): as that of a server, or none.
   */
  storeMs = 0;
  readonly troubles: Trouble[] = [];
  /** Grows with each power failure: what was on its way then does not arrive. */
  epoch = 0;
  /** When the last call that is under way is answered, or fails (ms). */
  busyUntil = 0;
  /** Until when a process does not reach an engine, and whether it learns that at once. */
  private readonly cuts = new Map<string, { readonly until: number; readonly isRefused: boolean }>();
  private readonly interruptions = new Map<string, Interruption>();

  constructor(
    readonly simulation: Simulation,
    private readonly seed: string,
    readonly say: Say,
  ) {}

  /** Processes do not reach an engine for a time. `isRefused`: their calls fail at once. */
  cut(engine: EngineName, ms: number, processes: readonly string[], isRefused = false): void {
    for (const process of processes) {
      const { until } = this.trouble(process, 'cut', ms, engine);
      this.cuts.set(`${process} ${engine}`, { until, isRefused });
    }
  }

  /** Notes that something is wrong from now on, for a time. */
  trouble(process: string, kind: Trouble['kind'], ms: number, engine?: EngineName): Trouble {
    const from = this.simulation.now;
    const trouble = { process, kind, from, until: from + ms, ...(engine === undefined ? {} : { engine }) };
    this.troubles.push(trouble);
    return trouble;
  }

  heal(): void {
    this.cuts.clear();
    this.interruptions.clear();
  }

  interrupt(process: string, interruption: Interruption): void {
    this.interruptions.set(process, interruption);
  }

  /** What happens at this call of a process. */
  interruptionAt(process: string, engine: EngineName, method: string): Interruption['happen'] | undefined {
    const next = this.interruptions.get(process);
    if (next?.engine !== engine || next.method !== method) return undefined;
    this.interruptions.delete(process);
    if (next.after > 0) this.interruptions.set(process, { ...next, after: next.after - 1 });
    return next.after > 0 ? undefined : next.happen;
  }

  /** What is between a process and an engine, by both names, if it cannot be reached. */
  cutOf(line: string): { readonly isRefused: boolean } | undefined {
    const cut = this.cuts.get(line);
    return cut !== undefined && cut.until > this.simulation.now ? cut : undefined;
  }

  /** An engine as a process reaches it. `iterated`: the methods that return iterables. */
  reached<Engine extends object>(name: EngineName, process: Process, engine: Engine): Engine {
    const line = new Line(this, name, process, new Random(`${this.seed} ${process.name} ${name}`));
    const methods = new Map<string, unknown>();
    return new Proxy(engine, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function' || typeof property !== 'string') return method;
        const known = methods.get(property);
        if (known !== undefined) return known;
        const invoke = (sent: readonly unknown[]): unknown => Reflect.apply(method, target, sent);
        const reached = (...args: readonly unknown[]): unknown => line.invoke(property, args, invoke);
        methods.set(property, reached);
        return reached;
      },
    });
  }
}

const ITERATED: ReadonlySet<string> = new Set([
  'readStream',
  'readAll',
  'readAllBackwards',
  'snapshot',
  'scan',
]);

/** The way between one process and one engine. */
class Line {
  private readonly name: string;

  constructor(
    private readonly network: Network,
    private readonly engine: EngineName,
    private readonly process: Process,
    private readonly random: Random,
  ) {
    this.name = `${process.name} ${engine}`;
  }

  invoke(method: string, args: readonly unknown[], invoke: (args: readonly unknown[]) => unknown): unknown {
    // As sent: what the caller changes afterwards does not arrive.
    const sent = args.map((one) => (Array.isArray(one) ? [...(one as readonly unknown[])] : one));
    if (method === 'subscribe') return this.subscription(sent, invoke);
    if (ITERATED.has(method)) return this.iteration(method, this.cutBatches(method, sent), invoke);
    return this.call(method, () => invoke(sent) as Promise<unknown>);
  }

  private call<Answer>(method: string, work: () => Promise<Answer>): Promise<Answer> {
    if (!this.network.simulation.mayCall(this.engine, method)) return new Promise(() => undefined);
    const cut = this.network.cutOf(this.name);
    if (cut !== undefined) return this.cutOff(cut);
    const interrupt = this.network.interruptionAt(this.process.name, this.engine, method);
    const fate = interrupt === undefined ? this.fate() : 'slow';
    const { storeMs } = this.network;
    if (fate === 'at once' && storeMs > 0 && this.engine === 'store')
      return this.late('slow', method, work, storeMs);
    return fate === 'at once' ? work() : this.late(fate, method, work, SLOW_MS, interrupt);
  }

  private async cutOff({ isRefused }: { readonly isRefused: boolean }): Promise<never> {
    this.network.faults['cut off'] += 1;
    const ms = this.random.time(PATIENCE_MS.least, PATIENCE_MS.most);
    if (!isRefused) await this.underWay(ms, this.process);
    throw this.unavailable();
  }

  private async late<Answer>(
    fate: Exclude<Fate, 'at once'>,
    method: string,
    work: () => Promise<Answer>,
    mostMs: number,
    interrupt?: () => void,
  ): Promise<Answer> {
    const { simulation, faults } = this.network;
    const { random, process } = this;
    const { epoch } = this.network;
    const trouble = fate === 'slow' ? undefined : this.network.trouble(process.name, 'lost', 0, this.engine);
    if (fate !== 'slow') {
      faults[fate] += 1;
      this.network.say(() => `${this.engine}.${method} by ${process.name} is ${fate}`);
    }
    // On the way it belongs to no process: what was sent takes effect although the sender was killed.
    await this.underWay(random.time(1, mostMs));
    const takesEffect =
      fate === 'slow' ||
      fate === 'lost after it took effect' ||
      (fate === 'never answered' && random.chance(0.5));
    const isDone = takesEffect && epoch === this.network.epoch;
    const answer = isDone ? await outcomeOf(work) : undefined;
    const ms =
      fate === 'never answered'
        ? random.between(PATIENCE_MS.most, 3 * PATIENCE_MS.most)
        : random.time(1, mostMs);
    if (trouble !== undefined) trouble.until = simulation.now + ms;
    if (interrupt !== undefined) simulation.after(0, undefined, interrupt);
    await this.underWay(ms, process);
    if (answer === undefined || fate !== 'slow') throw this.unavailable();
    if ('error' in answer) throw answer.error;
    return answer.value;
  }

  private underWay(ms: number, process?: Process): Promise<void> {
    const { network } = this;
    network.busyUntil = Math.max(network.busyUntil, network.simulation.now + ms);
    return network.simulation.pause(ms, process);
  }

  private async *iteration(
    method: string,
    args: readonly unknown[],
    open: (args: readonly unknown[]) => unknown,
  ) {
    const batches = (open(args) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.call(method, () => batches.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** It may be late, and end at any time, with an error or without. */
  private async *subscription(sent: readonly unknown[], open: (args: readonly unknown[]) => unknown) {
    const { simulation, faults, weather } = this.network;
    const { random, process } = this;
    if (!simulation.mayCall(this.engine, 'subscribe')) await new Promise(() => undefined);
    if (this.network.cutOf(this.name)?.isRefused === true) throw this.unavailable();
    // What there is already may arrive bit by bit.
    const isGradual = random.chance(0.3);
    const args = isGradual ? [{ ...(sent[0] as object), batchSize: 2 }] : this.cutBatches('subscribe', sent);
    const [options] = args as [{ readonly signal?: AbortSignal }];
    const left = new AbortController();
    const signal =
      options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
    const batches = (open([{ ...options, signal }]) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const ended = newPromise();
    const ms =
      weather.subscriptionMs === Infinity ? undefined : -Math.log(1 - random.next()) * weather.subscriptionMs;
    const end = ms === undefined ? undefined : simulation.after(ms, process, ended.resolve);
    try {
      for (;;) {
        const next = await Promise.race([batches.next(), ended.promise]);
        if (typeof next === 'object' && next.done === true) return;
        const { caughtUp = true } = typeof next === 'object' ? (next.value as Partial<EventBatch>) : {};
        // What others have appended arrives here by itself.
        const isLate = random.chance(isGradual && !caughtUp ? 0.5 : 0.1);
        await simulation.pause(isLate ? random.time(1, 5_000) : 0, process);
        if (options.signal?.aborted === true) return;
        if (typeof next !== 'object' || this.network.cutOf(this.name) !== undefined) {
          faults['subscription ended'] += 1;
          if (random.chance(0.3)) return;
          throw this.unavailable();
        }
        yield next.value;
      }
    } finally {
      end?.cancel();
      left.abort();
    }
  }

  private cutBatches(method: string, args: readonly unknown[]): readonly unknown[] {
    const isBatched = method === 'subscribe' || method.startsWith('read');
    if (this.network.weather.lost === 0 || !isBatched || !this.random.chance(0.3)) return args;
    this.network.faults['batch cut'] += 1;
    const options = { ...(args.at(-1) as object), batchSize: this.random.between(1, 3) };
    return method === 'readStream'
      ? [args[0], typeof args[1] === 'object' ? options : { batchSize: 2 }]
      : [options];
  }

  private fate(): Fate {
    const { slow, lost } = this.network.weather;
    const drawn = this.random.next();
    if (drawn < lost * 0.45) return 'lost before it took effect';
    if (drawn < lost * 0.9) return 'lost after it took effect';
    if (drawn < lost) return 'never answered';
    return drawn < lost + slow ? 'slow' : 'at once';
  }

  private unavailable(): EngineUnavailable {
    return new EngineUnavailable(`${this.engine} does not answer`);
  }
}

async function outcomeOf<Answer>(
  work: () => Promise<Answer>,
): Promise<{ readonly value: Answer } | { readonly error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}
