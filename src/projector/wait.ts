import { type Position, START } from '../kernel/event';
import { type Generation, NoGeneration, type ReadStore, type Target, targetOf } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { nameOf } from './generations';
import { pausedAmong } from './notes';
import { type Projection } from './projection';

/** Generations that have everything up to a position. */
export interface Moved {
  readonly to: Position;
  readonly generations: readonly Generation[];
}

/** Polling intervals (ms), which grow: each poll is a request when the store is a server. */
const POLL_MS = { min: 5, max: 200 } as const;

/** After all positions. */
const END: Position = '9'.repeat(START.length);

/** How long what is known of paused read models is good for (ms). */
const PAUSED_MS = 1_000;

interface PositionWaiter {
  readonly position: Position;
  readonly deadline: number;
  readonly resolve: (isVisible: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits until positions are visible to queries. All concurrent waiters share one poll of the store. */
export class PositionWait {
  private readonly position: PositionOf;
  private readonly waiters = new Set<PositionWaiter>();
  private isPolling = false;
  /** Whether a waiter has arrived since the last look at all. */
  private hasNew = false;
  /** The read models that are paused, and when they were looked up (monotonic ms). */
  private paused: { readonly names: ReadonlySet<string>; readonly at: number } | undefined;
  /** Shortens the pause before the next poll, or ends it. */
  private hurry: () => void = () => undefined;
  private wake: () => void = () => undefined;
  /** Up to where generations can be read, as they have announced it, by collection. */
  private readonly reached = new Map<string, { readonly generation: Generation; readonly to: Position }>();
  /** Whether they have announced anything since the last look. */
  private hasMoved = false;

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
    projections: readonly Projection[],
  ) {
    this.position = new PositionOf(store, projections);
  }

  /**
   * Waits until queries see everything up to a position (`docs/decisions.md#a7`). Resolves to false after the timeout,
   * and if a read model that is paused is behind: once the others show it.
   */
  until(position: Position, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiters.add({ position, deadline: this.clock.monotonic() + timeoutMs, resolve, reject });
      if (!this.hasNew) this.hurry();
      this.hasNew = true;
      if (!this.isPolling) this.poll().catch((error: unknown) => this.fail([...this.waiters], error));
    });
  }

  /** Read models have moved: who waits for their position looks at once. Without being told, it is polled. */
  moved({ to, generations }: Moved): void {
    for (const generation of generations) this.reached.set(generation.collection, { generation, to });
    const { announcedTo } = this;
    if (!Array.from(this.waiters).some(({ position }) => position <= announcedTo)) return;
    this.hasMoved = true;
    this.wake();
  }

  /** Up to where all read models can be read, as they have announced it. */
  private get announcedTo(): Position {
    const { names } = this.position;
    return names.map((name) => this.reached.get(name)?.to ?? START).reduce((a, b) => (a < b ? a : b), END);
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    try {
      for (let wait: number = POLL_MS.min, isFirst = true; ; isFirst = false) {
        this.hasNew = this.hasMoved = false;
        if (!isFirst || !this.isToBeAnnounced()) await this.check([...this.waiters]);
        if (this.waiters.size === 0) break;
        if (!this.seen().hasMoved) await this.pause(wait);
        wait = this.seen().hasNew ? POLL_MS.min : Math.min(1.25 * wait, POLL_MS.max);
      }
    } finally {
      this.isPolling = false;
    }
  }

  /**
   * Somebody announces where read models move to, and has not announced what is waited for: a look would be in vain.
   */
  private isToBeAnnounced(): boolean {
    const { announcedTo: to, waiters } = this;
    return to !== START && [...waiters].every(({ position }) => position > to);
  }

  /** What has happened since the last look. */
  private seen(): { readonly hasNew: boolean; readonly hasMoved: boolean } {
    return { hasNew: this.hasNew, hasMoved: this.hasMoved };
  }

  /** Pauses, but only for the shortest interval once a new waiter has arrived, and not beyond the time of any. */
  private pause(ms: number): Promise<void> {
    const { clock } = this;
    const began = clock.monotonic();
    const left = Math.min(...Array.from(this.waiters, ({ deadline }) => deadline)) - began;
    const usual = Math.max(POLL_MS.min, Math.min(ms, left));
    return new Promise((resolve) => {
      const end = (): void => {
        this.hurry = this.wake = () => undefined;
        timer.cancel();
        resolve();
      };
      let timer = clock.timer(this.hasNew ? POLL_MS.min : usual, end);
      this.wake = end;
      this.hurry = () => {
        timer.cancel();
        timer = clock.timer(Math.max(0, began + POLL_MS.min - clock.monotonic()), end);
      };
    });
  }

  private async check(waiters: readonly PositionWaiter[]): Promise<void> {
    try {
      const least = waiters.map(({ position }) => position).reduce((a, b) => (a < b ? a : b));
      const announced = await this.announced(least);
      const visible = announced ?? (await this.position.read(least));
      const reached = waiters.filter(({ position }) => visible !== undefined && visible >= position);
      if (announced === undefined && visible !== undefined && reached.length > 0)
        await this.position.refresh(visible);
      for (const waiter of reached) if (this.waiters.delete(waiter)) waiter.resolve(true);
      const unpaused = reached.length < waiters.length ? await this.unpaused() : undefined;
      const shown = waiters.filter(({ position }) => unpaused !== undefined && unpaused >= position);
      if (unpaused !== undefined && shown.length > reached.length) await this.position.refresh(unpaused);
      const now = this.clock.monotonic();
      const expired = waiters.filter((waiter) => now >= waiter.deadline || shown.includes(waiter));
      for (const waiter of expired) if (this.waiters.delete(waiter)) waiter.resolve(false);
    } catch (error) {
      this.fail(waiters, error);
    }
  }

  /**
   * Where read models have moved to, and shows that, if they are still those that are read: one look in place of one at
   * each of them. Undefined: that is before `least`, or some are not among them.
   */
  private async announced(least: Position): Promise<Position | undefined> {
    const { announcedTo: to, position, reached, store } = this;
    if (to === START || to < least) return undefined;
    const { names } = position;
    const moved = names.flatMap((name) => reached.get(name)?.generation ?? []);
    const [all, areShown] = await Promise.all([store.generations(...names), this.show(moved, to)]);
    const live = all.filter(({ state }) => state === 'live');
    const own = new Set(moved.map(nameOf));
    const areAll = live.length === names.length && live.every((one) => own.has(nameOf(one)));
    return areShown && areAll ? to : undefined;
  }

  /** False if one of them was dropped. */
  private async show(generations: readonly Generation[], upTo: Position): Promise<boolean> {
    try {
      await Promise.all(generations.map((generation) => this.store.refresh(targetOf(generation), upTo)));
      return true;
    } catch (error) {
      if (error instanceof NoGeneration) return false;
      throw error;
    }
  }

  /**
   * Up to where all read models are visible that are not paused; undefined unless the one that is behind is paused.
   * What is paused is looked up at most once a second.
   */
  private async unpaused(): Promise<Position | undefined> {
    const now = this.clock.monotonic();
    if (this.paused === undefined || now - this.paused.at >= PAUSED_MS)
      this.paused = { names: await pausedAmong(this.store, this.position.names), at: now };
    const { slowest } = this.position;
    if (slowest === undefined || !this.paused.names.has(slowest)) return undefined;
    return await this.position.readWithout(this.paused.names);
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
  return await new PositionOf(store, projections).read();
}

/** Those that no operator has paused. */
export async function unpausedOf(
  store: ReadStore,
  projections: readonly Projection[],
): Promise<readonly Projection[]> {
  const paused = await pausedAmong(
    store,
    projections.map(({ collection }) => collection.name),
  );
  return projections.filter(({ collection }) => !paused.has(collection.name));
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

/** The lowest checkpoint of some collections. */
class PositionOf {
  private readonly targets: readonly Target[];
  /** The collection that was behind the others when they were last read. */
  private last = 0;

  constructor(
    private readonly store: ReadStore,
    projections: readonly Projection[],
  ) {
    this.targets = projections.map(({ collection }) => ({ collection: collection.name }));
  }

  get names(): readonly string[] {
    return this.targets.map(({ collection }) => collection);
  }

  /** The collection that was behind the others when they were last read. */
  get slowest(): string | undefined {
    return this.targets[this.last]?.collection;
  }

  /**
   * Undefined while one of the collections does not exist. If the one that was last is still behind `least`, the others
   * are not read: each is a request when the store is a server.
   */
  async read(least = START): Promise<Position | undefined> {
    try {
      const last = this.targets[this.last];
      const position = last === undefined ? START : await this.store.checkpoint(last);
      if (position < least) return position;
      const all = await Promise.all(
        this.targets.map(async (target) =>
          target === last ? position : await this.store.checkpoint(target),
        ),
      );
      const lowest = all.reduce((a, b) => (b < a ? b : a), position);
      this.last = Math.max(0, all.indexOf(lowest));
      return lowest;
    } catch (error) {
      if (error instanceof NoGeneration) return undefined;
      throw error;
    }
  }

  /** The lowest checkpoint of the others; if there are none, the end of any log. */
  async readWithout(names: ReadonlySet<string>): Promise<Position | undefined> {
    const others = this.targets.filter(({ collection }) => !names.has(collection));
    try {
      const all = await Promise.all(others.map((target) => this.store.checkpoint(target)));
      return all.reduce((a, b) => (b < a ? b : a), END);
    } catch (error) {
      if (error instanceof NoGeneration) return undefined;
      throw error;
    }
  }

  async refresh(upTo: Position): Promise<void> {
    await Promise.all(this.targets.map((target) => this.store.refresh(target, upTo)));
  }
}
