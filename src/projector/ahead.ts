import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { type Clock } from '../runtime/clock';
import { crash } from '../runtime/failure-report';
import { liveGenerations, nameOf } from './generations';
import { listNotes, readNotesOf, removeNote, writeNote } from './notes';
import { type Projection, runsAhead } from './projection';
import { type ProjectionGroup } from './projection-group';

/** Interval for looking for what is waited for, while a group is behind (ms). */
const LOOK_MS = 250;
/** Events of a stream that are projected ahead at a time, at most: a stream with more is no small one. */
const MOST = 2_000;
/** Events that are applied between two looks, at least. */
const LEAST = 200;
/** How long a look may take before the next batch (ms). */
const MOST_MS = 250;

/**
 * Projects events of small streams that somebody waits for, ahead of the checkpoint of a group that is behind
 * (`docs/adr/0072-small-feeds-are-projected-ahead.md`). The ordinary pass applies them again, which changes nothing.
 */
export class AheadOfLoads {
  /** By stream: up to where its events are projected ahead, or what is waited for in one that is not small. */
  private readonly done = new Map<string, Position>();
  private readonly large = new Map<string, Position>();
  /**
   * The first change of the directory after the position of the group, once one is found; there
   * is none up to `unchanged`.
   */
  private change: Position = START;
  private unchanged: Position = START;
  private lookedAt = -Infinity;
  /** How long an event takes (ms), recently. */
  private pace = 0;

  /** `begin` is called with the last event before any of them is written. */
  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly begin: (last: RecordedEvent) => Promise<void>,
  ) {}

  /** Events that are applied between two looks, so that they are not far apart where applying is slow. */
  part(group: ProjectionGroup): number {
    return group.runsAhead ? Math.max(LEAST, Math.floor(LOOK_MS / this.pace)) : Infinity;
  }

  /** Applies so many events, and measures how long that takes. */
  async timed(events: number, apply: () => Promise<void>): Promise<void> {
    const began = this.clock.monotonic();
    await apply();
    if (events > 0) this.pace = (this.clock.monotonic() - began) / events;
  }

  /** Call it between batches of a group that is behind. */
  async look(group: ProjectionGroup): Promise<void> {
    if (!group.runsAhead || this.clock.monotonic() - this.lookedAt < LOOK_MS) return;
    const began = this.clock.monotonic();
    let isReached = false;
    for (const [stream, { position }] of await listNotes(this.store, 'awaited')) {
      if (this.clock.monotonic() - began >= MOST_MS) break;
      if (position <= group.position) {
        await this.forget(stream);
        isReached = true;
      } else if (position > (this.done.get(stream) ?? START) && position > (this.large.get(stream) ?? START))
        await this.project(group, stream, position);
    }
    // The checkpoints, which are not due yet, show it.
    if (isReached) await group.flush();
    this.lookedAt = this.clock.monotonic();
  }

  private async forget(stream: string): Promise<void> {
    this.done.delete(stream);
    this.large.delete(stream);
    await removeNote(this.store, 'ahead', stream);
    await removeNote(this.store, 'awaited', stream);
  }

  private async project(group: ProjectionGroup, stream: string, awaited: Position): Promise<void> {
    const { log, store } = this;
    const head = await log.head();
    const done = this.done.get(stream) ?? START;
    const after = done > group.position ? done : group.position;
    const events = await this.eventsAfter(stream, after);
    if (events === undefined) {
      this.large.set(stream, awaited);
      return;
    }
    const last = events.at(-1);
    const to = last !== undefined && last.position > head ? last.position : head;
    // Documents are described with the directory as of the position of the group.
    if (await this.changesDirectory(group, to)) return;
    if (last !== undefined) await this.begin(last);
    const generations = (await group.applyAhead(events)).map(nameOf);
    this.done.set(stream, to);
    await writeNote(store, 'ahead', stream, { to, generations });
  }

  /** In order; undefined if they are too many. */
  private async eventsAfter(
    stream: string,
    position: Position,
  ): Promise<readonly RecordedEvent[] | undefined> {
    const found: RecordedEvent[] = [];
    for await (const events of this.log.readStream(stream, { backwards: true, limit: MOST + 1 }))
      for (const event of events) {
        if (event.position <= position) return found.reverse();
        if (found.length === MOST) return undefined;
        found.push(event);
      }
    return found.reverse();
  }

  /**
   * Whether an event after the position of the group changes its directory. Reads each event once,
   * however often it is asked.
   */
  private async changesDirectory(group: ProjectionGroup, upTo: Position): Promise<boolean> {
    const { position, directoryPrefixes: prefixes } = group;
    if (prefixes.length === 0) return false;
    if (this.change > position) return this.change <= upTo;
    const after = this.unchanged > position ? this.unchanged : position;
    if (after >= upTo) return false;
    for await (const batch of this.log.readAll({ after, prefixes, batchSize: 1 })) {
      const [change] = batch.events;
      if (change !== undefined) {
        this.change = change.position;
        return change.position <= upTo;
      }
      this.unchanged = batch.position;
      if (batch.position >= upTo) return false;
    }
    return true;
  }
}

/** After how long somebody who waits asks for a stream to be projected ahead, and how often all of them look (ms). */
const ASK_AFTER_MS = 300;
const POLL_MS = 100;
/** Streams that a process asks for at once, at most: others wait for the checkpoints. */
const MOST_STREAMS = 32;

interface AheadWaiter {
  readonly stream: string;
  readonly position: Position;
  readonly since: number;
  readonly resolve: (isVisible: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits until events of streams are visible, ahead of the checkpoints if need be. All who wait share their looks. */
export class AheadWait {
  private readonly projections: readonly Projection[];
  private readonly waiters = new Set<AheadWaiter>();
  private isPolling = false;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    projections: readonly Projection[],
  ) {
    this.projections = projections.filter(runsAhead);
  }

  /**
   * Resolves to true as soon as the events of a stream up to a position are visible ahead of the checkpoints, otherwise
   * as `shown`, the wait for these.
   */
  async orShown(shown: Promise<boolean>, stream: string, position: Position): Promise<boolean> {
    let waiter: AheadWaiter | undefined;
    const ahead = new Promise<boolean>((resolve, reject) => {
      waiter = { stream, position, since: this.clock.monotonic(), resolve, reject };
      this.waiters.add(waiter);
    }).then((isVisible) => isVisible || shown);
    if (!this.isPolling) this.poll().catch(crash);
    // The other one may have ended the wait.
    for (const waiting of [shown, ahead]) waiting.catch(() => undefined);
    try {
      return await Promise.race([shown, ahead]);
    } finally {
      if (waiter !== undefined) this.waiters.delete(waiter);
    }
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiters.size > 0) {
      await this.clock.pause(POLL_MS);
      const now = this.clock.monotonic();
      const due = [...this.waiters].filter(({ since }) => now - since >= ASK_AFTER_MS);
      if (due.length > 0)
        await this.look(due).catch((error: unknown) => {
          for (const { reject } of due) reject(error);
        });
    }
    this.isPolling = false;
  }

  private async look(due: readonly AheadWaiter[]): Promise<void> {
    const streams = [...new Set(due.map(({ stream }) => stream))].slice(0, MOST_STREAMS);
    const [head, notes] = await Promise.all([
      this.log.head(),
      readNotesOf(this.store, ['awaited', 'ahead'], streams),
    ]);
    const [ahead, awaited] = [notes('ahead'), notes('awaited')];
    for (const stream of streams) {
      const waiting = due.filter((one) => one.stream === stream);
      const { to = START, generations = [] } = ahead.get(stream) ?? {};
      const reached = waiting.filter(({ position }) => position <= to);
      const isShown = reached.length > 0 && (await this.show(generations));
      if (isShown) for (const { resolve } of reached) resolve(true);
      // Nobody projects what has not happened.
      const left = waiting.filter((one) => one.position <= head && !(isShown && reached.includes(one)));
      const position = left.map((one) => one.position).reduce((a, b) => (a > b ? a : b), START);
      if (position > (awaited.get(stream)?.position ?? START))
        await writeNote(this.store, 'awaited', stream, { position });
    }
  }

  /** Shows what is written, if these are the generations that are read. */
  private async show(names: readonly string[]): Promise<boolean> {
    const live = await liveGenerations(this.store, this.projections);
    if (!live.every((one) => one !== undefined && names.includes(nameOf(one)))) return false;
    for (const { collection } of this.projections) await this.store.refresh({ collection: collection.name });
    return true;
  }
}
