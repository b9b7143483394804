import { type ProposedEvent } from './proposal';

interface Place {
  readonly stream: string;
  readonly revision: number;
}

/** How many ids are remembered. */
const MOST = 10_000;

/**
 * Recently appended ids. For a while, they make repeated appends idempotent even without an expected revision, as in
 * EventStoreDB.
 */
export class RecentIds {
  readonly #places = new Map<string, Place>();

  /** The last revision of the same events, if they were appended before; `other` if only the first of them were. */
  find(stream: string, events: readonly ProposedEvent[]): number | 'other' | undefined {
    let last: Place | undefined;
    for (const [index, { id }] of events.entries()) {
      const place = this.#places.get(id);
      if (place?.stream !== stream) return index === 0 ? undefined : 'other';
      last = place;
    }
    return last?.revision;
  }

  /** Records that the events were appended, up to a revision. */
  remember(stream: string, events: readonly ProposedEvent[], revision: number): void {
    const first = revision - events.length + 1;
    for (const [index, { id }] of events.entries())
      // For an id appended twice, the first revision counts.
      if (!this.#places.has(id)) this.#places.set(id, { stream, revision: first + index });
    for (const id of this.#places.keys()) {
      if (this.#places.size <= MOST) return;
      this.#places.delete(id);
    }
  }
}
