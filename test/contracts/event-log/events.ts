import { randomUUID } from 'node:crypto';
import { type NewEvent, NO_STREAM, type Position, type RecordedEvent } from '../../../src/kernel/event';
import { type EventBatch, type EventLog, type ReadStreamOptions } from '../../../src/kernel/event-log';

/** The log as the test at hand has it. */
export interface Subject {
  readonly log: () => EventLog;
  readonly reopen: () => Promise<EventLog>;
}

/** A category that no other test uses: its streams, found by prefix, are alone with this test. */
export function newCategory(): string {
  return `tried${randomUUID().slice(0, 8)}`;
}

export function newEvent(data: object = {}): NewEvent {
  return { id: randomUUID(), type: 'Happened', data: JSON.stringify(data), meta: '{}' };
}

export function newEvents(count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, n) => newEvent({ n }));
}

/** Appends so many new events to a new stream, as many at a time as an append may hold. */
export async function fill(log: EventLog, stream: string, count: number): Promise<readonly NewEvent[]> {
  const events = newEvents(count);
  for (let at = 0; at < count; at += 500) await log.append(stream, at - 1, events.slice(at, at + 500));
  return events;
}

/** Appends one event to the end of a stream, over again as long as others are faster. */
export async function appendAtEnd(log: EventLog, stream: string, event: NewEvent): Promise<void> {
  const [last] = await streamOf(log, stream, { backwards: true, limit: 1 });
  for (let revision = last?.revision ?? NO_STREAM; ;) {
    try {
      await log.append(stream, revision, [event]);
      return;
    } catch (error) {
      // By its mark: an engine may run from compiled code, whose classes are others.
      const actual: unknown = error instanceof Error ? Reflect.get(error, 'actual') : undefined;
      if (typeof actual !== 'number') throw error;
      revision = actual;
    }
  }
}

/** All events that a read of one stream gives. */
export async function streamOf(
  log: EventLog,
  stream: string,
  options?: ReadStreamOptions,
): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const batch of log.readStream(stream, options)) events.push(...batch);
  return events;
}

/** All events that an iteration of batches gives until it ends, or until these are enough. */
export async function gather(
  batches: AsyncIterable<EventBatch>,
  enough: (events: readonly RecordedEvent[], batch: EventBatch) => boolean = () => false,
): Promise<{ events: readonly RecordedEvent[]; position: Position | undefined }> {
  const events: RecordedEvent[] = [];
  let position: Position | undefined;
  for await (const batch of batches) {
    events.push(...batch.events);
    position = batch.position;
    if (enough(events, batch)) break;
  }
  return { events, position };
}

export function idsOf(events: readonly { readonly id: string }[]): readonly string[] {
  return events.map(({ id }) => id);
}
