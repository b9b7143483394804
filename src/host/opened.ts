/** What has been opened, to be closed in the opposite order. */
export class Opened {
  private readonly closings: (() => Promise<void>)[] = [];

  /** Has something closed before all that was opened earlier. */
  push(close: () => Promise<void>): void {
    this.closings.push(close);
  }

  /** Closes everything, whatever fails; raises the first of the failures at the end. Does nothing the second time. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.closings.splice(0).reverse())
      await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}
