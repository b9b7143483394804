import { type Report } from './failure-report';

/** Open resources, closed in reverse order. */
export class Opened {
  private readonly closings: (() => Promise<void>)[] = [];

  /** Adds a resource; it is closed before those added earlier. */
  push(close: () => Promise<void>): void {
    this.closings.push(close);
  }

  /** Closes everything, then raises what failed, several failures as an `AggregateError`. A second call does nothing. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.closings.splice(0).reverse())
      await close().catch((error: unknown) => failures.push(error));
    raise(failures);
  }
}

/** Raises these failures, if there are any. */
export function raise(failures: readonly unknown[]): void {
  if (failures.length === 0) return;
  if (failures.length === 1) throw failures[0];
  throw new AggregateError(failures, failures.map(String).join('; '));
}

/** Opens several resources. On failure closes those already open, reports failures to close, and raises the original one. */
export async function openAll<Result>(
  open: (opened: Opened) => Promise<Result>,
  report: Report,
): Promise<Result> {
  const opened = new Opened();
  try {
    return await open(opened);
  } catch (error) {
    await opened.close().catch(report);
    throw error;
  }
}
