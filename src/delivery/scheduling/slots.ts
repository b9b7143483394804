import { Fifo } from './lane';

/** `docs/decisions.md#n7`. */
export const LIMITS = {
  /** Requests in flight to receivers of each pace. Late ones do not count. */
  normal: 256,
  slow: 128,
  hung: 128,
  /** Requests in flight whatever happens, and the characters of their bodies. */
  most: 2_048,
  mostSize: 64 * 1024 * 1024,
  receiver: 4,
  host: 16,
  /** Of a host's requests, those to receivers that are slow or hung, of all owners. */
  hostSlow: 12,
  /** On a host, an owner has at most this many times the places that are left free; slow or hung receivers: once. */
  ownerShare: 3,
  /** A receiver whose last request took so long is slow, or hung (ms). */
  slowMs: 2_000,
  hungMs: 5_000,
  /**
   * In a crowd a request is late after `crowdMs`, or earlier, if too many receivers wait for all to get a turn in
   * `turnsMs`.
   */
  crowdMs: 200,
  turnsMs: 500,
  perSecond: 50,
  burst: 100,
  /** Hosts that are remembered although nothing is in flight to them: most will soon be sent to again. */
  idleHosts: 1_024,
} as const;

/** What is expected of the next request to a receiver. */
type HostPace = 'normal' | 'slow' | 'hung';

/**
 * What a request in flight counts towards: the pace that its receiver had when it started. Later it may become late.
 */
export type Pool = HostPace | 'late';

/** What is counted of a receiver. */
export interface Occupant {
  /** Scheme, host and port, known from its first message; they are the same for all. Empty until then. */
  host: string;
  /** Its organisation, known from its first message. */
  owner: number;
  pace: HostPace;
  inFlight: number;
  /** Of these, those that are late. */
  late: number;
  /** When it last answered before it would have been slow. */
  answered: number;
}

/** A request in flight. */
export interface SlotRequest<R> {
  readonly receiver: R;
  /** That of the receiver, as far as it was known. */
  readonly host: string;
  /** When it was started. */
  readonly at: number;
  /** The characters of its body. */
  readonly size: number;
  pool: Pool;
  hasEnded: boolean;
}

/** Requests in flight to a host, and those for which receivers have been woken. */
interface SlotHost<R> {
  inFlight: number;
  /** Of these, those to receivers that were slow or hung when they started, or were woken. */
  slow: number;
  /** By owner. */
  readonly perOwner: Map<number, number>;
  /** Receivers that wait, by owner and whether their pace is normal, in the order of the turns of these. */
  readonly waiting: Map<string, Set<R>>;
  /** Receivers that have been woken and have not used it, and whether they were slow or hung: nobody overtakes them. */
  readonly woken: Map<R, boolean>;
}

/**
 * The slots for requests in flight. There is a crowd while as many are in flight as there are normal slots. Then a
 * request that takes long is late: it gives up its slot. A receiver with a late request gets no second one, in a crowd
 * neither does one that has not answered since it began. So receivers that hang, however many at once, delay the others
 * only by the time that it takes to try each of them.
 */
export class Slots<R extends Occupant> {
  private readonly inPool: Record<Pool, number> = { normal: 0, late: 0, slow: 0, hung: 0 };
  private size = 0;
  private crowdedAt = 0;
  /** Requests in normal slots, and late ones, both in the order in which they were started. */
  private readonly started = new Fifo<SlotRequest<R>>();
  private readonly late = new Fifo<SlotRequest<R>>();
  private readonly waiting = { slow: new Set<R>(), hung: new Set<R>() };
  private readonly hosts = new Map<string, SlotHost<R>>();

  /** `wake` is called for a receiver that `mayEnter` has refused, when a slot has become free. */
  constructor(private readonly wake: (receiver: R) => void) {}

  get inFlight(): number {
    const { normal, late, slow, hung } = this.inPool;
    return normal + late + slow + hung;
  }

  /** No receiver can enter; or none of normal pace, if this one is. */
  isFull({ pace }: R): boolean {
    return this.isExhausted || (pace === 'normal' && this.inPool.normal >= LIMITS.normal);
  }

  mayEnter(receiver: R): boolean {
    if (this.isFull(receiver) || receiver.inFlight >= this.mostOf(receiver)) return false;
    const { pace, host } = receiver;
    if (pace !== 'normal' && this.inPool[pace] >= LIMITS[pace]) {
      this.waiting[pace].add(receiver);
      return false;
    }
    const shared = this.hosts.get(host);
    if (host === '' || shared === undefined || hasRoom(shared, receiver)) return true;
    if (shared.woken.get(receiver) === isSlow(pace)) return true;
    addWaiting(shared, receiver);
    return false;
  }

  enter(request: SlotRequest<R>): void {
    const { receiver, host, at, size } = request;
    const { pace } = receiver;
    const wasCrowded = this.isCrowded;
    receiver.inFlight += 1;
    request.pool = pace;
    this.inPool[pace] += 1;
    this.size += size;
    if (pace === 'normal') this.started.add(request);
    if (this.isCrowded && !wasCrowded) this.crowdedAt = at;
    if (host === '') return;
    const shared = this.hosts.get(host) ?? newHost();
    takeWoken(shared, receiver);
    count(shared, receiver, isSlow(pace), 1);
    this.hosts.set(host, shared);
  }

  /** A request has ended. `ms`: how long the receiver took; absent if there was no attempt. */
  leave(request: SlotRequest<R>, now: number, ms: number | undefined): void {
    const { receiver, host, pool, size } = request;
    request.hasEnded = true;
    receiver.inFlight -= 1;
    if (pool === 'late') receiver.late -= 1;
    this.inPool[pool] -= 1;
    this.size -= size;
    if (ms !== undefined && ms < LIMITS.slowMs) receiver.answered = now;
    if (ms !== undefined && receiver.inFlight === 0) receiver.pace = paceOf(ms);
    const shared = this.hosts.get(host);
    if (shared !== undefined) count(shared, receiver, isSlow(pool), -1);
    this.wakeOthers(host);
  }

  /** The receiver does not use the slot for which it was woken, if it was: others may. */
  passOn(receiver: R): void {
    const shared = this.hosts.get(receiver.host);
    if (shared !== undefined) takeWoken(shared, receiver);
    this.wakeOthers(receiver.host);
  }

  /** The receiver sends to another host from now on. */
  move(receiver: R, host: string): void {
    this.leaveHost(receiver);
    receiver.host = host;
  }

  /** The receiver is not served any more. */
  forget(receiver: R): void {
    for (const waiting of Object.values(this.waiting)) waiting.delete(receiver);
    this.leaveHost(receiver);
  }

  /** Requests become late, and receivers slow. `waiting`: the number of receivers that wait for their turns. */
  elapse(now: number, waiting: number): void {
    while (isBefore(this.started, now - this.patience(waiting))) this.giveUp();
    while (isBefore(this.late, now - LIMITS.slowMs)) {
      const receiver = this.late.take()?.receiver;
      if (receiver?.pace === 'normal') receiver.pace = 'slow';
    }
  }

  /** When `elapse` may have something to do. */
  nextTime(waiting: number): number {
    const [started = Infinity, late = Infinity] = [this.started.first?.at, this.late.first?.at];
    return Math.min(started + this.patience(waiting), late + LIMITS.slowMs);
  }

  /** Nobody can enter. */
  private get isExhausted(): boolean {
    return this.inFlight >= LIMITS.most || this.size >= LIMITS.mostSize;
  }

  private get isCrowded(): boolean {
    return this.inPool.normal + this.inPool.late >= LIMITS.normal;
  }

  /** How long (ms) a request keeps a normal slot. */
  private patience(waiting: number): number {
    if (!this.isCrowded) return LIMITS.slowMs;
    return Math.min(LIMITS.crowdMs, Math.ceil((LIMITS.turnsMs * LIMITS.normal) / Math.max(1, waiting)));
  }

  private mostOf({ pace, late, answered }: R): number {
    if (pace !== 'normal' || late > 0) return 1;
    return this.isCrowded && answered <= this.crowdedAt ? 1 : LIMITS.receiver;
  }

  /** The oldest request in a normal slot is late from now on. */
  private giveUp(): void {
    const request = this.started.take();
    if (request === undefined) return;
    request.pool = 'late';
    request.receiver.late += 1;
    this.inPool.normal -= 1;
    this.inPool.late += 1;
    this.late.add(request);
  }

  private wakeOthers(host: string): void {
    const shared = this.hosts.get(host);
    if (shared !== undefined) this.wakeAt(shared);
    if (shared?.inFlight === 0 && this.hosts.size > LIMITS.idleHosts) this.hosts.delete(host);
    for (const pace of ['slow', 'hung'] as const)
      if (this.inPool[pace] < LIMITS[pace]) this.wakeOne(this.waiting[pace]);
  }

  /** Wakes receivers as long as one has room: owners take turns. */
  private wakeAt(shared: SlotHost<R>): void {
    for (const [key, waiting] of shared.waiting) {
      if (shared.inFlight >= LIMITS.host) return;
      const receiver = firstOf(shared, key, waiting);
      if (receiver === undefined || !hasRoom(shared, receiver)) continue;
      waiting.delete(receiver);
      shared.waiting.delete(key);
      // At the end, so that the loop returns to it.
      if (waiting.size > 0) shared.waiting.set(key, waiting);
      shared.woken.set(receiver, isSlow(receiver.pace));
      count(shared, receiver, isSlow(receiver.pace), 1);
      this.wake(receiver);
    }
  }

  /** The receiver waits no longer. Its pace may have changed since it began to. */
  private leaveHost(receiver: R): void {
    const shared = this.hosts.get(receiver.host);
    if (shared === undefined) return;
    for (const [key, waiting] of shared.waiting)
      if (waiting.delete(receiver) && waiting.size === 0) shared.waiting.delete(key);
    if (shared.woken.has(receiver)) this.passOn(receiver);
  }

  private wakeOne(waiting: Set<R>): void {
    for (const receiver of waiting) {
      waiting.delete(receiver);
      this.wake(receiver);
      return;
    }
  }
}

/**
 * Whether a receiver may have one more request at its host. However many an owner has, some are left for others, and
 * what it has shrinks with what is left. However many owners have receivers that are slow or hung, some are left for
 * the other receivers.
 */
function hasRoom<R>({ inFlight, slow, perOwner }: SlotHost<R>, { owner, pace }: Occupant): boolean {
  if (isSlow(pace) && slow >= LIMITS.hostSlow) return false;
  const share = isSlow(pace) ? 1 : LIMITS.ownerShare;
  return (perOwner.get(owner) ?? 0) < share * (LIMITS.host - inFlight);
}

function newHost<R>(): SlotHost<R> {
  return { inFlight: 0, slow: 0, perOwner: new Map(), waiting: new Map(), woken: new Map() };
}

/** A late request counts as what it was: normal. */
function isSlow(pool: Pool): boolean {
  return pool === 'slow' || pool === 'hung';
}

function queueOf({ owner, pace }: Occupant): string {
  return `${owner} ${isSlow(pace) ? 'slow' : 'normal'}`;
}

function addWaiting<R extends Occupant>(shared: SlotHost<R>, receiver: R): void {
  const key = queueOf(receiver);
  const waiting = shared.waiting.get(key) ?? new Set();
  shared.waiting.set(key, waiting.add(receiver));
}

/** The first one of a queue; those before whose pace has changed go to the other queue of their owner. */
function firstOf<R extends Occupant>(shared: SlotHost<R>, key: string, waiting: Set<R>): R | undefined {
  for (const receiver of waiting) {
    if (queueOf(receiver) === key) return receiver;
    waiting.delete(receiver);
    addWaiting(shared, receiver);
  }
  shared.waiting.delete(key);
  return undefined;
}

function takeWoken<R extends Occupant>(shared: SlotHost<R>, receiver: R): void {
  const wasSlow = shared.woken.get(receiver);
  if (wasSlow === undefined) return;
  shared.woken.delete(receiver);
  count(shared, receiver, wasSlow, -1);
}

function count<R>(shared: SlotHost<R>, { owner }: Occupant, isOfSlow: boolean, by: 1 | -1): void {
  shared.inFlight += by;
  if (isOfSlow) shared.slow += by;
  const own = (shared.perOwner.get(owner) ?? 0) + by;
  if (own === 0) shared.perOwner.delete(owner);
  else shared.perOwner.set(owner, own);
}

function paceOf(ms: number): HostPace {
  if (ms < LIMITS.slowMs) return 'normal';
  return ms < LIMITS.hungMs ? 'slow' : 'hung';
}

/** Whether the first request that has not ended was started by then; drops those before it. */
function isBefore<R>(requests: Fifo<SlotRequest<R>>, time: number): boolean {
  while (requests.first?.hasEnded === true) requests.take();
  return requests.first !== undefined && requests.first.at <= time;
}
