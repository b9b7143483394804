import { type Decider } from './decider';

/**
 * Reserves unique keys: one stream per key, whose last event names the owner or releases the key.
 *
 * The names and shapes of these events are the storage format: add, never rename. `owner` is the integer id of the
 * record that owns the key, `at` an ISO 8601 instant.
 */
export type ReservationEvent =
  | { readonly type: 'KeyReserved'; readonly data: { readonly owner: number; readonly at: string } }
  | { readonly type: 'KeyReleased'; readonly data: { readonly owner: number; readonly at: string } };

export interface ReservationCommand {
  readonly do: 'reserve' | 'release';
  readonly owner: number;
  readonly at: string;
}

/**
 * Decides who owns a key; the state is the owner. Reserving a key that another owner has, or releasing one that belongs to
 * another, does nothing: check the owner in the state afterwards.
 *
 * A key is reserved before its owner is written. Any process that finds the owner missing may write it, under the
 * reserved id. So nobody waits for a writer that was killed, and a slow one finds its work done
 * (`docs/adr/0011-reservations-are-finished-by-anybody.md`).
 */
export function reservations(
  category: string,
): Decider<ReservationCommand, number | undefined, ReservationEvent> {
  return {
    category,
    initial: undefined,
    decide({ do: action, owner, at }, current) {
      switch (action) {
        case 'reserve':
          return current === undefined ? [{ type: 'KeyReserved', data: { owner, at } }] : [];
        case 'release':
          return current === owner ? [{ type: 'KeyReleased', data: { owner, at } }] : [];
      }
    },
    evolve(_, event) {
      return event.type === 'KeyReserved' ? event.data.owner : undefined;
    },
  };
}
