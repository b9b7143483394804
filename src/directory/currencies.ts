import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type DirectoryEvent } from './events';

/** What something was from a position on. */
type Since<Value> = readonly [position: Position, value: Value];

/**
 * The currencies of programs at each position of the log: amounts of events that do not record their currency are in the
 * one of that time, whatever the program has today.
 */
export class Currencies {
  private readonly programs = new Map<number, Since<string>[]>();
  /** The first program of each feed. */
  private readonly feeds = new Map<number, Since<number>[]>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type === 'ProgramDefined')
      noteValue(this.programs, event.data.id, [position, event.data.currency]);
    else if (event.type === 'FeedDefined') {
      const [first] = event.data.programIds;
      if (first !== undefined) noteValue(this.feeds, event.data.id, [position, first]);
    }
  }

  /** ISO 4217; undefined if the program was not defined by then. A removed program keeps its last one. */
  ofProgram(programId: number, at: Position): string | undefined {
    return valueAt(this.programs.get(programId), at);
  }

  /** The position from which a program has had its present currency. */
  since(programId: number): Position {
    return this.programs.get(programId)?.at(-1)?.[0] ?? START;
  }

  /** As `ofProgram`, for the program that was the feed's first one (`docs/decisions.md#p26`). */
  ofFeed(feedId: number, at: Position): string | undefined {
    const programId = valueAt(this.feeds.get(feedId), at);
    return programId === undefined ? undefined : this.ofProgram(programId, at);
  }
}

function noteValue<Value>(all: Map<number, Since<Value>[]>, id: number, since: Since<Value>): void {
  const known = all.get(id);
  if (known === undefined) all.set(id, [since]);
  else if (known.at(-1)?.[1] !== since[1]) known.push(since);
}

function valueAt<Value>(known: readonly Since<Value>[] = [], at: Position): Value | undefined {
  return known.findLast(([position]) => position <= at)?.[1];
}
