import { randomUUID } from 'node:crypto';
import { type Clocks } from '../../runtime/clock';
import { NO_STREAM } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';

/** The streams that leases are in. */
export interface LeaseLog extends Pick<EventLog, 'append' | 'readStream' | 'close'> {
  /** Sets the metadata of a stream, unless it has some. */
  describe(stream: string, metadata: object): Promise<void>;
}

/** A time by both clocks. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function momentOf({ wall, monotonic }: Clocks): Moment {
  return { wall: wall(), monotonic: monotonic() };
}

/**
 * How much time has passed at most (ms). The clock that nobody can set stands still while the machine is suspended; the other one
 * may have been set.
 */
export function msSince({ wall, monotonic }: Moment, clocks: Clocks): number {
  return Math.max(clocks.wall() - wall, clocks.monotonic() - monotonic);
}

/** An owner of leases in this process. */
interface Heart {
  /** Of the last heartbeat in its stream. */
  revision: number;
  /** When the last heartbeat was begun that has been appended. */
  begun: Moment | undefined;
}

/** The heartbeat of another owner. */
interface Watched {
  readonly revision: number;
  /**
   * When it had been seen first, and when it was last looked for and was still the last one: by the clock that nobody can set.
   */
  readonly since: number;
  readonly until: number;
}

/** Only the last heartbeat counts; those of an owner that is gone are deleted after a day. */
const METADATA = { $maxCount: 1, $maxAge: 24 * 60 * 60 };

/** The heartbeats of owners of leases: a stream for each. What is in them does not matter: that there is a new one does. */
export class Heartbeats {
  readonly #hearts = new Map<string, Heart>();
  readonly #watched = new Map<string, Watched>();

  constructor(
    private readonly log: LeaseLog,
    private readonly clocks: Clocks,
  ) {}

  /** How old the last heartbeat of an owner in this process is at most (ms). */
  age(owner: string): number {
    const begun = this.#hearts.get(owner)?.begun;
    return begun === undefined ? Infinity : msSince(begun, this.clocks);
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
    const begun = momentOf(this.clocks);
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
    const { since, until } = this.#watched.get(owner) ?? { since: 0, until: 0 };
    return Math.max(0, until - since);
  }

  /** Forgets all other owners. */
  retain(owners: ReadonlySet<string>): void {
    for (const owner of this.#watched.keys()) if (!owners.has(owner)) this.#watched.delete(owner);
  }

  async #look(owner: string): Promise<void> {
    const until = this.clocks.monotonic();
    let revision = NO_STREAM;
    for await (const [event] of this.log.readStream(streamOf(owner), { backwards: true, limit: 1 }))
      revision = event?.revision ?? revision;
    const known = this.#watched.get(owner);
    const since = known?.revision === revision ? known.since : this.clocks.monotonic();
    this.#watched.set(owner, { revision, since, until });
  }
}

function streamOf(owner: string): string {
  return `heartbeat-${owner}`;
}
