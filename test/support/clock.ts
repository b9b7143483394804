import { SystemClock } from '../../src/runtime/clock';

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
