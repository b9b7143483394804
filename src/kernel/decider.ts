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
  /** The first and the last event of a stream say all there is to know: those between them are not read. */
  readonly readsEndsOnly?: true;
  decide(command: Command, state: State): readonly Event[];
  evolve(state: State, event: Event): State;
}

/** A stream folded up to its last event. */
export interface Loaded<State> {
  readonly state: State;
  readonly revision: number;
}

/** What became of a command: `position` is that of the last event appended, absent if there was nothing to do. */
export interface Executed<State, Event> {
  readonly events: readonly Event[];
  /** With these events. */
  readonly state: State;
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

/** So often others may be faster: each of these times one of them has got on. */
const ATTEMPTS = 200;

/**
 * Loads an aggregate (unless it is `known` already), decides, appends at the loaded revision. When another was faster it
 * starts over; when the answer is lost it appends again with the same ids, which the log makes harmless.
 */
export async function execute<Command, State, Event extends DomainEvent>(
  log: EventLog,
  decider: Decider<Command, State, Event>,
  id: string | number,
  command: Command,
  known?: Loaded<State>,
): Promise<Executed<State, Event>> {
  const stream = streamOf(decider.category, id);
  for (let attempt = 1; ; attempt += 1) {
    const { state, revision } = attempt === 1 && known !== undefined ? known : await load(log, decider, id);
    const events = decider.decide(command, state);
    if (events.length === 0) return { events, state };
    try {
      const appended = await appendIdempotently(
        log,
        stream,
        revision,
        events.map((event) => toNewEvent(event)),
      );
      return {
        events,
        state: events.reduce((before, event) => decider.evolve(before, event), state),
        position: appended.position,
      };
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** An aggregate as of the last event of its stream. */
export async function load<State, Event extends DomainEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'category' | 'initial' | 'evolve' | 'readsEndsOnly'>,
  id: string | number,
): Promise<Loaded<State>> {
  let state = decider.initial;
  let revision = NO_STREAM;
  const reads = decider.readsEndsOnly === true ? [{ limit: 1 }, { backwards: true, limit: 1 }] : [{}];
  for (const options of reads) {
    for await (const batch of log.readStream(streamOf(decider.category, id), options)) {
      for (const recorded of batch) {
        if (recorded.revision <= revision) continue;
        state = decider.evolve(state, toDomainEvent(recorded) as Event);
        revision = recorded.revision;
      }
    }
  }
  return { state, revision };
}

/** Appends; when the answer is lost, once more with the same ids at the same revision. */
export async function appendIdempotently(
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
