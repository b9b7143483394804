import { NamedError } from '../kernel/fault';

/**
 * The limits of a `FairQueue`. A task has weight 1 by default, and starts while less than the limits is
 * running.
 */
interface FairLimits {
  /** Weight of the tasks that run at once. */
  readonly atOnce: number;
  /** The same of a client, which may depend on it: asked when a task arrives or ends. */
  readonly perClient: number | ((client: string) => number);
  /** Slots reserved for clients that have no task running; by default none. */
  readonly reserved?: number;
  /** Maximum waiting tasks; by default unlimited. */
  readonly waiting?: number;
  /** Maximum waiting tasks per client; by default unlimited. */
  readonly waitingPerClient?: number;
}

/** The maximum of waiting tasks is reached. */
export class QueueFull extends NamedError {}

interface TaskOptions {
  readonly signal?: AbortSignal | undefined;
  /** The last task that starts may exceed the limits by its weight: so light ones cannot keep a heavy one waiting. */
  readonly weight?: number;
}

interface Task {
  readonly weight: number;
  readonly start: () => void;
}

/**
 * Runs tasks of a bounded weight at once. Waiting tasks start round-robin by client, so that no client starves the
 * others, however many tasks it queues.
 */
export class FairQueue {
  private running = 0;
  private waitingTasks = 0;
  private readonly runningOf = new Map<string, number>();
  /** Waiting tasks by client, in round-robin order: the next client comes first. */
  private readonly waitingOf = new Map<string, Set<Task>>();

  constructor(private readonly limits: FairLimits) {}

  /**
   * Runs `work` once a slot is free. Raises `QueueFull`, or the reason of `signal` if it is aborted before `work`
   * starts.
   */
  async run<Result>(
    client: string,
    work: () => Promise<Result>,
    { signal, weight = 1 }: TaskOptions = {},
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (!this.hasSlot(client)) await this.waitFor(client, weight, signal);
    else this.occupy(client, weight);
    try {
      return await work();
    } finally {
      this.release(client, weight);
    }
  }

  /** Whether a task of this client would start at once. */
  hasSlot(client: string): boolean {
    const { atOnce, perClient, reserved = 0 } = this.limits;
    const own = this.runningOf.get(client) ?? 0;
    if (this.running >= (own === 0 ? atOnce : atOnce - reserved)) return false;
    return own < (typeof perClient === 'number' ? perClient : perClient(client));
  }

  private occupy(client: string, weight: number): void {
    this.running += weight;
    this.runningOf.set(client, (this.runningOf.get(client) ?? 0) + weight);
  }

  private release(client: string, weight: number): void {
    this.running -= weight;
    const left = (this.runningOf.get(client) ?? weight) - weight;
    if (left === 0) this.runningOf.delete(client);
    else this.runningOf.set(client, left);
    // Possibly several: the client may now be eligible for a reserved slot.
    while (this.startNext());
  }

  private async waitFor(client: string, weight: number, signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Infinity, waitingPerClient = Infinity } = this.limits;
    const tasks = this.waitingOf.get(client) ?? new Set();
    if (this.waitingTasks >= waiting || tasks.size >= waitingPerClient)
      throw new QueueFull('the queue is full');
    this.waitingOf.set(client, tasks);
    this.waitingTasks += 1;
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.remove(client, task);
        reject(signal?.reason as Error);
      };
      const task: Task = {
        weight,
        start: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      tasks.add(task);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  private remove(client: string, task: Task): void {
    const tasks = this.waitingOf.get(client);
    if (tasks?.delete(task) !== true) return;
    this.waitingTasks -= 1;
    if (tasks.size === 0) this.waitingOf.delete(client);
  }

  /** Starts the next eligible task; false if there is none. */
  private startNext(): boolean {
    if (this.running >= this.limits.atOnce) return false;
    for (const [client, tasks] of this.waitingOf) {
      const [task] = tasks;
      if (task === undefined || !this.hasSlot(client)) continue;
      this.remove(client, task);
      // Move the client to the end of the round.
      if (this.waitingOf.delete(client)) this.waitingOf.set(client, tasks);
      this.occupy(client, task.weight);
      task.start();
      return true;
    }
    return false;
  }
}

/**
 * An amount that clients share: memory, disk space. A client may use as much as stays free, so one alone has at most
 * half of it, two a third each; whatever some clients use, a part is left for another one.
 */
export class FairBudget {
  private used = 0;
  private readonly byClient = new Map<string, number>();

  constructor(readonly total: number) {}

  /** As much as one client can ever use. */
  get most(): number {
    return Math.floor(this.total / 2);
  }

  usedBy(client: string): number {
    return this.byClient.get(client) ?? 0;
  }

  /** Takes an amount, or nothing of it: false if that is more than this client may use now. */
  take(client: string, amount: number): boolean {
    if (!this.hasRoom(client, amount)) return false;
    this.add(client, amount);
    return true;
  }

  /** Whether this client may take an amount, if others give back as much as `freed` first. */
  hasRoom(client: string, amount: number, freed = 0): boolean {
    return amount <= 0 || this.usedBy(client) + amount <= this.total - this.used + freed - amount;
  }

  /**
   * Takes an amount, or nothing of it, of all that is free: leave it to one client at a time, and give it back when
   * others need it.
   */
  takeFree(client: string, amount: number): boolean {
    if (amount > this.total - this.used) return false;
    this.add(client, amount);
    return true;
  }

  give(client: string, amount: number): void {
    this.add(client, -amount);
  }

  private add(client: string, amount: number): void {
    const own = this.usedBy(client) + amount;
    this.used += amount;
    if (own === 0) this.byClient.delete(client);
    else this.byClient.set(client, own);
  }
}
