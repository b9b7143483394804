import { type NewEvent, type Position, type RecordedEvent } from '../../../src/kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  type SubscribeOptions,
} from '../../../src/kernel/event-log';

/** A log that counts the events that are read from it, in any way. */
export class CountedLog extends EventLog {
  /** So far. */
  read = 0;

  constructor(private readonly log: EventLog) {
    super();
  }

  override append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    return this.log.append(stream, expected, events);
  }

  override async *readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const events of this.log.readStream(stream, options)) yield this.counted(events);
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    for await (const batch of this.log.readAll(options)) {
      this.counted(batch.events);
      yield batch;
    }
  }

  override async *readAllBackwards(options?: ReadBackwardsOptions): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const events of this.log.readAllBackwards(options)) yield this.counted(events);
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    for await (const batch of this.log.subscribe(options)) {
      this.counted(batch.events);
      yield batch;
    }
  }

  override head(): Promise<Position> {
    return this.log.head();
  }

  override close(): Promise<void> {
    return this.log.close();
  }

  private counted(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    this.read += events.length;
    return events;
  }
}
