import { type Position } from '../../kernel/event';
import { type ProposedEvent } from './stored-event';

/** What an append came to. */
export interface Written {
  /** Revision of the last event now in the stream, -1 if it has none. */
  readonly revision: number;
  /** Position of the last event appended; undefined if there was none, or if it is not known any more. */
  readonly position: Position | undefined;
}

interface Place extends Written {
  readonly stream: string;
}

/** How many ids are remembered. */
const MOST = 10_000;

/**
 * Ids that were appended lately. A writer that expects nothing in particular has no other way to be told that
 * what it appends is there already; like the official server, this one promises it for a while only.
 */
export class RecentIds {
  readonly #places = new Map<string, Place>();

  /** What the append of the same events came to before; `other` if only the first of them are the same. */
  find(stream: string, events: readonly ProposedEvent[]): Written | 'other' | undefined {
    let last: Place | undefined;
    for (const [index, { id }] of events.entries()) {
      const place = this.#places.get(id);
      if (place?.stream !== stream) return index === 0 ? undefined : 'other';
      last = place;
    }
    return last;
  }

  remember(stream: string, events: readonly ProposedEvent[], { revision, position }: Written): void {
    for (const [index, { id }] of events.entries()) {
      const left = events.length - 1 - index;
      this.#places.set(id, {
        stream,
        revision: revision - left,
        position: left === 0 ? position : undefined,
      });
    }
    for (const id of this.#places.keys()) {
      if (this.#places.size <= MOST) return;
      this.#places.delete(id);
    }
  }
}
