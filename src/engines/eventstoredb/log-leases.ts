import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type IsGone, type Lease, Leases, Watch } from '../../kernel/leases';
import { type Clock, SYSTEM_CLOCK } from '../../runtime/clock';
import { lastEvent } from '../../kernel/decider';

/** The stream whose last event has the owner of each lease. */
const TABLE = 'table';
const TABLE_METADATA = { $maxCount: 10 };

/** An owner gives up a lease this much before others may take it (share of its time): clocks differ in speed. */
const MARGIN = 0.02;

interface Assignment {
  readonly owner: string;
  readonly ms: number;
}

interface StoredLeases {
  readonly revision: number;
  readonly leases: ReadonlyMap<string, Assignment>;
}

/** What somebody asks for, to be answered with the others who ask meanwhile. */
interface LeaseRequest {
  /** The owners whose heartbeats matter. */
  readonly owners: (leases: StoredLeases['leases']) => readonly string[];
  /** Changes the leases. */
  readonly decide: (draft: NextTable) => void;
  /** What it has decided is in the log. */
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** A lease of an owner in this process. */
interface Held extends Assignment {
  /** When it was last renewed: it ends `ms` later. */
  readonly renewed: ClockTimes;
  /** Its end as it was last returned; 0: its renewal has not been returned yet. */
  readonly expires: number;
}

/** The table as it will be. */
interface NextTable {
  readonly leases: Map<string, Assignment>;
  /** The leases that are asked for and are or become those of their owners. */
  readonly granted: Map<string, Assignment>;
}

/**
 * Leases in streams of EventStoreDB (docs/adr/0034-leases-are-where-the-log-is.md): a table of who has what, which is
 * appended at an expected revision when that changes, and a heartbeat per owner. No times are stored, so clocks need
 * not agree: who has not seen a new heartbeat for the time of a lease may take it, and an owner that has not appended
 * one for as long asks for it again.
 */
export class LogLeases extends Leases {
  readonly #heartbeats: Heartbeats;
  /**
   * Leases of owners in this process that nobody else can have taken. Others that the table names as theirs (released,
   * not renewed, or granted by an append whose answer was lost) are removed from it by the next answer: an owner that
   * lives keeps only these.
   */
  readonly #held = new Map<string, Held>();
  #asks: LeaseRequest[] = [];
  #running: Promise<void> | undefined;

  constructor(
    private readonly log: LeaseLog,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    super();
    this.#heartbeats = new Heartbeats(log, clock);
  }

  async lease(
    name: string,
    owner: string,
    now: () => number,
    ttl: number,
    isGone: IsGone = () => false,
  ): Promise<Lease | undefined> {
    const own = { owner, ms: ttl };
    const isFresh = this.#held.get(name)?.owner === owner && this.#heartbeats.age(owner) < ttl / 3;
    const isGranted =
      isFresh ||
      (await this.#ask<boolean>({
        owners: (leases) => ownersOf([leases.get(name)], (one) => one !== owner && !isGone(one)),
        decide: ({ leases, granted }) => {
          const current = leases.get(name)?.owner ?? owner;
          if (current !== owner && !isGone(current) && this.#heartbeats.silence(current) < ttl) return false;
          leases.set(name, own);
          granted.set(name, own);
          return true;
        },
      }));
    const left = ttl * (1 - MARGIN) - this.#heartbeats.age(owner);
    if (!isGranted) return undefined;
    if (left <= 0) {
      this.#held.delete(name);
      return undefined;
    }
    const expires = Math.floor(now() + left);
    this.#held.set(name, { ...own, renewed: momentOf(this.clock), expires });
    return { name, owner, expires };
  }

  async owners(
    prefix: string,
    _now: number,
    ttl: number,
    isGone: IsGone = () => false,
  ): Promise<readonly string[]> {
    const found = (leases: StoredLeases['leases']): readonly string[] => {
      const named = [...leases].filter(([name]) => name.startsWith(prefix)).map(([, one]) => one);
      return ownersOf(named, (owner) => !isGone(owner));
    };
    return await this.#ask({
      owners: found,
      decide: ({ leases }) => found(leases).filter((owner) => this.#heartbeats.silence(owner) < ttl),
    });
  }

  async release({ name, owner, expires }: Lease): Promise<void> {
    const held = this.#held.get(name);
    if (held?.owner !== owner || held.expires !== expires) return;
    // Released by that: if the table cannot be appended to now, the next answer removes it.
    this.#held.delete(name);
    await this.#ask({ owners: () => [], decide: () => undefined });
  }

  async close(): Promise<void> {
    await this.log.close();
    await this.#running;
  }

  async #ask<Answer>({
    owners,
    decide,
  }: Pick<LeaseRequest, 'owners'> & { readonly decide: (draft: NextTable) => Answer }): Promise<Answer> {
    return await new Promise<Answer>((resolve, reject) => {
      let answer: Answer;
      this.#asks.push({
        owners,
        decide: (draft) => {
          answer = decide(draft);
        },
        done: () => resolve(answer),
        failed: reject,
      });
      this.#running ??= this.#answerAll();
    });
  }

  /** Never rejects. */
  async #answerAll(): Promise<void> {
    // Those who ask now are answered together.
    await Promise.resolve();
    while (this.#asks.length > 0) {
      const asks = this.#asks.splice(0);
      try {
        while (!(await this.#answer(asks)));
        for (const { done } of asks) done();
      } catch (error) {
        for (const { failed } of asks) failed(error);
      }
    }
    this.#running = undefined;
  }

  /** False if another process has changed the table in the meantime. */
  async #answer(asks: readonly LeaseRequest[]): Promise<boolean> {
    const { revision, leases } = await this.#readTable();
    // After the table, since an owner begins with a heartbeat.
    const watched = new Set(asks.flatMap(({ owners }) => owners(leases)));
    await this.#heartbeats.watch(watched);
    this.#dropEnded(leases);
    const isKept = ([name, { owner }]: readonly [string, Assignment]): boolean =>
      !this.#heartbeats.isOwn(owner) || this.#held.get(name)?.owner === owner;
    const draft: NextTable = { leases: new Map([...leases].filter(isKept)), granted: new Map() };
    for (const { decide } of asks) decide(draft);
    // Before anything is granted, so that nobody takes the owner for silent.
    await this.#beatFor(draft.granted.values());
    const isHeld = ([name, { owner }]: readonly [string, Assignment]): boolean =>
      this.#held.get(name)?.owner === owner;
    const isReleased = [...leases.keys()].some((name) => !draft.leases.has(name));
    const isChanged = isReleased || ![...draft.granted].every(isHeld);
    if (isChanged) {
      for (const [name, { owner, ms }] of draft.leases) {
        const isOver = watched.has(owner) && this.#heartbeats.silence(owner) >= ms;
        if (isOver && !draft.granted.has(name)) draft.leases.delete(name);
      }
      if (!(await this.#append(revision, draft.leases))) return false;
      this.#heartbeats.retain(new Set(ownersOf(draft.leases.values())));
    }
    const renewed = momentOf(this.clock);
    for (const [name, own] of draft.granted) this.#held.set(name, { ...own, renewed, expires: 0 });
    return true;
  }

  /** Forgets what another process has, and what has not been renewed for its time. */
  #dropEnded(leases: StoredLeases['leases']): void {
    for (const [name, { owner, ms, renewed }] of this.#held)
      if (leases.get(name)?.owner !== owner || msSince(renewed, this.clock) >= ms) this.#held.delete(name);
  }

  /** Appends a heartbeat for owners of leases that need one. What others may have taken before it is no longer held. */
  async #beatFor(granted: Iterable<Assignment>): Promise<void> {
    const shortest = new Map<string, number>();
    for (const { owner, ms } of granted) shortest.set(owner, Math.min(ms, shortest.get(owner) ?? ms));
    for (const [owner, ms] of shortest) {
      if (this.#heartbeats.age(owner) < ms / 3) continue;
      const gap = await this.#heartbeats.beat(owner);
      for (const [name, held] of this.#held)
        if (held.owner === owner && gap >= held.ms * (1 - MARGIN)) this.#held.delete(name);
    }
  }

  async #readTable(): Promise<StoredLeases> {
    const event = await lastEvent(this.log, TABLE);
    if (event === undefined) return { revision: NO_STREAM, leases: new Map() };
    const { leases } = JSON.parse(event.data) as { readonly leases: Readonly<Record<string, Assignment>> };
    return { revision: event.revision, leases: new Map(Object.entries(leases)) };
  }

  async #append(expected: number, leases: StoredLeases['leases']): Promise<boolean> {
    if (expected === NO_STREAM) await this.log.describe(TABLE, TABLE_METADATA);
    const data = JSON.stringify({ leases: Object.fromEntries(leases) });
    try {
      await this.log.append(TABLE, expected, [
        { id: randomUUID(), type: 'LeasesAssigned', data, meta: '{}' },
      ]);
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  }
}

function ownersOf(
  assignments: Iterable<Assignment | undefined>,
  isWanted: (owner: string) => boolean = () => true,
): readonly string[] {
  const owners = new Set<string>();
  for (const one of assignments) if (one !== undefined && isWanted(one.owner)) owners.add(one.owner);
  return [...owners];
}

export interface LeaseLog extends Pick<EventLog, 'append' | 'readStream' | 'close'> {
  /** Sets the metadata of a stream, unless it has some. */
  describe(stream: string, metadata: object): Promise<void>;
}

/** A time by both clocks. */
interface ClockTimes {
  readonly wall: number;
  readonly monotonic: number;
}

function momentOf(clock: Clock): ClockTimes {
  return { wall: clock.wall(), monotonic: clock.monotonic() };
}

/**
 * How much time has passed at most (ms). The clock that nobody can set stands still while the machine is suspended; the
 * other one may have been set.
 */
function msSince({ wall, monotonic }: ClockTimes, clock: Clock): number {
  return Math.max(clock.wall() - wall, clock.monotonic() - monotonic);
}

interface Heart {
  /** Of the last heartbeat in its stream. */
  revision: number;
  /** When the last heartbeat was begun that has been appended. */
  begun: ClockTimes | undefined;
}

/** Only the last heartbeat counts; those of an owner that is gone are deleted after a day. */
const METADATA = { $maxCount: 1, $maxAge: 24 * 60 * 60 };

/** The heartbeats of owners of leases: a stream for each. All that matters of one is that it is new. */
class Heartbeats {
  readonly #hearts = new Map<string, Heart>();
  /** The revisions of others' last heartbeats. */
  readonly #watched: Watch<number>;

  constructor(
    private readonly log: LeaseLog,
    private readonly clock: Clock,
  ) {
    this.#watched = new Watch(() => clock.monotonic());
  }

  /** How old the last heartbeat of an owner in this process is at most (ms). */
  age(owner: string): number {
    const begun = this.#hearts.get(owner)?.begun;
    return begun === undefined ? Infinity : msSince(begun, this.clock);
  }

  /** Whether this process acts for an owner. */
  isOwn(owner: string): boolean {
    return this.#hearts.has(owner);
  }

  /** Appends a heartbeat; returns how old the one before was when it was appended (ms), at most. */
  async beat(owner: string): Promise<number> {
    const heart = this.#hearts.get(owner) ?? { revision: NO_STREAM, begun: undefined };
    this.#hearts.set(owner, heart);
    const stream = streamOf(owner);
    if (heart.revision === NO_STREAM) await this.log.describe(stream, METADATA);
    const begun = momentOf(this.clock);
    const event = { id: randomUUID(), type: 'OwnerAlive', data: '{}', meta: '{}' };
    for (let isDone = false; !isDone;) {
      try {
        heart.revision = (await this.log.append(stream, heart.revision, [event])).revision;
        isDone = true;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        heart.revision = error.actual;
      }
    }
    const age = this.age(owner);
    heart.begun = begun;
    return age;
  }

  /** Looks for new heartbeats of owners. */
  async watch(owners: Iterable<string>): Promise<void> {
    await Promise.all([...owners].map((owner) => this.#look(owner)));
  }

  /** For how long an owner was silent when it was last looked for (ms), at least. */
  silence(owner: string): number {
    return this.#watched.unchangedMs(owner);
  }

  retain(owners: ReadonlySet<string>): void {
    this.#watched.retain(owners);
  }

  async #look(owner: string): Promise<void> {
    const asked = this.clock.monotonic();
    const revision = (await lastEvent(this.log, streamOf(owner)))?.revision ?? NO_STREAM;
    this.#watched.saw(owner, revision, asked);
  }
}

function streamOf(owner: string): string {
  return `heartbeat-${owner}`;
}
