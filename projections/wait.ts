import { setTimeout as pause } from 'node:timers/promises';
import { type Position } from '../src/kernel/event';
import { NoGeneration, type ReadStore, type Target } from '../src/kernel/read-store';
import { type Projection } from './projection';

/** How soon it looks again: a little later each time, since each look is a request where the store is a server. */
const POLL_MS = { least: 5, most: 50 } as const;

/**
 * Waits until queries over these projections show everything up to a position (`docs/decisions.md#a7`): false when
 * that takes longer.
 */
export async function waitForPosition(
  store: ReadStore,
  projections: readonly Projection[],
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  const targets = projections.map(({ collection }) => ({ collection: collection.name }));
  const deadline = performance.now() + timeoutMs;
  for (let wait: number = POLL_MS.least; ; wait = Math.min(1.25 * wait, POLL_MS.most)) {
    const checkpoints = await Promise.all(targets.map((target) => checkpointOf(store, target)));
    if (checkpoints.every((checkpoint) => checkpoint !== undefined && checkpoint >= position)) {
      await Promise.all(targets.map((target) => store.refresh(target)));
      return true;
    }
    if (performance.now() >= deadline) return false;
    await pause(wait);
  }
}

/** Undefined as long as nothing has been projected. */
async function checkpointOf(store: ReadStore, target: Target): Promise<Position | undefined> {
  try {
    return await store.checkpoint(target);
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}
