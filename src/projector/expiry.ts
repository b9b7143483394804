import { type Clock, ClockGuard } from '../runtime/clock';
import { type Found } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { type GenerationProjector } from './generation-projector';
import { type Projection } from './projection';

/** How long the events of a log that expires, and the documents projected from them, are kept. */
export interface ExpiryParts {
  readonly keepMs: number;
  /** Nothing is deleted for so long after the start (ms; default 0). */
  readonly delayMs?: number;
  /** Deletes what was appended to the log before a time. */
  readonly expireLog: (before: Date) => Promise<void>;
}

const INTERVAL_MS = 60 * 60 * 1000;
/** After a failure. */
const RETRY_MS = 60 * 1000;

/** Documents removed at a time. */
const PAGE = 500;

/** Deletes hourly what is older than it is kept: in the log, and in its read models. Run by the projector. */
export class Expiry {
  private next: number;
  private readonly guard: ClockGuard;

  /** `warn` receives a message when the clock is not trusted, and when it is trusted again. */
  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    private readonly parts: ExpiryParts,
    warn: (message: string) => void,
  ) {
    this.next = clock.wall() + (parts.delayMs ?? 0);
    this.guard = new ClockGuard(clock, 'deletions of old messages', warn);
  }

  /**
   * Does nothing within an hour of the last time, or while the clock is not trusted (`docs/decisions.md#n8`). `signal`
   * ends it between two pages.
   */
  async expire(projectors: readonly GenerationProjector[], signal: AbortSignal): Promise<void> {
    const now = this.guard.now();
    if (now === undefined) return;
    // Further ahead than that only after the clock was set back.
    if (now < this.next && this.next <= now + INTERVAL_MS) return;
    this.next = now + RETRY_MS;
    const before = now - this.parts.keepMs;
    await this.parts.expireLog(new Date(before));
    for (const projector of projectors)
      await this.removeOld(projector, before, signal).catch((error: unknown) => {
        // One that was dropped has nothing left.
        if (!(error instanceof NoGeneration)) throw error;
      });
    this.next = now + INTERVAL_MS;
  }

  /**
   * A removal has the version of the checkpoint: events up to there are folded, so none of their documents is written
   * over it. It is forgotten: what an older write restores, such as one of a projector that has lost its lease, has
   * expired, and is removed the next time.
   */
  private async removeOld(
    { projection, target, checkpoint }: GenerationProjector,
    before: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { expires } = projection;
    if (expires === undefined) return;
    await this.store.refresh(target);
    for (let found: readonly Found[] | undefined; found?.length !== 0 && !signal.aborted;) {
      ({ found } = await this.store.search(target, {
        filter: { field: expires.field, max: before - 1 },
        order: [{ field: expires.field }],
        offset: 0,
        size: PAGE,
      }));
      const removals = found
        .filter(({ version }) => version <= checkpoint)
        .map(({ id }) => ({ version: checkpoint, remove: id, forget: true }) as const);
      if (removals.length === 0) return;
      await this.store.write(target, removals);
      await this.store.refresh(target);
      await this.clock.yield();
    }
  }
}

/** Whether a document may be missing from a read model because it is older than it is kept. */
export function isExpired({ expires }: Projection, body: string, before: number): boolean {
  return expires !== undefined && expires.at(JSON.parse(body) as object) < before;
}
