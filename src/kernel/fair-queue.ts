/** What a `FairQueue` allows. */
export interface FairLimits {
  /** Tasks that run at once. */
  readonly atOnce: number;
  /** Of these, most for one client. */
  readonly perClient: number;
  /** Of those that run at once, so many start only for clients that have none running; by default none. */
  readonly reserved?: number;
  /** Tasks that may wait, and of these most for one client; by default any number. */
  readonly waiting?: number;
  readonly waitingPerClient?: number;
}

/** Too many tasks are waiting already. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

interface Task {
  readonly start: () => void;
}

/**
 * Runs a bounded number of tasks at once. Clients take turns (round-robin), however many tasks each of them has
 * waiting, so that no client starves the others.
 */
export class FairQueue {
  private running = 0;
  private waitingTasks = 0;
  private readonly runningOf = new Map<string, number>();
  /** Tasks by client; the client whose turn is next comes first. */
  private readonly waitingOf = new Map<string, Set<Task>>();

  constructor(private readonly limits: FairLimits) {}

  /**
   * Runs `work` when it is its turn. Raises `QueueFull`, or the reason of `signal` if that is aborted before `work`
   * has started.
   */
  async run<Result>(client: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (!this.isFree(client)) await this.waitFor(client, signal);
    else this.take(client);
    try {
      return await work();
    } finally {
      this.release(client);
    }
  }

  private isFree(client: string): boolean {
    const { atOnce, perClient, reserved = 0 } = this.limits;
    const own = this.runningOf.get(client) ?? 0;
    return this.running < (own === 0 ? atOnce : atOnce - reserved) && own < perClient;
  }

  private take(client: string): void {
    this.running += 1;
    this.runningOf.set(client, (this.runningOf.get(client) ?? 0) + 1);
  }

  private release(client: string): void {
    this.running -= 1;
    const left = (this.runningOf.get(client) ?? 1) - 1;
    if (left === 0) this.runningOf.delete(client);
    else this.runningOf.set(client, left);
    // More than one: the client may have become one that has none running.
    while (this.startNext());
  }

  private async waitFor(client: string, signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Infinity, waitingPerClient = Infinity } = this.limits;
    const tasks = this.waitingOf.get(client) ?? new Set();
    if (this.waitingTasks >= waiting || tasks.size >= waitingPerClient)
      throw new QueueFull('the queue is full');
    this.waitingOf.set(client, tasks);
    this.waitingTasks += 1;
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.remove(client, task);
        reject(signal?.reason as Error);
      };
      const task: Task = {
        start: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
      };
      tasks.add(task);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private remove(client: string, task: Task): void {
    const tasks = this.waitingOf.get(client);
    if (tasks?.delete(task) !== true) return;
    this.waitingTasks -= 1;
    if (tasks.size === 0) this.waitingOf.delete(client);
  }

  /** Starts the next task that may run; false if there is none. */
  private startNext(): boolean {
    for (const [client, tasks] of this.waitingOf) {
      const [task] = tasks;
      if (task === undefined || !this.isFree(client)) continue;
      this.remove(client, task);
      // Behind all others that wait.
      if (this.waitingOf.delete(client)) this.waitingOf.set(client, tasks);
      this.take(client);
      task.start();
      return true;
    }
    return false;
  }
}
