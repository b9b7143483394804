/**
 * Ends the thread with a bug that nobody can handle; a thread that has died is reported and replaced (`startThread`), the main
 * thread ends the process. For promises without another owner, which an unhandled rejection would end in the same way, but by
 * accident.
 */
export function crash(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
