/** `docs/decisions.md#n7`. */
export const LIMITS = {
  /** Requests in flight to receivers that are not slow. */
  all: 256,
  /** In flight to slow receivers when a further one is started. Those in flight when their receivers become slow may be more. */
  slow: 64,
  /** Requests in flight whatever happens. */
  most: 512,
  receiver: 4,
  slowReceiver: 1,
  host: 16,
  /** A request that takes longer makes its receiver slow. */
  slowMs: 2_000,
  perSecond: 50,
  burst: 100,
} as const;

/** What is counted of a receiver. */
interface Occupant {
  readonly host: string;
  inFlight: number;
  isSlow: boolean;
}

interface Host<R> {
  inFlight: number;
  readonly waiting: Set<R>;
}

/** The slots for requests in flight: in all, for slow receivers, per receiver and per host. */
export class Slots<R extends Occupant> {
  private normal = 0;
  private slowOnes = 0;
  private readonly waitingSlow = new Set<R>();
  private readonly hosts = new Map<string, Host<R>>();

  /** `wake` is called for a receiver that `mayEnter` has refused, when a slot has become free. */
  constructor(private readonly wake: (receiver: R) => void) {}

  get inFlight(): number {
    return this.normal + this.slowOnes;
  }

  /** No receiver that is as slow as this one can enter, except slow ones that wait for others. */
  isFull({ isSlow }: R): boolean {
    return this.inFlight >= LIMITS.most || (!isSlow && this.normal >= LIMITS.all);
  }

  mayEnter(receiver: R): boolean {
    if (this.isFull(receiver)) return false;
    const { isSlow, inFlight, host } = receiver;
    if (inFlight >= (isSlow ? LIMITS.slowReceiver : LIMITS.receiver)) return false;
    if (isSlow && this.slowOnes >= LIMITS.slow) {
      this.waitingSlow.add(receiver);
      return false;
    }
    const shared = this.hosts.get(host);
    if (host === '' || shared === undefined || shared.inFlight < LIMITS.host) return true;
    shared.waiting.add(receiver);
    return false;
  }

  enter(receiver: R): void {
    receiver.inFlight += 1;
    if (receiver.isSlow) this.slowOnes += 1;
    else this.normal += 1;
    if (receiver.host === '') return;
    const host = this.hosts.get(receiver.host) ?? { inFlight: 0, waiting: new Set() };
    host.inFlight += 1;
    this.hosts.set(receiver.host, host);
  }

  /** A request of the receiver takes long. */
  slow(receiver: R): void {
    if (receiver.isSlow) return;
    receiver.isSlow = true;
    this.normal -= receiver.inFlight;
    this.slowOnes += receiver.inFlight;
  }

  /** A request has ended after some time. */
  leave(receiver: R, ms: number): void {
    receiver.inFlight -= 1;
    if (receiver.isSlow) this.slowOnes -= 1;
    else this.normal -= 1;
    if (receiver.inFlight === 0) receiver.isSlow = ms >= LIMITS.slowMs;
    this.wakeOne(this.waitingSlow);
    const host = this.hosts.get(receiver.host);
    if (host === undefined) return;
    host.inFlight -= 1;
    this.wakeOne(host.waiting);
    if (host.inFlight === 0 && host.waiting.size === 0) this.hosts.delete(receiver.host);
  }

  /** The receiver is served no longer: it does not wait for a slot. */
  forget(receiver: R): void {
    this.waitingSlow.delete(receiver);
    this.hosts.get(receiver.host)?.waiting.delete(receiver);
  }

  /** The receiver does not use the slot for which it was woken: another one may. */
  passOn({ host }: R): void {
    const shared = this.hosts.get(host);
    if (shared !== undefined && shared.inFlight < LIMITS.host) this.wakeOne(shared.waiting);
    if (this.slowOnes < LIMITS.slow) this.wakeOne(this.waitingSlow);
  }

  private wakeOne(waiting: Set<R>): void {
    for (const receiver of waiting) {
      waiting.delete(receiver);
      this.wake(receiver);
      return;
    }
  }
}
