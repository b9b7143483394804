import { type Position, type RecordedEvent } from '../../kernel/event';

/** Bytes after which a batch is cut: it is over them by less than one event. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Events gathered for a batch. */
export class Gathered {
  #events: RecordedEvent[] = [];
  #bytes = 0;

  /** `most`: events in a batch. */
  constructor(private readonly most: number) {}

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Position of the last one; undefined where there is none. */
  get last(): Position | undefined {
    return this.#events.at(-1)?.position;
  }

  get isFull(): boolean {
    return this.#events.length >= this.most || this.#bytes >= BATCH_BYTES;
  }

  add(event: RecordedEvent): void {
    this.#events.push(event);
    this.#bytes += event.data.length + event.meta.length;
  }

  /** All that have been gathered; what is gathered next makes another batch. */
  take(): readonly RecordedEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#bytes = 0;
    return events;
  }
}
