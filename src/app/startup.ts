/** A line is logged at this interval while a process starts, the first one after a moment (ms). */
const LINE_MS = { first: 1_000, interval: 5_000, look: 500 } as const;

/** What a process that is starting waits for: for requests that arrive meanwhile, and for the log. */
export class Startup {
  private current = 'the engines are being opened';
  private nextLine: number;

  constructor(
    private readonly log: (line: string) => void,
    /** A monotonic clock (ms). */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.nextLine = now() + LINE_MS.first;
  }

  get reason(): string {
    return this.current;
  }

  /** Logs the reason at each interval, however long it stays the same, until the function that it returns is called. */
  repeat(): () => void {
    const timer = setInterval(() => this.waitsFor(this.current), LINE_MS.look);
    return () => clearInterval(timer);
  }

  /** Logs the reason, at most once per interval. */
  waitsFor(reason: string): void {
    this.current = reason;
    if (this.now() < this.nextLine) return;
    this.nextLine = this.now() + LINE_MS.interval;
    this.log(`starting: ${reason}`);
  }
}
