import { isDeepStrictEqual } from 'node:util';
import {
  type Decider,
  type DomainEvent,
  execute,
  type Executed,
  load,
  type StateAt,
} from '../../kernel/decider';
import { type Ids, NO_STREAM } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { KeyedMutex } from '../../runtime/concurrency';

/** For which aggregate a key is reserved; `at` is an ISO 8601 instant. */
export interface Reservation {
  /** The integer id of the aggregate. */
  readonly owner: number;
  readonly at: string;
  /** Of a claim (`domain/claims/claim-writer.ts`): the batch that it is created with. */
  readonly batch?: number;
  /** The revision that a claim had before an update; absent for a new claim. */
  readonly revision?: number;
}

/**
 * The stream of a unique key: who has reserved it, by the last event.
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */
export type ReservationEvent =
  | { readonly type: 'KeyReserved'; readonly data: Reservation }
  | { readonly type: 'KeyReleased'; readonly data: Pick<Reservation, 'owner' | 'at'> };

/** Replaces `seen` by `next`; an absent one stands for a key that is free. */
interface ReservationCommand {
  readonly seen?: Reservation | undefined;
  readonly next?: Reservation;
  readonly at: string;
}

/** Decides who has reserved a key. Does nothing unless `seen` still is its reservation: the state shows whose it is. */
export function reservations(
  category: string,
): Decider<ReservationCommand, Reservation | undefined, ReservationEvent> {
  return {
    category,
    initial: undefined,
    supersedes: () => true,
    decide({ seen, next, at }, current) {
      if (!isDeepStrictEqual(current, seen)) return [];
      const events: ReservationEvent[] = [];
      if (current !== undefined && current.owner !== next?.owner)
        events.push({ type: 'KeyReleased', data: { owner: current.owner, at } });
      if (next !== undefined) events.push({ type: 'KeyReserved', data: next });
      return events;
    },
    evolve: (_, event) => (event.type === 'KeyReserved' ? event.data : undefined),
  };
}

/** Aggregates of which a key may have one at a time. */
interface KeyedKind<Command, State, Event extends DomainEvent> {
  readonly decider: Decider<Command, State, Event>;
  /** The sequence that gives their ids. */
  readonly ids: string;
  /** The category of the streams of their keys. A key is part of a stream's name: a hash, if users choose it. */
  readonly keys: string;
  /** Whether an aggregate was removed, for ever: its key is free for another one. */
  readonly isRemoved: (state: State) => boolean;
}

/** What became of a command, and the id of the aggregate that executed it. */
export interface KeyedResult<State, Event> extends Executed<State, Event> {
  readonly id: number;
}

/**
 * Executes commands on the aggregate that a unique key stands for, and creates it where there is none. Whatever races
 * and whichever process is killed, a key has one aggregate.
 *
 * The protocol (`docs/adr/0011-reservations-are-finished-by-anybody.md`): take an id from the sequence, reserve the key
 * for this id, write the aggregate under it. Whoever finds the key reserved writes under the reserved id, whether its
 * aggregate exists yet or not. So nobody waits for a writer that was killed, and a slow writer finds its work done.
 * Whoever removes an aggregate releases its key afterwards; whoever finds the key of a removed aggregate still reserved
 * releases it.
 *
 * `at` is an ISO 8601 instant. All methods may raise `EngineUnavailable`; repeating them is harmless.
 */
export class KeyedAggregates<Command, State, Event extends DomainEvent> {
  private readonly ids: Sequence;
  private readonly keys: ReturnType<typeof reservations>;
  /** Within a process, racing for a key would only cause conflicts. */
  private readonly mutex = new KeyedMutex<string>();

  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
    private readonly kind: KeyedKind<Command, State, Event>,
  ) {
    this.ids = new Sequence(uuids, log, kind.ids);
    this.keys = reservations(kind.keys);
  }

  /** On the aggregate of this key, or on a new one. */
  async execute(key: string, command: Command, at: string): Promise<KeyedResult<State, Event>> {
    return this.mutex.runExclusive(key, async () => {
      for (;;) {
        const present = await load(this.log, this.keys, key);
        const { id, isNew } = await this.ownerOf(key, present, at);
        const result = await this.executeUnder(id, command, isNew);
        if (!this.kind.isRemoved(result.state)) return result;
        // The process that removed it has not released its key yet.
        await this.release(key, id, at);
      }
    });
  }

  /** The aggregate that a command for this key would be executed on; undefined if that would be a new one. */
  async find(key: string): Promise<number | undefined> {
    const { state: reservation } = await load(this.log, this.keys, key);
    if (reservation === undefined) return undefined;
    const { state } = await load(this.log, this.kind.decider, reservation.owner);
    return this.kind.isRemoved(state) ? undefined : reservation.owner;
  }

  /**
   * On a new aggregate, whose key is made of its id: another aggregate may have that key, and then the id is left out.
   * `retryKey` identifies the command: executed again, after nobody knows what, it finds the aggregate of the first
   * time, even if that was removed since.
   */
  async create(
    keyOf: (id: number) => string,
    command: Command,
    at: string,
    retryKey?: string,
  ): Promise<KeyedResult<State, Event>> {
    for (;;) {
      const own = await this.ids.next();
      const id = retryKey === undefined ? own : await this.reserve(retryKey, own, at, NO_STREAM);
      const owner = await this.reserve(keyOf(id), id, at, NO_STREAM);
      if (owner === id) {
        const result = await this.executeUnder(id, command, id === own);
        if (this.kind.isRemoved(result.state)) await this.release(keyOf(id), id, at);
        return result;
      }
      if (retryKey !== undefined) await this.release(retryKey, id, at);
    }
  }

  /** After an aggregate was removed: its key becomes free, unless it has another owner. */
  async release(key: string, id: number, at: string): Promise<void> {
    const seen = await load(this.log, this.keys, key);
    if (seen.state?.owner === id)
      await execute(this.uuids, this.log, this.keys, key, { seen: seen.state, at }, seen);
  }

  /** `isNew`: this call has reserved the key, for an id that nobody else knows yet. */
  private async ownerOf(
    key: string,
    present: StateAt<Reservation | undefined>,
    at: string,
  ): Promise<{ readonly id: number; readonly isNew: boolean }> {
    if (present.state !== undefined) return { id: present.state.owner, isNew: false };
    const own = await this.ids.next();
    const id = await this.reserve(key, own, at, present.revision);
    return { id, isNew: id === own };
  }

  /** The owner of a key that was free at `revision`: this one, unless another process was faster. */
  private async reserve(key: string, owner: number, at: string, revision: number): Promise<number> {
    const known = { state: undefined, revision };
    const { state } = await execute(this.uuids, this.log, this.keys, key, { next: { owner, at }, at }, known);
    return state?.owner ?? owner;
  }

  private async executeUnder(
    id: number,
    command: Command,
    isNew: boolean,
  ): Promise<KeyedResult<State, Event>> {
    const { decider } = this.kind;
    const known = isNew ? { state: decider.initial, revision: NO_STREAM } : undefined;
    const executed = await execute(this.uuids, this.log, decider, id, command, known);
    return { id, ...executed };
  }
}

/**
 * A block of integers allotted to one process, bounds included.
 *
 * The name and shape of this event are the storage format: add, never rename.
 */
interface IdsAllotted {
  readonly type: 'IdsAllotted';
  readonly data: { readonly from: number; readonly to: number };
}

/** Allots the next integers, as many as the command asks for; the state is the last one allotted. */
const decider: Decider<number, number, IdsAllotted> = {
  category: 'sequence',
  initial: 0,
  supersedes: () => true,
  decide: (size, end) => [{ type: 'IdsAllotted', data: { from: end + 1, to: end + size } }],
  evolve: (_, { data }) => data.to,
};

/** Integers per block. Those unused when a process ends are lost. */
const BLOCK_SIZE = 100;

/** Unique integers from 1, ascending within a process. Each process allots blocks in the stream `sequence-<name>`. */
export class Sequence {
  private upcoming = 1;
  private last = 0;
  private allotting: Promise<void> | undefined;

  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
    private readonly name: string,
  ) {}

  async next(): Promise<number> {
    while (this.upcoming > this.last) {
      this.allotting ??= this.allotBlock().finally(() => (this.allotting = undefined));
      await this.allotting;
    }
    this.upcoming += 1;
    return this.upcoming - 1;
  }

  private async allotBlock(): Promise<void> {
    const { state: end } = await execute(this.uuids, this.log, decider, this.name, BLOCK_SIZE);
    this.upcoming = end - BLOCK_SIZE + 1;
    this.last = end;
  }
}
