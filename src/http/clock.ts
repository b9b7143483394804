/** The present, as handlers take it; tests provide another one. */
export class Clock {
  now(): Date {
    return new Date();
  }
}
