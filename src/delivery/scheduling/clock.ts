/**
 * The clock of all that is scheduled in this process (ms, `docs/decisions.md#n3`): the time that has passed, which nobody can
 * set. It stands still while the machine is suspended. Times that are stored are those of the system clock (`Date.now`). Whoever
 * schedules one asks how far ahead it is, once and at once, and waits for that long: setting the system clock afterwards changes
 * nothing.
 */
export function now(): number {
  return performance.now();
}

/** How far ahead a stored time (epoch ms) is; negative if it is over. */
export function msUntil(time: number): number {
  return time - Date.now();
}
