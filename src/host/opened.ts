/** What has been opened, to be closed in the opposite order. */
export class Opened {
  private readonly closings: (() => Promise<void>)[] = [];

  /** Adds what is closed before everything that was opened earlier. */
  push(close: () => Promise<void>): void {
    this.closings.push(close);
  }

  /** Closes everything, whatever fails. Then raises the failure, several as an `AggregateError`. Does nothing the second time. */
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

/** Opens several things. When that fails, closes those opened before, reports what fails meanwhile, and raises the first failure. */
export async function openAll<Result>(
  open: (opened: Opened) => Promise<Result>,
  report: (failure: unknown) => void,
): Promise<Result> {
  const opened = new Opened();
  try {
    return await open(opened);
  } catch (error) {
    await opened.close().catch(report);
    throw error;
  }
}
