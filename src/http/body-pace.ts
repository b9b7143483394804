import { httpFaults } from '../wire/api/http-faults';

/** Seconds for which a client may keep us waiting, and bytes for which it has one of them back (`docs/decisions.md#x11`). */
const PATIENCE = 30;
const PER_SECOND = 1024;
const SECOND_MS = 1_000;

/**
 * The pace at which a client sends a body. Counts the seconds in which the reader waits for it, one at a time: those in
 * which nobody reads, or in which this thread is busy, are not the client's.
 */
export class BodyPace {
  private left = PATIENCE;
  private late: (() => void) | undefined;
  private readonly timer = setInterval(() => this.second(), SECOND_MS).unref();

  /** Calls `late` if the client keeps us waiting for too long, until `received` or `end` is called. */
  waiting(late: () => void): void {
    this.late = late;
  }

  received(bytes: number): void {
    this.late = undefined;
    this.left = Math.min(PATIENCE, this.left + bytes / PER_SECOND);
  }

  end(): void {
    this.late = undefined;
    clearInterval(this.timer);
  }

  private second(): void {
    if (this.late === undefined) return;
    this.left -= 1;
    if (this.left <= 0) this.late();
  }
}

export const tooSlow = (): Error =>
  httpFaults.timeout(
    `the body arrives too slowly: expected ${PER_SECOND} bytes a second, and no pause of ${PATIENCE} s`,
  );
