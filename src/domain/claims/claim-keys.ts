import { hash } from 'node:crypto';
import { appendIdempotently, type Decider, execute, load, toNewEvent } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type ClaimContent, claimDecider } from './claim';
import { claimBatchDecider } from './claim-batch';

/**
 * The unique key of a claim, in the stream `claimkey-<hash>`: who has reserved it, by the last event
 * (`docs/decisions.md#c4`).
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */
export type ClaimKeyEvent =
  | { readonly type: 'KeyReserved'; readonly data: Reservation }
  | { readonly type: 'KeyReleased'; readonly data: { readonly owner: number; readonly at: string } };

/** For which event of a claim a key was reserved; `at` is an ISO 8601 instant. */
export interface Reservation {
  /** The id of the claim. */
  readonly owner: number;
  readonly at: string;
  /** The batch that the claim is created with. */
  readonly batch?: number;
  /** The revision that the claim had before an update; absent for a new claim. */
  readonly revision?: number;
}

/** A key as it was loaded. */
export interface SeenKey {
  readonly reservation: Reservation | undefined;
  readonly revision: number;
}

/** What most keys of new claims turn out to be: reserving one finds out. */
export const UNSEEN: SeenKey = { reservation: undefined, revision: NO_STREAM };

const keyDecider: Pick<
  Decider<never, Reservation | undefined, ClaimKeyEvent>,
  'category' | 'initial' | 'evolve' | 'supersedes'
> = {
  category: 'claimkey',
  supersedes: () => true,
  initial: undefined,
  evolve: (_, event) => (event.type === 'KeyReserved' ? event.data : undefined),
};

/** What identifies a claim. */
export type KeyFields = Pick<ClaimContent, 'transactionDate' | 'programId' | 'eventId' | 'orderNumber'>;

/** The hash of it. */
export function keyOf({ transactionDate, programId, eventId, orderNumber }: KeyFields): string {
  return hash('sha256', `${transactionDate}:${programId}:${eventId}:${orderNumber}`);
}

/** How long an interrupted request may keep a key (ms). */
const TIME_OUT = 30_000;

/** The claim that a key was reserved for: it has the key; it never can, or no longer does; or neither yet. */
type Standing = 'holds it' | 'gone' | 'under way';

/**
 * Reserves the keys of claims. Whatever races and whichever process is killed, a key identifies one claim at a time.
 *
 * - A claim has a key if its last content has it. The key is reserved before the event with this content is appended.
 * - That event is appended at a revision which the claim, or its batch, had before the reservation. So whoever finds a
 *   reservation under way for too long appends to the claim or the batch first: then the event cannot be appended any more. A
 *   process that appends it nevertheless later, because of such a conflict, reserves the key again before.
 * - A key whose claim has another one, or is withdrawn, is released by its writer, or else by whoever wants it: there
 *   is
 *   nothing to wait for.
 *
 * All methods may raise `EngineUnavailable`; repeating them is harmless.
 */
export class ClaimKeys {
  constructor(private readonly log: EventLog) {}

  async load(key: string): Promise<SeenKey> {
    const { state: reservation, revision } = await load(this.log, keyDecider, key);
    return { reservation, revision };
  }

  /** Whether another claim than `owner` may have the key at `at`. */
  async isTaken(key: string, { reservation }: SeenKey, at: string, owner?: number): Promise<boolean> {
    if (reservation === undefined || reservation.owner === owner) return false;
    const standing = await this.standingOf(key, reservation);
    return standing === 'holds it' || (standing === 'under way' && !isOver(reservation, at));
  }

  /** False if another claim has the key. `known` saves the first load. */
  async reserve(key: string, wanted: Reservation, known?: SeenKey): Promise<boolean> {
    for (let seen = known ?? (await this.load(key)); ; seen = await this.load(key)) {
      const { reservation, revision } = seen;
      const isOthers = reservation !== undefined && reservation.owner !== wanted.owner;
      if (isOthers && !(await this.isGivenUp(key, reservation, wanted.at))) return false;
      const released = isOthers ? [releasedBy(reservation.owner, wanted.at)] : [];
      if (await this.append(key, revision, [...released, { type: 'KeyReserved', data: wanted }])) return true;
    }
  }

  /** After a claim has got another key, or was withdrawn, or has failed to get this one: unless it has the key. */
  async release(key: string, owner: number, at: string): Promise<void> {
    const { reservation, revision } = await this.load(key);
    if (reservation?.owner !== owner) return;
    // If this conflicts, the key was reserved again or released.
    if ((await this.standingOf(key, reservation)) === 'gone')
      await this.append(key, revision, [releasedBy(owner, at)]);
  }

  /** Whether the owner has lost the key: makes sure of it if nothing has become of the reservation for too long. */
  private async isGivenUp(key: string, reservation: Reservation, at: string): Promise<boolean> {
    const standing = await this.standingOf(key, reservation);
    if (standing !== 'under way') return standing === 'gone';
    if (!isOver(reservation, at)) return false;
    await this.prevent(reservation, at);
    return (await this.standingOf(key, reservation)) === 'gone';
  }

  private async standingOf(
    key: string,
    { owner, batch, revision = NO_STREAM }: Reservation,
  ): Promise<Standing> {
    const claim = await load(this.log, claimDecider, owner);
    if (claim.state.is === 'withdrawn') return 'gone';
    if (claim.state.is === 'filed') {
      if (keyOf(claim.state.claim) === key) return 'holds it';
      return claim.revision > revision ? 'gone' : 'under way';
    }
    if (batch === undefined) return 'under way';
    const { state } = await load(this.log, claimBatchDecider, batch);
    if (state.is === 'unknown') return 'under way';
    return state.is === 'abandoned' ? 'gone' : 'holds it';
  }

  /** Ensures that what the key was reserved for can no longer be appended. */
  private async prevent({ owner, batch, revision }: Reservation, at: string): Promise<void> {
    if (revision !== undefined) await execute(this.log, claimDecider, owner, { do: 'reclaimKey', at });
    else if (batch === undefined) await execute(this.log, claimDecider, owner, { do: 'void', at });
    else await execute(this.log, claimBatchDecider, batch, { do: 'abandon', at });
  }

  /** False if the key has changed since `revision`. */
  private async append(key: string, revision: number, events: readonly ClaimKeyEvent[]): Promise<boolean> {
    const appended = events.map((event) => toNewEvent(event));
    try {
      await appendIdempotently(this.log, streamOf(keyDecider.category, key), revision, appended);
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  }
}

function releasedBy(owner: number, at: string): ClaimKeyEvent {
  return { type: 'KeyReleased', data: { owner, at } };
}

function isOver({ at }: Reservation, now: string): boolean {
  return Date.parse(now) - Date.parse(at) >= TIME_OUT;
}
