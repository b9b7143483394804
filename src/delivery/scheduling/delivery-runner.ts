import { setMaxListeners } from 'node:events';
import { type Health } from '../../domain/deliveries/health';
import { partitionOf, PARTITIONS } from '../../domain/subscriptions/receiver-id';
import { type IsGone, type Leases } from '../../kernel/leases';
import { atMost, Backoff, reasonOf } from '../../runtime/unavailable';
import { type Clock, ClockGuard } from '../../runtime/clock';
import { crash } from '../../runtime/failure-report';
import { inParallel, newPromise } from '../../runtime/concurrency';
import { repeatEvery, Troubles } from '../../runtime/leader';
import { LeaseHolder, NOTIFIER_MEMBERS } from '../../runtime/lease-holder';
import { Dispatcher, type DispatcherParts } from './dispatcher';
import { MatchedReader } from './matched-reader';
import { OwnedPartition, type TakenPartition, takePartition } from './owned-partition';

export interface DeliveryParts extends DispatcherParts {
  readonly leases: Leases;
}

interface DeliveryOptions {
  readonly owner: string;
  readonly isGone?: IsGone;
  /**
   * How long nobody sends for the partitions of a process that was killed (ms). Two thirds of it must be more than
   * `longestMs`.
   */
  readonly leaseMs?: number;
  /** What an attempt may take (ms), with a margin. */
  readonly longestMs?: number;
  /** How long messages are kept in the log (ms): a little before that, what is not delivered becomes a dead letter. */
  readonly keepMs?: number;
  /** Between looks at the leases (ms). */
  readonly lookMs?: number;
}

const LEASE_MS = NOTIFIER_MEMBERS.ms;
const LONGEST_MS = 17_000;
const LOOK_MS = 1_000;

/** How long a stop waits for attempts in flight (ms), and an orderly hand-over. */
const STOP_MS = 5_000;
const HAND_OVER_MS = 16_000;

/** How long aborted attempts take to end (ms). */
const ABORT_MS = 500;

const BACKOFF = { first: 100, longest: 5_000 } as const;

/**
 * Partitions taken over at once: each waits for the log several times, also for that of others that are sent for
 * meanwhile.
 */
const AT_ONCE = 32;

/** What partitions have missed is read for all of them that are taken over within this time (ms). */
const GATHER_MS = 1_000;

/** How often messages that expire soon are looked for, and how long before they do (ms). */
const EXPIRE = { everyMs: 10 * 60_000, earlierMs: 2 * 60 * 60_000 } as const;

/** How often changed partitions are saved (ms). */
const SAVE_MS = 60_000;

/** Messages that are read at a take-over, after which partitions are saved at once. */
const SAVE_MESSAGES = 5_000;

/** How the receivers of a process do. */
export interface ReceiverCounts {
  /** Their number by state; those that rest are failing too, and count once. */
  readonly receivers: Readonly<Record<'active' | 'failing' | 'resting' | 'disabled', number>>;
  /** Messages that are due, or tried again later; without those of long queues that are not read yet. */
  readonly waiting: number;
}

function stateOf(health: Health | undefined, now: number): 'active' | 'failing' | 'resting' {
  if (health?.rest !== undefined && health.rest.until > now) return 'resting';
  return health?.failing === undefined ? 'active' : 'failing';
}

/** Sends notifications, for its share of all partitions (docs/architecture.md, Notifications). */
export class DeliveryRunner {
  private readonly stopping = new AbortController();
  private readonly dispatcher: Dispatcher;
  private readonly reader: MatchedReader;
  private readonly membership: Membership;
  private readonly leases: readonly LeaseHolder[];
  /** Work that continues while leases are renewed, and must not delay that. */
  private readonly tracked = new Set<Promise<void>>();
  private readonly lookMs: number;
  private running: Promise<unknown> | undefined;
  private taking: Promise<void> | undefined;
  private isCatchingUp = false;
  private following: Promise<void> | undefined;
  private readonly troubles: Troubles;
  private savedAt: number;
  private readonly guard: ClockGuard;
  private expiresAt: number;

  constructor(
    private readonly parts: DeliveryParts,
    private readonly options: DeliveryOptions,
  ) {
    const { owner, leaseMs = LEASE_MS, longestMs = LONGEST_MS, lookMs = LOOK_MS, isGone } = options;
    const { clock, leases } = parts;
    setMaxListeners(0, this.stopping.signal);
    this.lookMs = lookMs;
    this.savedAt = clock.monotonic();
    this.expiresAt = this.savedAt + EXPIRE.everyMs;
    this.troubles = new Troubles(parts.report);
    this.guard = new ClockGuard(clock, 'dead letters of old messages', parts.report);
    this.dispatcher = new Dispatcher(parts, longestMs);
    this.reader = new MatchedReader(clock, parts.deliveries, this.dispatcher.partitions, {
      taken: (...taken) => this.dispatcher.taken(...taken),
      batch: () => this.dispatcher.pump(),
    });
    this.membership = new Membership({ clock, leases, owner, ttlMs: leaseMs, isGone });
    this.leases = Array.from(
      { length: PARTITIONS },
      (_, number) => new LeaseHolder(clock, leases, `notifier-partition-${number}`, owner, leaseMs, isGone),
    );
  }

  start(): void {
    const repeat = (name: string, work: () => Promise<void>): Promise<void> =>
      repeatEvery(this.parts.clock, this.lookMs, this.stopping.signal, () =>
        this.troubles.during(name, work),
      );
    this.running ??= Promise.all([
      repeat('leases', () => this.balance()),
      repeat('queues', () => this.maintain()),
      repeat('expiry', () => this.expire()),
    ]);
  }

  /** Starts nothing more, waits for what is in flight, for 5 seconds at most, and hands over what it has. */
  async stop(): Promise<void> {
    this.stopping.abort();
    // At once: others take what is given up from now on. Its other leases protect what it still has.
    const left = this.membership.release().catch(this.parts.report);
    await this.running;
    await this.taking;
    const partitions = [...this.dispatcher.partitions.values()];
    // Hand-overs that are under way end with those of the stop.
    await Promise.all([
      left,
      ...this.tracked,
      ...partitions.map((partition) => this.giveUp(partition, STOP_MS)),
    ]);
    this.dispatcher.stop();
    await this.following;
    // Those of partitions too that have not been taken over.
    await Promise.all(this.leases.map((lease) => lease.release().catch(this.parts.report)));
  }

  /**
   * Makes dead letters of messages that are not delivered, and were due before a time (epoch ms), of long queues too.
   * False: some are left, since those before them are not recorded yet.
   */
  async expireOld(before: number): Promise<boolean> {
    for (;;) {
      const { count, isLast } = await this.dispatcher.expireOld(before);
      if (count === 0 || this.stopping.signal.aborted) return isLast;
      await this.reader.refill();
    }
  }

  trouble(): string | undefined {
    const inTrouble = [...this.dispatcher.partitions.values()].some(({ isInTrouble }) => isInTrouble);
    if (this.troubles.reason !== undefined) return this.troubles.reason;
    if (this.reader.trouble !== undefined) return reasonOf(this.reader.trouble);
    return inTrouble ? 'outcomes of attempts cannot be stored' : this.dispatcher.faults.trouble;
  }

  /** Of the partitions of this process. */
  counts(): ReceiverCounts {
    const counts = { active: 0, failing: 0, resting: 0, disabled: 0 };
    const { partitions } = this.dispatcher;
    const now = this.parts.clock.wall();
    for (const { id, isDisabled } of this.parts.recipients.all()) {
      const state = partitions.get(partitionOf(id))?.state;
      if (state !== undefined)
        counts[isDisabled ? 'disabled' : stateOf(state.receivers.get(id)?.health, now)] += 1;
    }
    let waiting = 0;
    for (const { state } of partitions.values())
      for (const { queue, retries } of state.receivers.values()) waiting += queue.size + retries.size;
    return { receivers: counts, waiting };
  }

  /** Renews what this process has, and takes or gives up partitions until it has its share. */
  private async balance(): Promise<void> {
    const { partitions } = this.dispatcher;
    const share = await this.membership.shareOf(PARTITIONS);
    await inParallel([...partitions.values()], AT_ONCE, async (partition) => {
      const isHeld = await partition.lease.acquire();
      const { term } = partition.lease;
      // If the lease has ended, another process may have had the partition. By now none can take it.
      const isTaken = isHeld && term !== partition.term && (await partition.writer.isTaken());
      if (!isHeld || isTaken) this.dispatcher.remove(partition);
      else if (term !== partition.term) {
        partition.term = term;
        this.dispatcher.reconsider();
      }
    });
    const open = [...partitions.values()].filter(({ isClosing }) => !isClosing);
    for (const partition of open.slice(share)) this.track(this.giveUp(partition, HAND_OVER_MS));
    if (this.taking !== undefined) return;
    const take = async (): Promise<void> => await this.take(share - open.length);
    this.taking = this.troubles.during('take-over', take).finally(() => (this.taking = undefined));
  }

  /** Takes over up to this many further partitions. */
  private async take(count: number): Promise<void> {
    if (count <= 0) return;
    // By a part of their events, messages would be sent to receivers that are disabled, changed or removed since.
    await untilAborted(this.stopping.signal, this.parts.recipients.ready);
    await inParallel(await this.acquire(count), AT_ONCE, async ([number, lease]) => {
      if (this.stopping.signal.aborted) return;
      const partition = await this.takeOver(number, lease);
      if (partition === undefined) return;
      // What it had before can be sent while others are taken over.
      this.dispatcher.add(partition);
      this.track(this.catchUp());
    });
  }

  /** Acquires the leases of up to this many further partitions. */
  private async acquire(count: number): Promise<readonly (readonly [number, LeaseHolder])[]> {
    const acquired: (readonly [number, LeaseHolder])[] = [];
    const isEnough = (): boolean => acquired.length >= count || this.stopping.signal.aborted;
    await inParallel(this.leases.entries(), Math.min(AT_ONCE, count), async ([number, lease]) => {
      if (isEnough() || this.dispatcher.partitions.has(number) || !(await lease.acquire())) return;
      if (isEnough()) await lease.release();
      else acquired.push([number, lease]);
    });
    return acquired;
  }

  /** Reads what partitions have missed, until all are live: for those together that are taken over meanwhile. */
  private async catchUp(): Promise<void> {
    if (this.isCatchingUp) return;
    this.isCatchingUp = true;
    const { signal } = this.stopping;
    const backoff = new Backoff(this.parts.clock, BACKOFF);
    const isBehind = ({ isLive, isClosing }: OwnedPartition): boolean => !isLive && !isClosing;
    const { partitions } = this.dispatcher;
    while (!signal.aborted && [...partitions.values()].some(isBehind)) {
      await Promise.race([this.taking, this.parts.clock.pause(GATHER_MS, signal).catch(() => undefined)]);
      const behind = [...partitions.values()].filter(isBehind);
      // Meanwhile they may have been lost.
      if (behind.length === 0) continue;
      try {
        const before = new Map(behind.map((partition) => [partition, partition.state.matchedUpTo]));
        await this.reader.catchUp(behind, signal);
        this.troubles.clear('catch-up');
        backoff.reset();
        // If it is killed soon, the next one need not read that again before it gets to what is new.
        for (const [{ writer, state, isLost }, from] of before)
          if (!isLost && state.matchedUpTo - from >= SAVE_MESSAGES) writer.save().catch(this.parts.report);
        this.following ??= this.reader.follow(signal).catch(crash);
      } catch (error) {
        this.troubles.add('catch-up', error);
        await backoff.wait(signal);
      }
    }
    this.isCatchingUp = false;
  }

  /** Undefined: its lease has ended while others were taken over, or the runner stops. */
  private async takeOver(number: number, lease: LeaseHolder): Promise<OwnedPartition | undefined> {
    const { clock, deliveries, report } = this.parts;
    const { owner } = this.options;
    const { signal } = this.stopping;
    const hasLease = (): Promise<boolean> => lease.acquire();
    const take = async (): Promise<TakenPartition | undefined> =>
      await untilAborted(
        signal,
        takePartition(clock, deliveries, number, { owner, hasLease, report, signal }),
      );
    try {
      if (!(await lease.acquire()) || signal.aborted) return undefined;
      const { term } = lease;
      const taken = await lease.renewDuring(take);
      // If the lease has ended meanwhile, another process may have taken the partition after this one.
      if (taken === undefined || lease.term !== term) return undefined;
      return new OwnedPartition(number, { lease, term }, deliveries, taken, (one) =>
        this.dispatcher.writerCallbacks(one),
      );
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Ends a partition in an orderly way: another process continues from its snapshot. */
  private async giveUp(partition: OwnedPartition, waitMs: number): Promise<void> {
    partition.isClosing = true;
    await partition.idle(waitMs);
    partition.abortAttempts();
    await partition.idle(ABORT_MS);
    if (!partition.isLost) await atMost(this.parts.clock, STOP_MS, partition.writer.save());
    this.dispatcher.remove(partition);
    await partition.lease.release().catch(this.parts.report);
  }

  private async expire(): Promise<void> {
    const { keepMs } = this.options;
    const today = this.guard.now();
    const now = this.parts.clock.monotonic();
    if (keepMs === undefined || today === undefined || now < this.expiresAt) return;
    this.expiresAt = now + EXPIRE.everyMs;
    const isDone = await this.expireOld(today - keepMs + Math.min(EXPIRE.earlierMs, keepMs / 10));
    if (!isDone) this.expiresAt = now;
  }

  private track(work: Promise<void>): void {
    const tracked: Promise<void> = work.catch(this.parts.report).finally(() => this.tracked.delete(tracked));
    this.tracked.add(tracked);
  }

  private async maintain(): Promise<void> {
    this.dispatcher.reconsider();
    await this.reader.refill();
    const now = this.parts.clock.monotonic();
    if (now - this.savedAt < SAVE_MS) return;
    this.savedAt = now;
    for (const { writer, isInTrouble } of this.dispatcher.partitions.values())
      if (!isInTrouble) writer.save().catch(this.parts.report);
  }
}

/** Resolves like `work`, or to undefined as soon as the signal aborts. */
async function untilAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | undefined> {
  const { promise: aborted, resolve } = newPromise();
  signal.addEventListener('abort', resolve, { once: true });
  try {
    return await Promise.race([work, aborted.then(() => undefined)]);
  } finally {
    signal.removeEventListener('abort', resolve);
  }
}

interface MembershipParts {
  readonly clock: Clock;
  readonly leases: Leases;
  readonly owner: string;
  readonly ttlMs: number;
  readonly isGone?: IsGone | undefined;
}

/** Which processes send. */
class Membership {
  private readonly lease: LeaseHolder;

  constructor(private readonly parts: MembershipParts) {
    const { clock, leases, owner, ttlMs } = parts;
    this.lease = new LeaseHolder(clock, leases, NOTIFIER_MEMBERS.name + owner, owner, ttlMs);
  }

  /** This process's share of a number of things. Raises `EngineUnavailable`. */
  async shareOf(total: number): Promise<number> {
    const { clock, leases, owner, ttlMs, isGone } = this.parts;
    if (!(await this.lease.acquire())) return 0;
    const members = [...(await leases.owners(NOTIFIER_MEMBERS.name, clock.wall(), ttlMs, isGone))].sort();
    const rank = members.indexOf(owner);
    const others = Math.max(1, members.length);
    return Math.floor(total / others) + (rank >= 0 && rank < total % others ? 1 : 0);
  }

  async release(): Promise<void> {
    await this.lease.release();
  }
}
