import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type DirectoryEvent } from './events';
import { PastValues } from './past-values';

/**
 * The currencies of programs at each position of the log: amounts of events that do not record their currency are in the
 * one of that time, whatever the program has today.
 */
export class Currencies {
  private readonly programs = new PastValues<string>();
  /** The first program of each feed. */
  private readonly feeds = new PastValues<number>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type === 'ProgramDefined') this.programs.note(event.data.id, position, event.data.currency);
    else if (event.type === 'FeedDefined') {
      const [first] = event.data.programIds;
      if (first !== undefined) this.feeds.note(event.data.id, position, first);
    }
  }

  /** ISO 4217; undefined if the program was not defined by then. A removed program keeps its last one. */
  ofProgram(programId: number, at: Position): string | undefined {
    return this.programs.at(programId, at);
  }

  /** The position from which a program has had its present currency. */
  since(programId: number): Position {
    return this.programs.since(programId) ?? START;
  }

  /** As `ofProgram`, for the program that was the feed's first one (`docs/decisions.md#p26`). */
  ofFeed(feedId: number, at: Position): string | undefined {
    const programId = this.feeds.at(feedId, at);
    return programId === undefined ? undefined : this.ofProgram(programId, at);
  }
}
