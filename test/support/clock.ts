import { SystemClock, type Timer } from '../../src/runtime/clock';

/** Runs as the system clock does, but shows other times; by default its monotonic time is the real one. */
export class TestClock extends SystemClock {
  constructor(
    private readonly wallTime: () => Date | number,
    private readonly monotonicTime: () => number = () => performance.now(),
  ) {
    super();
  }

  override wall(): number {
    return Number(this.wallTime());
  }

  override monotonic(): number {
    return this.monotonicTime();
  }
}

/** A system clock whose pauses are timers. */
class TimerClock extends SystemClock {
  override async pause(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const timer = this.timer(ms, resolve);
      signal?.addEventListener('abort', () => {
        timer.cancel();
        reject(signal.reason as Error);
      });
    });
  }
}

/** Runs as the system clock does, except that its longer timers fire only when the test lets them. */
export class HeldClock extends TimerClock {
  private readonly held = new Set<{ readonly ms: number; readonly callback: () => void }>();

  /** Timers and pauses of at least so many ms are held. */
  constructor(private readonly from: number) {
    super();
  }

  override timer(ms: number, callback: () => void): Timer {
    if (ms < this.from) return super.timer(ms, callback);
    const entry = { ms, callback };
    this.held.add(entry);
    const timer: Timer = {
      cancel: () => {
        this.held.delete(entry);
      },
      unref: () => timer,
    };
    return timer;
  }

  /** Lets those of at most so many ms fire. */
  fire(most: number): void {
    for (const entry of [...this.held]) if (entry.ms <= most && this.held.delete(entry)) entry.callback();
  }
}

/** Runs as the system clock does, and lets time pass at once when the test says so. */
export class SkippingClock extends TimerClock {
  private skipped = 0;
  private readonly timers = new Set<{ readonly at: number; real: Timer; readonly fire: () => void }>();

  override wall(): number {
    return super.wall() + this.skipped;
  }

  override monotonic(): number {
    return super.monotonic() + this.skipped;
  }

  override timer(ms: number, callback: () => void): Timer {
    const fire = (): void => {
      this.timers.delete(entry);
      callback();
    };
    const entry = { at: this.monotonic() + ms, real: super.timer(ms, fire), fire };
    this.timers.add(entry);
    const timer: Timer = {
      cancel: () => {
        entry.real.cancel();
        this.timers.delete(entry);
      },
      unref: () => {
        entry.real.unref();
        return timer;
      },
    };
    return timer;
  }

  /** Lets so many ms pass. */
  skip(ms: number): void {
    this.skipped += ms;
    for (const entry of [...this.timers]) {
      entry.real.cancel();
      entry.real = super.timer(Math.max(0, entry.at - this.monotonic()), entry.fire);
    }
  }
}
