import { type ExpiringLog } from '../kernel/event-log';
import { type LogTicket } from './embedded/log/open-log';

export interface OpenedDeliveries {
  readonly log: ExpiringLog;
  /** Issues a ticket for one more thread, if the log is an embedded one with a thread of its own. */
  readonly ticket?: () => LogTicket;
}

/** The log of deliveries, opened once, when it is first needed: most processes and threads never need it. */
export class Deliveries {
  #opening: Promise<OpenedDeliveries> | undefined;
  #opened: OpenedDeliveries | undefined;

  constructor(private readonly openOnce: () => Promise<OpenedDeliveries>) {}

  /** Raises `EngineUnavailable`; the next call tries again. */
  async open(): Promise<ExpiringLog> {
    const opening = (this.#opening ??= this.openOnce());
    try {
      this.#opened = await opening;
      return this.#opened.log;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /** Undefined unless the log is open. */
  ticket(): LogTicket | undefined {
    return this.#opened?.ticket?.();
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.log.close();
  }
}
