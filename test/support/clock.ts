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

/** Runs as the system clock does, except that its longer timers fire only when the test lets them. */
export class HeldClock extends SystemClock {
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

  override async pause(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < this.from) {
      await super.pause(ms, signal);
      return;
    }
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const timer = this.timer(ms, resolve);
      signal?.addEventListener('abort', () => {
        timer.cancel();
        reject(signal.reason as Error);
      });
    });
  }

  /** Lets those of at most so many ms fire. */
  fire(most: number): void {
    for (const entry of [...this.held]) if (entry.ms <= most && this.held.delete(entry)) entry.callback();
  }
}
