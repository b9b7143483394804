import { NamedError } from '../kernel/fault';
import { type Clock } from './clock';
import { Backoff, isAbort, reasonOf } from './unavailable';
import { type LeaseHolder } from './lease-holder';

/** Why work makes no progress. Each reason is reported when it is new. */
export class Troubles {
  /** By the name of what fails. */
  private readonly reasons = new Map<string, string>();

  constructor(private readonly report: (failure: unknown) => void) {}

  /** One reason; undefined while everything makes progress. */
  get reason(): string | undefined {
    const [reason] = this.reasons.values();
    return reason;
  }

  /** `failure` is reported unless it has the same reason as the last one of this name. */
  add(name: string, failure: unknown, reason = reasonOf(failure)): void {
    if (this.reasons.get(name) === reason) return;
    this.reasons.set(name, reason);
    this.report(failure);
  }

  /** What has this name makes progress again. */
  clear(name: string): void {
    this.reasons.delete(name);
  }

  /** Runs `work`, and records whether it has failed. */
  async during(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.clear(name);
    } catch (error) {
      this.add(name, error);
    }
  }
}

/** Repeats `work`, `ms` after it has ended, until the signal aborts. `work` handles its failures. */
export async function repeatEvery(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await clock.pause(ms, signal).catch(() => undefined);
  }
}

/** Raised by `Leader.requireLease`: another process may lead by now. */
class LeaseLost extends NamedError {}

export interface Leading {
  /** Leads until it is stopped, the lease is lost, or it has to restart. */
  lead(): Promise<void>;
  /** Called at each look at the lease while another process has it. */
  standBy(): void | Promise<void>;
  /**
   * Handles what `lead` or `standBy` has raised. False: it leads again at once, otherwise after a back-off. Aborts and
   * lost leases are not passed.
   */
  failed(error: unknown): boolean;
  /** Interval between looks at the lease (ms). */
  readonly lookMs: number;
  /** Delays after failures (ms). */
  readonly backoffMs: { readonly first: number; readonly longest: number };
}

/** Leads in the process that holds a lease, and stands by in the others; restarts after failures, with back-off. */
export class Leader {
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private running: Promise<void> | undefined;

  constructor(
    private readonly lease: LeaseHolder,
    private readonly leading: Leading,
  ) {
    this.backoff = new Backoff(lease.clock, leading.backoffMs);
  }

  /** Aborts when it is stopped. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  start(): Promise<void> {
    return (this.running ??= this.run());
  }

  /** Waits for `lead` to end, and releases the lease. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.lease.release();
  }

  /** Call after a success: the next delay is the first one again. */
  progressed(): void {
    this.backoff.reset();
  }

  /** Ends the lead, by an error, if it has been stopped or the lease is lost. */
  async requireLease(): Promise<void> {
    this.signal.throwIfAborted();
    if (!(await this.lease.acquire())) throw new LeaseLost();
  }

  /**
   * Runs `work` until it ends, it is stopped, the lease is lost, or `mayLead`, which is asked at each look, returns
   * false. Its signal aborts then.
   */
  async leadWith(
    work: (signal: AbortSignal) => Promise<void>,
    mayLead: (signal: AbortSignal) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<void> {
    const ending = new AbortController();
    const signal = AbortSignal.any([this.signal, ending.signal]);
    const watch = async (): Promise<void> => {
      while ((await this.lease.acquire()) && (await mayLead(signal)))
        await this.lease.clock.pause(this.leading.lookMs, signal);
    };
    const results = await Promise.allSettled(
      [work(signal), watch()].map((task) => task.finally(() => ending.abort())),
    );
    for (const result of results)
      if (result.status === 'rejected' && !isAbort(result.reason)) throw result.reason;
  }

  private async run(): Promise<void> {
    while (!this.signal.aborted) {
      try {
        if (await this.lease.acquire()) await this.lease.renewDuring(() => this.leading.lead());
        else await this.standBy();
        this.backoff.reset();
      } catch (error) {
        if (isAbort(error) || error instanceof LeaseLost) continue;
        if (this.leading.failed(error)) await this.backoff.wait(this.signal);
      }
    }
  }

  private async standBy(): Promise<void> {
    await this.leading.standBy();
    await this.lease.clock.pause(this.leading.lookMs, this.signal);
  }
}
