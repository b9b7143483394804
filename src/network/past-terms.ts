import { type Position, type RecordedEvent } from '../kernel/event';
import { type Terms } from './commission';
import { type DirectoryEvent } from './events';
import { PastValues } from './collections';

/**
 * What programs paid for their events at each position of the log: transactions and claims that were stored before they
 * recorded it have the terms of that time, whatever has become of the program.
 */
export class PastTerms {
  /** By event id. */
  private readonly programs = new PastValues<Readonly<Record<string, Terms>>>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type !== 'ProgramDefined') return;
    const { id, events } = event.data;
    const terms = events.map((one) => [String(one.id), termsOf(one)] as const);
    this.programs.note(id, position, Object.fromEntries(terms));
  }

  /** Undefined if the program did not have the event then. A removed program keeps its last ones. */
  at(programId: number, eventId: number, position: Position): Terms | undefined {
    return this.programs.at(programId, position)?.[String(eventId)];
  }
}

/** The terms alone, to be recorded; without a commission if the event has none. */
export function termsOf({ commission }: Terms): Terms {
  return commission === undefined ? {} : { commission };
}
