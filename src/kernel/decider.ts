import { randomUUID } from 'node:crypto';
import { NO_STREAM, type NewEvent, type Position, type RecordedEvent, streamOf } from './event';
import { EngineUnavailable, type EventLog, RevisionConflict } from './event-log';

/** An event of a union: discriminated by `type`, its `data` plain JSON. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/**
 * One aggregate's rules, pure: no clock, no chance, no I/O; time and ids come in with the command. `decide` raises
 * a `Fault` to refuse; no events means there is nothing to do.
 */
export interface Decider<Command, State, Event extends DomainEvent> {
  /** Its streams are `<category>-<id>`. */
  readonly category: string;
  readonly initial: State;
  decide(command: Command, state: State): readonly Event[];
  evolve(state: State, event: Event): State;
}

/** What became of a command: `position` is that of the last event appended, absent if there was nothing to do. */
export interface Executed<Event> {
  readonly events: readonly Event[];
  readonly position?: Position;
}

/** A domain event as the log takes it. */
export function toNewEvent(event: DomainEvent, id: string = randomUUID()): NewEvent {
  return { id, type: event.type, data: JSON.stringify(event.data), meta: '{}' };
}

/** A recorded event as the fold takes it: the types' names and shapes are what was appended. */
export function toDomainEvent({ type, data }: RecordedEvent): DomainEvent {
  return { type, data: JSON.parse(data) as object };
}

const ATTEMPTS = 20;

/**
 * Loads an aggregate, decides, appends at the loaded revision. When another was faster it starts over; when the
 * answer is lost it appends again with the same ids, which the log makes harmless.
 */
export async function execute<Command, State, Event extends DomainEvent>(
  log: EventLog,
  decider: Decider<Command, State, Event>,
  id: string | number,
  command: Command,
): Promise<Executed<Event>> {
  const stream = streamOf(decider.category, id);
  for (let attempt = 1; ; attempt += 1) {
    const { state, revision } = await load(log, decider, stream);
    const events = decider.decide(command, state);
    if (events.length === 0) return { events };
    try {
      const appended = await appendSurely(
        log,
        stream,
        revision,
        events.map((event) => toNewEvent(event)),
      );
      return { events, position: appended.position };
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The state of a stream as of its last event. */
async function load<State, Event extends DomainEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'initial' | 'evolve'>,
  stream: string,
): Promise<{ state: State; revision: number }> {
  let state = decider.initial;
  let revision = NO_STREAM;
  for await (const batch of log.readStream(stream)) {
    for (const recorded of batch) {
      state = decider.evolve(state, toDomainEvent(recorded) as Event);
      revision = recorded.revision;
    }
  }
  return { state, revision };
}

/** Appends; when the answer is lost, once more with the same ids at the same revision. */
export async function appendSurely(
  log: EventLog,
  stream: string,
  expected: number,
  events: readonly NewEvent[],
): Promise<{ revision: number; position: Position }> {
  try {
    return await log.append(stream, expected, events);
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    return await log.append(stream, expected, events);
  }
}
