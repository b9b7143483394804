import { setTimeout as pause } from 'node:timers/promises';
import { type Position, START } from '../kernel/event';
import { NoGeneration, type ReadStore, type Target } from '../kernel/read-store';
import { type Projection } from './projection';

/** How soon it looks again: a little later each time, since each look is a request where the store is a server. */
const POLL_MS = { least: 5, most: 50 } as const;

interface Waiter {
  readonly position: Position;
  readonly deadline: number;
  readonly resolve: (isShown: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits for positions to be shown: however many wait at a time, the store is looked at once for all of them. */
export class PositionWait {
  private readonly targets: readonly Target[];
  private readonly waiters = new Set<Waiter>();
  private isLooking = false;
  /** Begins the next look at once. */
  private hurry = new AbortController();

  constructor(
    private readonly store: ReadStore,
    projections: readonly Projection[],
  ) {
    this.targets = targetsOf(projections);
  }

  /**
   * Waits until queries over the projections show everything up to a position (`docs/decisions.md#a7`): false when
   * that takes longer.
   */
  until(position: Position, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiters.add({ position, deadline: performance.now() + timeoutMs, resolve, reject });
      // Each call makes an error with its stack, also where it was made before.
      if (this.isLooking && !this.hurry.signal.aborted) this.hurry.abort();
      if (!this.isLooking) void this.lookWhileWaited();
    });
  }

  private async lookWhileWaited(): Promise<void> {
    this.isLooking = true;
    for (let wait: number = POLL_MS.least; ; wait = Math.min(1.25 * wait, POLL_MS.most)) {
      await this.look([...this.waiters]);
      if (this.waiters.size === 0) break;
      if (await this.isHurried(wait)) wait = POLL_MS.least;
    }
    this.isLooking = false;
  }

  /** Pauses; those who come meanwhile wait no longer than they would have done alone. */
  private async isHurried(wait: number): Promise<boolean> {
    await pause(POLL_MS.least);
    const { signal } = this.hurry;
    if (wait > POLL_MS.least) await pause(wait - POLL_MS.least, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) this.hurry = new AbortController();
    return signal.aborted;
  }

  private async look(waiters: readonly Waiter[]): Promise<void> {
    try {
      const shown = await positionOf(this.store, this.targets);
      const reached = waiters.filter(({ position }) => shown !== undefined && shown >= position);
      if (reached.length > 0) await Promise.all(this.targets.map((target) => this.store.refresh(target)));
      for (const waiter of reached) if (this.waiters.delete(waiter)) waiter.resolve(true);
      const now = performance.now();
      const late = waiters.filter(({ deadline }) => now >= deadline);
      for (const waiter of late) if (this.waiters.delete(waiter)) waiter.resolve(false);
    } catch (error) {
      for (const waiter of waiters) if (this.waiters.delete(waiter)) waiter.reject(error);
    }
  }
}

/** How far all of the read models have come; undefined as long as one of them is not there. */
export async function shownPosition(
  store: ReadStore,
  projections: readonly Projection[],
): Promise<Position | undefined> {
  return await positionOf(store, targetsOf(projections));
}

/** Waits once, as `PositionWait` does. */
export function waitForPosition(
  store: ReadStore,
  projections: readonly Projection[],
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  return new PositionWait(store, projections).until(position, timeoutMs);
}

function targetsOf(projections: readonly Projection[]): readonly Target[] {
  return projections.map(({ collection }) => ({ collection: collection.name }));
}

/** The least of the checkpoints; undefined as long as one of the collections is not there. */
async function positionOf(store: ReadStore, targets: readonly Target[]): Promise<Position | undefined> {
  try {
    const checkpoints = await Promise.all(targets.map((target) => store.checkpoint(target)));
    return checkpoints.reduce((least, one) => (one < least ? one : least), checkpoints[0] ?? START);
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}
