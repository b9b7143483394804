import { type Position, type RecordedEvent } from '../../kernel/event';

/** Target size of a batch; exceeded by less than one event. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Collects events for the next batch. */
export class BatchBuffer {
  #events: RecordedEvent[] = [];
  #bytes = 0;

  /** `most`: maximum events in a batch. */
  constructor(private readonly most: number) {}

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Position of the last event; undefined if there is none. */
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

  /** Removes and returns all events. */
  take(): readonly RecordedEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#bytes = 0;
    return events;
  }
}
