import { type Clock } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { DamagedLog, EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { MATCHED } from '../../domain/deliveries/delivery-events';
import { partitionOf } from '../../domain/subscriptions/receiver-id';
import { receiverIn, takeMatched } from './partition-state';
import { type OwnedPartition } from './owned-partition';

type Partitions = ReadonlyMap<number, OwnedPartition>;

export interface MatchedCallbacks {
  /** A partition has taken an event for a receiver; without an event: messages that it had left for later. */
  readonly taken: (partition: OwnedPartition, receiver: string, event?: RecordedEvent) => void;
  /** After each batch. */
  readonly batch: () => void;
}

const BACKOFF = { first: 50, longest: 5_000 } as const;

/** Events that are read at once, between which messages are sent. */
const BATCH = 250;

/** Messages of a receiver that are read again at once. */
const REFILL = 1_000;

/** Gives partitions what is in `matched`. */
export class MatchedReader {
  /** Live partitions have been given everything up to here. */
  private revision = -1;
  private position: Position = START;
  private isFollowing = false;
  private refilling: Promise<void> | undefined;
  private catchingUp: Promise<unknown> = Promise.resolve();
  private failure: unknown;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly partitions: Partitions,
    private readonly callbacks: MatchedCallbacks,
  ) {}

  /** Why nothing new is read. */
  get trouble(): unknown {
    return this.failure;
  }

  /**
   * Reads what these partitions have missed, once for all of them, until they are live, or the signal aborts. Raises
   * `EngineUnavailable`.
   */
  async catchUp(partitions: readonly OwnedPartition[], signal: AbortSignal): Promise<void> {
    const byNumber = new Map(partitions.map((one) => [one.number, one]));
    const work = this.catchingUp.then(() => this.readFor(byNumber, signal));
    this.catchingUp = work.catch(() => undefined);
    await work;
  }

  /** Gives live partitions what is new, until the signal aborts. Call after the first `catchUp`. */
  async follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.clock, BACKOFF);
    while (!signal.aborted) {
      try {
        for await (const batch of this.log.subscribe({ after: this.position, prefixes: [MATCHED], signal })) {
          this.give(batch.events, this.partitions, true);
          this.revision = Math.max(this.revision, batch.events.at(-1)?.revision ?? -1);
          this.position = batch.position;
          this.failure = undefined;
          backoff.reset();
        }
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error;
        this.failure = error;
        if (error instanceof DamagedLog) return;
      }
      await backoff.wait(signal);
    }
  }

  /**
   * Reads messages that long queues have left for later, if the queues have become short. Raises `EngineUnavailable`.
   */
  async refill(): Promise<void> {
    this.refilling ??= this.refillAll().finally(() => (this.refilling = undefined));
    await this.refilling;
  }

  private async refillAll(): Promise<void> {
    const open = new Map<string, Refill>();
    for (const partition of this.partitions.values())
      for (const { receiver, unreadFrom } of partition.state.short())
        open.set(receiver, { partition, unreadFrom, found: [] });
    if (open.size === 0) return;
    const from = Math.min(...Array.from(open.values(), ({ unreadFrom }) => unreadFrom));
    for await (const events of this.log.readStream(MATCHED, { from, batchSize: BATCH })) {
      for (const event of events) this.find(open, event);
      this.endRefills(open, events.at(-1)?.revision ?? from);
      if (open.size === 0) break;
    }
    this.callbacks.batch();
  }

  private find(open: ReadonlyMap<string, Refill>, event: RecordedEvent): void {
    const receiver = event.type === 'MessageDue' ? receiverIn(event) : undefined;
    const refill = receiver === undefined ? undefined : open.get(receiver);
    if (refill === undefined || event.revision < refill.unreadFrom) return;
    if (refill.found.length < REFILL) refill.found.push(event.revision);
  }

  /** Ends those that have found enough, or everything up to a revision. */
  private endRefills(open: Map<string, Refill>, read: number): void {
    for (const [receiver, { partition, found }] of open) {
      const isFull = found.length >= REFILL;
      if (!isFull && read < partition.state.matchedUpTo) continue;
      partition.state.refill(receiver, found, isFull ? (found.at(-1) ?? read) + 1 : undefined);
      this.callbacks.taken(partition, receiver);
      open.delete(receiver);
    }
  }

  private async readFor(partitions: Partitions, signal: AbortSignal): Promise<void> {
    const states = Array.from(partitions.values(), ({ state }) => state);
    const head = await this.log.head();
    for (;;) {
      const upTo = this.revision;
      const from = Math.min(...states.map(({ matchedUpTo }) => matchedUpTo)) + 1;
      for await (const events of this.log.readStream(MATCHED, { from, batchSize: BATCH })) {
        if (signal.aborted) return;
        this.give(events, partitions, false);
        // At once, since the next event may be given before this loop has ended.
        if (this.isFollowing && this.enliven(partitions)) return;
      }
      // What has expired is not read.
      for (const state of states) state.reach(upTo);
      if (this.isFollowing && this.enliven(partitions)) return;
      if (this.isFollowing) continue;
      this.revision = Math.max(...states.map(({ matchedUpTo }) => matchedUpTo));
      this.position = head;
      this.isFollowing = true;
      this.enliven(partitions);
      return;
    }
  }

  /** Makes partitions live if they have as much as those that are. */
  private enliven(partitions: Partitions): boolean {
    const all = [...partitions.values()];
    if (all.some(({ state }) => state.matchedUpTo < this.revision)) return false;
    for (const partition of all) partition.isLive = true;
    return true;
  }

  private give(events: readonly RecordedEvent[], partitions: Partitions, isLive: boolean): void {
    for (const event of events) {
      const receiver = event.stream === MATCHED ? receiverIn(event) : undefined;
      if (receiver === undefined) continue;
      const partition = partitions.get(partitionOf(receiver));
      if (partition?.isLive !== isLive) continue;
      if (takeMatched(partition.state, receiver, event)) this.callbacks.taken(partition, receiver, event);
    }
    const last = events.at(-1)?.revision;
    if (last === undefined) return;
    for (const { state, isLive: isSo } of partitions.values()) if (isSo === isLive) state.reach(last);
    this.callbacks.batch();
  }
}

interface Refill {
  readonly partition: OwnedPartition;
  readonly unreadFrom: number;
  readonly found: number[];
}
