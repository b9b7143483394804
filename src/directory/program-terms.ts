import { isDeepStrictEqual } from 'node:util';
import { type Position, START } from '../kernel/event';
import { type DirectoryEvent, type ProgramDefinition } from './events';

/** What the amounts of a program are in, and what its events pay. */
export type Terms = Pick<ProgramDefinition, 'currency' | 'events'>;

type TermsSince = Terms & { readonly since: Position };

/**
 * The terms of each program at any position of the log, also after its removal. Events that were written before they recorded
 * a currency or a commission have those of their position, so that a later change does not change them.
 */
export class ProgramTerms {
  /** Oldest first; each differs from the one before. */
  private readonly history = new Map<number, TermsSince[]>();

  note(since: Position, { type, data }: DirectoryEvent): void {
    if (type !== 'ProgramDefined') return;
    const { id, currency, events } = data;
    const known = this.history.get(id) ?? [];
    const last = known.at(-1);
    if (last?.currency === currency && isDeepStrictEqual(last.events, events)) return;
    this.history.set(id, [...known, { since, currency, events }]);
  }

  /** As of a position, or the first ones if that is before them; undefined for a program that has never been defined. */
  at(programId: number, position: Position): Terms | undefined {
    const known = this.history.get(programId);
    return known?.findLast(({ since }) => since <= position) ?? known?.[0];
  }

  /** The position from which the program has had its present currency. */
  currencySince(programId: number): Position {
    const known = this.history.get(programId) ?? [];
    const before = known.findLastIndex(({ currency }) => currency !== known.at(-1)?.currency);
    return known[before + 1]?.since ?? START;
  }
}
