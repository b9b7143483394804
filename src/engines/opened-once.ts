/** Something that is opened once, when it is first needed, and may be closed. */
export class OpenedOnce<Opened> {
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;

  constructor(private readonly openOnce: () => Promise<Opened>) {}

  /** Raises `EngineUnavailable`; the next call tries again. */
  async open(): Promise<Opened> {
    const opening = (this.#opening ??= this.openOnce());
    try {
      return (this.#opened = await opening);
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /** Undefined until it is open. */
  get opened(): Opened | undefined {
    return this.#opened;
  }

  /** Waits if it is being opened. */
  async close(close: (opened: Opened) => Promise<void>): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    if (opened !== undefined) await close(opened);
  }
}
