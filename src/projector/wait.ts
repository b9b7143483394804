import { type Position, START } from '../kernel/event';
import { NoGeneration, type ReadStore, type Target } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { type Projection } from './projection';

/** Polling intervals, which grow: each poll is a request when the store is a server. */
const POLL_MS = { min: 5, max: 50 } as const;

interface PositionWaiter {
  readonly position: Position;
  readonly deadline: number;
  readonly resolve: (isVisible: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits until positions are visible to queries. All concurrent waiters share one poll of the store. */
export class PositionWait {
  private readonly targets: readonly Target[];
  private readonly waiters = new Set<PositionWaiter>();
  private isPolling = false;
  /** Aborts the pause before the next poll. */
  private wakeUp = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    projections: readonly Projection[],
  ) {
    this.targets = targetsOf(projections);
  }

  /**
   * Waits until queries see everything up to a position (`docs/decisions.md#a7`). Resolves to false after the timeout.
   */
  until(position: Position, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiters.add({ position, deadline: this.clock.monotonic() + timeoutMs, resolve, reject });
      // Check `aborted` first: each `abort()` creates an error with a stack trace.
      if (this.isPolling && !this.wakeUp.signal.aborted) this.wakeUp.abort();
      if (!this.isPolling) this.poll().catch((error: unknown) => this.fail([...this.waiters], error));
    });
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    try {
      for (let wait: number = POLL_MS.min; ; wait = Math.min(1.25 * wait, POLL_MS.max)) {
        await this.check([...this.waiters]);
        if (this.waiters.size === 0) break;
        if (await this.isWoken(wait)) wait = POLL_MS.min;
      }
    } finally {
      this.isPolling = false;
    }
  }

  /** Pauses, but no longer than the shortest interval when a new waiter arrives; true if one has. */
  private async isWoken(wait: number): Promise<boolean> {
    await this.clock.pause(POLL_MS.min);
    const { signal } = this.wakeUp;
    if (wait > POLL_MS.min) await this.clock.pause(wait - POLL_MS.min, signal).catch(() => undefined);
    if (signal.aborted) this.wakeUp = new AbortController();
    return signal.aborted;
  }

  private async check(waiters: readonly PositionWaiter[]): Promise<void> {
    try {
      const visible = await positionOf(this.store, this.targets);
      const reached = waiters.filter(({ position }) => visible !== undefined && visible >= position);
      if (reached.length > 0) await Promise.all(this.targets.map((target) => this.store.refresh(target)));
      for (const waiter of reached) if (this.waiters.delete(waiter)) waiter.resolve(true);
      const now = this.clock.monotonic();
      const expired = waiters.filter(({ deadline }) => now >= deadline);
      for (const waiter of expired) if (this.waiters.delete(waiter)) waiter.resolve(false);
    } catch (error) {
      this.fail(waiters, error);
    }
  }

  private fail(waiters: readonly PositionWaiter[], error: unknown): void {
    for (const waiter of waiters) if (this.waiters.delete(waiter)) waiter.reject(error);
  }
}

/** The position up to which all read models are visible; undefined while one of them does not exist. */
export async function visiblePosition(
  store: ReadStore,
  projections: readonly Projection[],
): Promise<Position | undefined> {
  return await positionOf(store, targetsOf(projections));
}

/** Waits for a single position; see `PositionWait.until`. */
export function waitForPosition(
  clock: Clock,
  store: ReadStore,
  projections: readonly Projection[],
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  return new PositionWait(clock, store, projections).until(position, timeoutMs);
}

function targetsOf(projections: readonly Projection[]): readonly Target[] {
  return projections.map(({ collection }) => ({ collection: collection.name }));
}

/** The lowest checkpoint; undefined while one of the collections does not exist. */
async function positionOf(store: ReadStore, targets: readonly Target[]): Promise<Position | undefined> {
  try {
    const checkpoints = await Promise.all(targets.map((target) => store.checkpoint(target)));
    return checkpoints.reduce((lowest, one) => (one < lowest ? one : lowest), checkpoints[0] ?? START);
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}
