import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  appendIdempotently,
  execute,
  type Executed,
  load,
  type StateAt,
  toNewEvent,
} from '../../kernel/decider';
import { type Ids, NO_STREAM, type Position, streamOf } from '../../kernel/event';
import { APPEND_LIMITS, EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Fault } from '../../kernel/fault';
import { inParallel } from '../../runtime/concurrency';
import { type Reservation, reservations, Sequence } from '../keys/reservation';
import {
  CLAIM,
  claimBatchDecider,
  type ClaimBatchState,
  type ClaimCommand,
  type ClaimContent,
  claimDecider,
  type ClaimEvent,
  type ClaimState,
  type Filing,
  storedFiling,
} from './claim';
import { claimFaults as fault, placed } from './faults';

/** A key as loaded, whether another claim has it, and the index of an earlier item of the list with it. */
export interface FoundKey {
  readonly seen: SeenKey;
  readonly isTaken: boolean;
  readonly repeats: number | undefined;
}

/** A claim to be created, and its key as `withKeys` has found it, or `UNSEEN`. */
export type NewClaim = Omit<Filing, 'id'> & { readonly seen?: SeenKey };

/** The ids of created claims, and the positions of their last events. */
interface Created {
  readonly ids: readonly number[];
  readonly written: readonly WrittenClaim[];
}

/** Without `position` nothing was written. */
export interface WrittenClaim {
  readonly position?: Position;
}

type Revision = Omit<Extract<ClaimCommand, { readonly do: 'revise' }>, 'do'>;

/** Streams written at a time: enough for the log to share its commits. */
const AT_ONCE = 256;

/**
 * Writes claims. Each has a unique key (`ClaimKeys`), whatever races and whichever process is killed; of a post all
 * claims are filed or none.
 *
 * `at` is an ISO 8601 instant. All methods may raise `EngineUnavailable`: then it is not known what was written.
 */
export class ClaimWriter {
  private readonly keys: ClaimKeys;
  private readonly ids: Sequence;

  constructor(
    private readonly uuids: Ids,
    private readonly log: EventLog,
  ) {
    this.keys = new ClaimKeys(uuids, log);
    this.ids = new Sequence(uuids, log, CLAIM);
  }

  /** Each claim with what its key is found to be. `owner`: the claim's own id, if it exists. */
  async withKeys<Claim extends { readonly claim: KeyFields; readonly owner?: number }>(
    claims: readonly Claim[],
    at: string,
  ): Promise<readonly (Claim & FoundKey)[]> {
    const firstOf = new Map<string, number>();
    const wanted = claims.map((claim, index) => {
      const key = keyOf(claim.claim);
      const repeats = firstOf.get(key);
      if (repeats === undefined) firstOf.set(key, index);
      return { claim, key, repeats };
    });
    return await inParallel(wanted, AT_ONCE, async ({ claim, key, repeats }) => {
      const seen = await this.keys.load(key);
      return { ...claim, seen, isTaken: await this.keys.isTaken(key, seen, at, claim.owner), repeats };
    });
  }

  /** Files claims with different keys, all of them or none. Raises UTS_397 if another claim has one of the keys. */
  async create(claims: readonly NewClaim[], at: string): Promise<Created> {
    const filings: (NewClaim & Filing)[] = [];
    for (const claim of claims) filings.push({ ...claim, id: await this.ids.next() });
    const [first] = filings;
    if (first === undefined) return { ids: [], written: [] };
    const written =
      filings.length === 1 ? [await this.createOne(first, at)] : await this.createAll(filings, first.id, at);
    return { ids: filings.map(({ id }) => id), written };
  }

  private async createOne({ seen, ...filing }: NewClaim & Filing, at: string): Promise<WrittenClaim> {
    const { id, claim } = filing;
    if (!(await this.keys.reserve(keyOf(claim), { owner: id, at }, seen)))
      throw placed(notUnique(claim), 'claims[0]');
    const executed = await this.file(filing, at);
    if (executed.state.is !== 'filed') throw tookTooLong();
    return executed;
  }

  private async createAll(
    claims: readonly (NewClaim & Filing)[],
    batch: number,
    at: string,
  ): Promise<readonly WrittenClaim[]> {
    const filings = claims.map(({ id, origin, claim, screening }) => ({ id, origin, claim, screening }));
    await this.reserveAll(claims, batch, at);
    const accept = { do: 'accept', at, claims: filings } as const;
    const { state } = await execute(this.uuids, this.log, claimBatchDecider, batch, accept, NEW_BATCH);
    if (state.is !== 'accepted') throw tookTooLong();
    try {
      return (await this.finish(batch, state)).claims;
    } catch (error) {
      // They are accepted: the automation files them.
      if (error instanceof EngineUnavailable) return [];
      throw error;
    }
  }

  /** Reserves the keys of all; of none, with UTS_397, if another claim has one of them. */
  private async reserveAll(claims: readonly (NewClaim & Filing)[], batch: number, at: string): Promise<void> {
    const reserved = async ({ id, claim, seen }: NewClaim & Filing) =>
      await this.keys.reserve(keyOf(claim), { owner: id, at, batch }, seen);
    // Of posts that race with the same claims, the one that reserves the first key gets all.
    const [first, ...others] = claims.toSorted((a, b) => (keyOf(a.claim) < keyOf(b.claim) ? -1 : 1));
    if (first !== undefined && !(await reserved(first))) throw lostBy(first, claims);
    const lost: NewClaim[] = [];
    await inParallel(others, AT_ONCE, async (claim) => {
      if (lost.length === 0 && !(await reserved(claim))) lost.push(claim);
    });
    const [one] = lost;
    if (one === undefined) return;
    await execute(this.uuids, this.log, claimBatchDecider, batch, { do: 'abandon', at }, NEW_BATCH);
    throw lostBy(one, claims);
  }

  /** Files the claims of a batch that is accepted; those that are filed stay as they are. */
  async finish(
    batch: number,
    { claims, at }: Extract<ClaimBatchState, { readonly is: 'accepted' }>,
  ): Promise<WrittenClaim & { readonly claims: readonly WrittenClaim[] }> {
    const written = await inParallel(claims, AT_ONCE, (filing) => this.file(filing, at));
    const finished = await execute(this.uuids, this.log, claimBatchDecider, batch, { do: 'finish', at });
    return { ...finished, claims: written };
  }

  private async file(
    { id, origin, claim, screening }: Filing,
    at: string,
  ): Promise<Executed<ClaimState, ClaimEvent>> {
    const command = { do: 'file', at, origin, claim, screening } as const;
    return await execute(this.uuids, this.log, claimDecider, id, command, NEW_CLAIM);
  }

  /** Updates a claim for its publisher. Raises UTS_397 if another claim has its new key. */
  async revise(id: number, change: Revision, known: StateAt<ClaimState>): Promise<WrittenClaim> {
    const { at, claim } = change;
    const key = keyOf(claim);
    for (let { state, revision } = known; ; { state, revision } = await load(this.log, claimDecider, id)) {
      const before = state.is === 'filed' ? keyOf(state.claim) : key;
      const events = claimDecider.decide({ do: 'revise', ...change }, state);
      if (before !== key && !(await this.keys.reserve(key, { owner: id, at, revision })))
        throw notUnique(claim);
      const appended = events.map((event) => toNewEvent(event, this.uuids.uuid()));
      try {
        return await appendIdempotently(this.log, streamOf(CLAIM, id), revision, appended);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }
}

const NEW_CLAIM: StateAt<ClaimState> = { state: claimDecider.initial, revision: NO_STREAM };
const NEW_BATCH: StateAt<ClaimBatchState> = { state: claimBatchDecider.initial, revision: NO_STREAM };

/** Claims that are created together are stored by one append (`docs/decisions.md#c3`). */
export function requireSize(claims: readonly Omit<Filing, 'id'>[]): void {
  const filings = claims.map(({ origin, claim, screening }) =>
    storedFiling({ id: LONGEST_ID, origin, claim, screening }),
  );
  const bytes = Buffer.byteLength(JSON.stringify(filings));
  const most = APPEND_LIMITS.bytes - 1024;
  if (bytes > most)
    throw fault.illegalValue(
      `the claims have ${bytes} bytes when stored: expected at most ${most}; post fewer at a time`,
    );
}

const LONGEST_ID = Number.MAX_SAFE_INTEGER;

export function notUnique({ transactionDate, programId, eventId, orderNumber }: KeyFields): Fault {
  return fault.notUnique(
    `there is a claim with timeStampEvent ${transactionDate}, programId ${programId}, eventId ${eventId} and ` +
      `orderNumber ${JSON.stringify(orderNumber)}: expected another combination`,
  );
}

function lostBy(one: NewClaim, claims: readonly NewClaim[]): Fault {
  return placed(notUnique(one.claim), `claims[${claims.indexOf(one)}]`);
}

function tookTooLong(): Fault {
  return fault.notFiled(
    'the claim was not stored in time, and another request has reserved its key: post it again',
  );
}

/** A key as it was loaded. */
type SeenKey = StateAt<Reservation | undefined>;

/** Assumes a free key, as most are: reserving another one conflicts. */
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
type KeyState = 'holds it' | 'gone' | 'under way';

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
    const state = await this.keyStateOf(key, reservation);
    return state === 'holds it' || (state === 'under way' && !isOver(reservation, at));
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
    const state = await this.keyStateOf(key, reservation);
    if (state !== 'under way') return state === 'gone';
    if (!isOver(reservation, at)) return false;
    await this.prevent(reservation, at);
    return (await this.keyStateOf(key, reservation)) === 'gone';
  }

  private async keyStateOf(key: string, reservation: Reservation): Promise<KeyState> {
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
