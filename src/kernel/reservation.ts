import { type Decider } from './decider';

/**
 * A stream per key that only one may have: nobody, or the owner named by the last reservation.
 *
 * The names and shapes of these events are the storage format: add, never rename. `owner` is the integer id of what the
 * key belongs to, `at` an ISO 8601 instant.
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
 * Decides who has a key; the state is the owner. To reserve what another has, and to release what one has not, does
 * nothing: the state afterwards tells.
 *
 * A reservation names its owner before there is one. Whoever finds that the owner has not appeared may make it, under
 * the id that is reserved: nobody waits for a writer that was killed, and one that was only slow finds its work done
 * (`docs/adr/0011-reservations-are-finished-by-anybody.md`).
 */
export function reservations(
  category: string,
): Decider<ReservationCommand, number | undefined, ReservationEvent> {
  return {
    category,
    initial: undefined,
    decide({ do: what, owner, at }, holder) {
      switch (what) {
        case 'reserve':
          return holder === undefined ? [{ type: 'KeyReserved', data: { owner, at } }] : [];
        case 'release':
          return holder === owner ? [{ type: 'KeyReleased', data: { owner, at } }] : [];
      }
    },
    evolve(_, event) {
      return event.type === 'KeyReserved' ? event.data.owner : undefined;
    },
  };
}
