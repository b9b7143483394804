import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { execute, load, type StateAt } from '../../kernel/decider';
import { type Ids, NO_STREAM } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Reservation, reservations } from '../keys/reservation';
import { type ClaimContent, claimDecider } from './claim';
import { claimBatchDecider } from './claim-batch';

/** A key as it was loaded. */
export type SeenKey = StateAt<Reservation | undefined>;

/** What most keys of new claims turn out to be: reserving one finds out. */
export const UNSEEN: SeenKey = { state: undefined, revision: NO_STREAM };

/** The unique key of a claim, in the stream `claimkey-<hash>` (`docs/decisions.md#c4`). */
const claimKeys = reservations('claimkey');

export type KeyFields = Pick<ClaimContent, 'transactionDate' | 'programId' | 'eventId' | 'orderNumber'>;

export function keyOf({ transactionDate, programId, eventId, orderNumber }: KeyFields): string {
  return hash('sha256', `${transactionDate}:${programId}:${eventId}:${orderNumber}`);
}

/** How long an interrupted request may keep a key (ms). */
const TIME_OUT = 30_000;

/** The claim that a key was reserved for: it has the key; it never can, or no longer does; or neither yet. */
type Standing = 'holds it' | 'gone' | 'under way';

/**
 * Reserves the keys of claims. Whatever races and whichever process is killed, a key identifies one claim at a time
 * (why not as `KeyedAggregates` does: `docs/adr/0037-claims-take-keys-over.md`).
 *
 * - A claim has a key if its last content has it. The key is reserved before the event with this content is appended.
 * - That event is appended at a revision which the claim, or its batch, had before the reservation. So whoever finds a
 *   reservation under way for too long appends to the claim or the batch first: then the event cannot be appended any
 *   more. A process that appends it nevertheless later, because of such a conflict, reserves the key again before.
 * - A key whose claim has another one, or is withdrawn, stays reserved until another claim needs it: there is nothing
 *   to wait for then.
 *
 * All methods may raise `EngineUnavailable`; repeating them is harmless.
 */
export class ClaimKeys {
  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
  ) {}

  async load(key: string): Promise<SeenKey> {
    return await load(this.log, claimKeys, key);
  }

  /** Whether another claim than `owner` may have the key at `at`. */
  async isTaken(key: string, { state: reservation }: SeenKey, at: string, owner?: number): Promise<boolean> {
    if (reservation === undefined || reservation.owner === owner) return false;
    const standing = await this.standingOf(key, reservation);
    return standing === 'holds it' || (standing === 'under way' && !isOver(reservation, at));
  }

  /** False if another claim has the key. `known` saves the first load. */
  async reserve(key: string, next: Reservation, known?: SeenKey): Promise<boolean> {
    const { at } = next;
    for (let present = known ?? (await this.load(key)); ;) {
      const { state: seen } = present;
      if (seen !== undefined && seen.owner !== next.owner && !(await this.isGivenUp(key, seen, at)))
        return false;
      // Reserved at a later revision of this claim: what was decided at this one cannot be appended any more.
      if (seen?.owner === next.owner && revisionOf(seen) > revisionOf(next)) return true;
      present = await execute(this.uuids, this.log, claimKeys, key, { seen, next, at }, present);
      if (isDeepStrictEqual(present.state, next)) return true;
    }
  }

  /** Whether the owner has lost the key: makes sure of it if the reservation has stayed unconfirmed for too long. */
  private async isGivenUp(key: string, reservation: Reservation, at: string): Promise<boolean> {
    const standing = await this.standingOf(key, reservation);
    if (standing !== 'under way') return standing === 'gone';
    if (!isOver(reservation, at)) return false;
    await this.prevent(reservation, at);
    return (await this.standingOf(key, reservation)) === 'gone';
  }

  private async standingOf(key: string, reservation: Reservation): Promise<Standing> {
    const { owner, batch } = reservation;
    const claim = await load(this.log, claimDecider, owner);
    if (claim.state.is === 'withdrawn') return 'gone';
    if (claim.state.is === 'filed') {
      if (keyOf(claim.state.claim) === key) return 'holds it';
      return claim.revision > revisionOf(reservation) ? 'gone' : 'under way';
    }
    if (batch === undefined) return 'under way';
    const { state } = await load(this.log, claimBatchDecider, batch);
    if (state.is === 'unknown') return 'under way';
    return state.is === 'abandoned' ? 'gone' : 'holds it';
  }

  /** Ensures that what the key was reserved for can no longer be appended. */
  private async prevent({ owner, batch, revision }: Reservation, at: string): Promise<void> {
    if (revision !== undefined)
      await execute(this.uuids, this.log, claimDecider, owner, { do: 'reclaimKey', at });
    else if (batch === undefined)
      await execute(this.uuids, this.log, claimDecider, owner, { do: 'void', at });
    else await execute(this.uuids, this.log, claimBatchDecider, batch, { do: 'abandon', at });
  }
}

/** The revision that the claim had when the key was reserved. */
function revisionOf({ revision = NO_STREAM }: Reservation): number {
  return revision;
}

function isOver({ at }: Reservation, now: string): boolean {
  return Date.parse(now) - Date.parse(at) >= TIME_OUT;
}
