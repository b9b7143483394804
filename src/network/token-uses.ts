import { positionOf } from '../kernel/event';
import { EngineUnavailable } from '../kernel/event-log';
import { type Clock, type Timer } from '../runtime/clock';
import { withEngineTimeout } from '../runtime/unavailable';
import { createUnlessLive, type CollectionSpec, NoGeneration, type ReadStore } from '../kernel/read-store';

/** One document per token: its id is the token's hash, its body the day. Not projected from the log. */
const COLLECTION: CollectionSpec = { name: 'token-uses', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };

const DAY_MS = 86_400_000;
/** How often new uses are written (ms). */
const FLUSH_MS = 60_000;
/** How long `close` waits for the store (ms). */
const CLOSE_MS = 1_000;

/** The last day (`2026-01-31`, UTC) on which each of these tokens was used, by hash; absent if never. */
export async function lastUses(
  store: ReadStore,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  try {
    const found = await store.get(TARGET, hashes);
    return new Map(found.map(({ id, body }) => [id, body]));
  } catch (error) {
    if (error instanceof NoGeneration) return new Map();
    throw error;
  }
}

/**
 * Remembers the day of each token's last use in the read store (`docs/decisions.md#x94`): requests only note it in
 * memory, and at most one write per token and day follows within a minute. While the store is unavailable, uses are
 * retained and written later.
 */
export class TokenUses {
  /** Day numbers by hash: not written yet, and written by this process. */
  private readonly pending = new Map<string, number>();
  private readonly written = new Map<string, number>();
  private writing: Promise<void> = Promise.resolve();
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    private readonly report: (failure: unknown) => void,
  ) {}

  start(): void {
    this.timer = this.clock.interval(FLUSH_MS, () => {
      this.flush().catch(this.report);
    });
    this.timer.unref();
  }

  note(tokenHash: string): void {
    const day = Math.floor(this.clock.wall() / DAY_MS);
    if (this.written.get(tokenHash) !== day) this.pending.set(tokenHash, day);
  }

  flush(): Promise<void> {
    this.writing = this.writing
      .then(() => this.write())
      .catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) this.report(error);
      });
    return this.writing;
  }

  /** Writes the rest and stops; does not wait long for a store that is unavailable. */
  async close(): Promise<void> {
    this.timer?.cancel();
    await withEngineTimeout(this.clock, 'the read store', this.flush(), CLOSE_MS).catch(() => undefined);
  }

  private async write(): Promise<void> {
    const uses = [...this.pending];
    if (uses.length === 0) return;
    await createUnlessLive(this.store, COLLECTION);
    // The day is the version too: a later day always wins, whichever process writes first.
    const writes = uses.map(([id, day]) => ({
      version: positionOf(day),
      put: { id, fields: {}, body: new Date(day * DAY_MS).toISOString().slice(0, 10) },
    }));
    await this.store.write(TARGET, writes);
    for (const [hash, day] of uses) {
      this.written.set(hash, day);
      if (this.pending.get(hash) === day) this.pending.delete(hash);
    }
  }
}
