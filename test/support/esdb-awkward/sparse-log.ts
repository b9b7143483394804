import { type NewEvent, type Position, type RecordedEvent, START } from '../../../src/kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  type SubscribeOptions,
} from '../../../src/kernel/event-log';

/** Apparent size of an event in bytes. */
const STEP = 173;

/** A log whose positions have gaps, like the byte offsets of EventStoreDB. */
export class SparseLog extends EventLog {
  constructor(private readonly log: EventLog) {
    super();
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    const { revision, position } = await this.log.append(stream, expected, events);
    return { revision, position: spread(position) };
  }

  override async *readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const events of this.log.readStream(stream, options)) yield events.map(spreadEvent);
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    const after = packed(options.after, Math.floor);
    for await (const batch of this.log.readAll({ ...options, after })) yield spreadBatch(batch);
  }

  override async *readAllBackwards(
    options: ReadBackwardsOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { before, ...rest } = options;
    const inner = before === undefined ? rest : { ...rest, before: packed(before, Math.ceil) };
    for await (const events of this.log.readAllBackwards(inner)) yield events.map(spreadEvent);
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    const after = packed(options.after, Math.floor);
    for await (const batch of this.log.subscribe({ ...options, after })) yield spreadBatch(batch);
  }

  override async head(): Promise<Position> {
    return spread(await this.log.head());
  }

  override async close(): Promise<void> {
    await this.log.close();
  }
}

function spreadBatch({ events, position, caughtUp }: EventBatch): EventBatch {
  return { events: events.map(spreadEvent), position: spread(position), caughtUp };
}

function spreadEvent(event: RecordedEvent): RecordedEvent {
  return { ...event, position: spread(event.position) };
}

function spread(position: Position): Position {
  return toPosition(BigInt(position) * BigInt(STEP));
}

/** The position in the underlying log; `round` is applied between two events. */
function packed(position: Position, round: (quotient: number) => number): Position {
  return toPosition(BigInt(round(Number(position) / STEP)));
}

function toPosition(number: bigint): Position {
  return String(number).padStart(START.length, '0');
}
