import { Injectable } from '@nestjs/common';
import { claimDecider, programFacts, type Screening } from '../../domain/claims/claim';
import {
  checkClaims,
  type CheckedClaim,
  checkRevisions,
  checkRulings,
  type ClaimCheckParts,
  type ClaimsCaller,
  ownClaim,
  requirePublisher,
  revisedClaim,
  revisionFaults,
  rulingIn,
  updateFaults,
} from './claim-check';
import {
  ClaimWriter,
  type FoundKey,
  type KeyFields,
  type NewClaim,
  notUnique,
  requireSize,
  UNSEEN,
  type WrittenClaim,
} from '../../domain/claims/claim-writer';
import { claimFaults as fault, placed, raiseFaults, RefusedItems } from '../../domain/claims/faults';
import { type Claimed } from '../../domain/claims/screening';
import { CANNOT_VALIDATE } from '../../domain/claims/statuses';
import { Clock } from '../../runtime/clock';
import { VisibleWrites } from '../../http/visible-writes';
import { execute, load } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { OrderSearch, screenAll } from '../../processes/order-search';
import { FairQueue } from '../../runtime/fair-queue';
import { inParallel } from '../../runtime/concurrency';
import { type PostedList } from './claims-body';

/** The position from which lists include what was written. */
interface Visible {
  readonly position: Position;
}

interface CreatedClaims extends Visible {
  readonly ids: readonly number[];
}

/** Streams loaded or written at a time. */
const AT_ONCE = 256;

/**
 * Items of all lists that are executed. All claims that a list names, or that have its keys, are in memory, and each
 * may have some 50 KB. Of the longest lists, with 1,000 items, four are executed at a time, of one organisation two.
 */
const IN_MEMORY = { atOnce: 3_500, perClient: 1_500, reserved: 1_000 } as const;

/** What callers may do with claims. What was posted is unchecked (ADR 18). */
@Injectable()
export class ClaimCommands {
  private readonly writer: ClaimWriter;
  private readonly inMemory = new FairQueue(IN_MEMORY);

  constructor(
    private readonly log: EventLog,
    private readonly search: OrderSearch,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
    private readonly visible: VisibleWrites,
  ) {
    this.writer = new ClaimWriter(clock, log);
  }

  /** Files claims of a publisher, all of them or none. Raises all faults (`docs/decisions.md#c3`). */
  async create(posted: PostedList, caller: ClaimsCaller): Promise<CreatedClaims> {
    const claims = await this.checkedItems(posted, caller, checkClaims);
    return await this.inTurn(caller, claims, async () => {
      const now = this.clock.now();
      const [first, ...others] = claims;
      const single = { publisherId: caller.organisationId, seen: UNSEEN };
      // The key of a single claim is not read before it is reserved: if it is taken, that is the only fault left.
      const checked =
        first !== undefined && others.length === 0
          ? await this.screened([{ ...single, ...first }], now)
          : await this.checked(claims, caller, now);
      const { ids, written } = await this.writer.create(checked, now.toISOString());
      return { ids, position: await this.visible.after(written) };
    });
  }

  /**
   * The screening that each claim would have, in order. Raises all faults, stores nothing (`docs/decisions.md#c13`).
   */
  async check(posted: PostedList, caller: ClaimsCaller): Promise<readonly Screening[]> {
    const claims = await this.checkedItems(posted, caller, checkClaims);
    const check = () => this.checked(claims, caller, this.clock.now());
    return (await this.inTurn(caller, claims, check)).map(({ screening }) => screening);
  }

  /**
   * Updates claims of a publisher. If one of the updates is refused, nothing is changed, and all faults are raised;
   * otherwise each is executed on its own (`docs/decisions.md#c9`).
   */
  async revise(posted: PostedList, caller: ClaimsCaller): Promise<Visible> {
    const updates = await this.checkedItems(posted, caller, checkRevisions);
    return await this.inTurn(caller, updates, async () => {
      const now = this.clock.now();
      const at = now.toISOString();
      const { organisationId: publisherId } = caller;
      const loaded = (await this.loaded(updates)).map((update) => {
        const { state } = update.known;
        const claim = state.is === 'filed' ? revisedClaim(update, state, this.directory) : update.claim;
        return { ...update, claim, owner: update.claimId, publisherId };
      });
      const checked = await this.writer.withKeys(loaded, at);
      raiseAll('claimUpdates', checked, (update) => {
        const { version, claim } = update;
        const change = { do: 'revise', at, version, claim, screening: UNSCREENED } as const;
        const refused = updateFaults(update, change, caller);
        const others = refused.length > 0 ? refused : revisionFaults(update, claim);
        return [...others, ...keyFaults('claimUpdates', update)];
      });
      const screened = await this.screened(checked, now);
      return await this.each(screened, async ({ claimId, version, claim, screening, origin, known }) => {
        const change = { at, version, claim, screening, ...programFacts(origin) };
        return await this.writer.revise(claimId, change, known);
      });
    });
  }

  /** Rules on claims of an advertiser in the same way. `isLegacy`: of version 0, and with fewer statuses. */
  async rule(posted: PostedList, caller: ClaimsCaller, isLegacy = false): Promise<Visible> {
    if (caller.kind !== 'advertiser') throw fault.tokenType();
    const updates = checkRulings(posted, isLegacy);
    return await this.inTurn(caller, updates, async () => {
      const at = this.clock.now().toISOString();
      const loaded = (await this.loaded(updates)).map(({ version, ruling: sent, ...claim }) => {
        const { state } = claim.known;
        const currency = state.is === 'filed' ? state.currencyId : undefined;
        const { ruling, faults } = rulingIn(currency ?? '', sent);
        return { ...claim, command: { do: 'rule', at, version, ruling } as const, faults };
      });
      raiseAll('claimUpdates', loaded, ({ command, faults, ...claim }) => {
        const others = updateFaults(claim, command, caller);
        return others.length > 0 ? others : faults;
      });
      return await this.each(loaded, ({ claimId, command, known }) =>
        execute(this.clock, this.log, claimDecider, claimId, command, known),
      );
    });
  }

  /** Deletes a claim of a publisher (Document 3, Moves that are shown). */
  async delete(claimId: number, version: number, caller: ClaimsCaller): Promise<Visible> {
    requirePublisher(caller);
    const known = await load(this.log, claimDecider, claimId);
    ownClaim(claimId, known.state, caller);
    const at = this.clock.now().toISOString();
    const command = { do: 'withdraw', at, version } as const;
    const withdrawn = await execute(this.clock, this.log, claimDecider, claimId, command, known);
    return { position: await this.visible.after([withdrawn]) };
  }

  private get directory(): Directory {
    return this.follower.directory;
  }

  /** The items of a publisher’s list; raises the faults of all that are refused, and of their keys. */
  private async checkedItems<Item>(
    posted: PostedList,
    caller: ClaimsCaller,
    check: (posted: PostedList, context: ClaimCheckParts) => readonly Item[],
  ): Promise<readonly Item[]> {
    requirePublisher(caller);
    try {
      return check(posted, { directory: this.directory, caller });
    } catch (error) {
      if (!(error instanceof RefusedItems)) throw error;
      return await this.inTurn(caller, error.found, () => this.refuse(posted.name, error));
    }
  }

  /** New claims as they would be filed; raises all faults. */
  private async checked(
    claims: readonly CheckedClaim[],
    { organisationId: publisherId }: ClaimsCaller,
    now: Date,
  ): Promise<readonly NewClaim[]> {
    const posted = claims.map((claim) => ({ publisherId, ...claim }));
    const found = await this.writer.withKeys(posted, now.toISOString());
    raiseAll('claims', found, (claim) => keyFaults('claims', claim));
    const checked = await this.screened(found, now);
    requireSize(checked);
    return checked;
  }

  /** Each with its screening, and with its origin by the same directory. */
  private async screened<Claim extends Claimed & CheckedClaim>(claims: readonly Claim[], now: Date) {
    const { search, directory } = this;
    const screened = await screenAll(claims, { search, directory, now });
    // Its amounts are in the currency by which they were checked.
    for (const { origin, currencyId } of screened)
      if (origin.currencyId !== currencyId)
        throw fault.notFiled('the program of the claim has just been changed: post it again');
    return screened;
  }

  /** Raises the faults of refused items, with those of the keys that were found in them (`docs/decisions.md#c3`). */
  private async refuse(name: string, { ofFields, more, found }: RefusedItems): Promise<never> {
    const items = found.flatMap((fields, index) => keyedItem(fields, index));
    const keyed = await this.writer.withKeys(items, this.clock.now().toISOString());
    const ofKeys = keyed.flatMap(({ index, ...one }) => {
      const repeats = one.repeats === undefined ? undefined : items[one.repeats]?.index;
      return keyFaults(name, { ...one, repeats }).map((refused) => placed(refused, `${name}[${index}]`));
    });
    raiseFaults([...ofFields, ...ofKeys], more);
    throw new Error('there are faults');
  }

  /** Executes a list of claims or updates once there is room for its items. */
  private async inTurn<Result>(
    { organisationId }: ClaimsCaller,
    list: readonly unknown[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    return await this.inMemory.run(String(organisationId), work, { weight: Math.max(1, list.length) });
  }

  /** The updates, each with the present state of its claim. */
  private async loaded<Update extends { readonly claimId: number }>(updates: readonly Update[]) {
    const ids = new Set<number>();
    const wanted = updates.map((update) => {
      const isRepeated = ids.has(update.claimId);
      ids.add(update.claimId);
      return { ...update, isRepeated };
    });
    return await inParallel(wanted, AT_ONCE, async (update) => {
      return { ...update, known: await load(this.log, claimDecider, update.claimId) };
    });
  }

  /** Executes checked updates; where another request was faster, raises the faults afterwards. */
  private async each<Update>(
    updates: readonly Update[],
    run: (update: Update) => Promise<WrittenClaim>,
  ): Promise<{ readonly position: Position }> {
    const written: WrittenClaim[] = [];
    const refused = new Map<Update, Fault>();
    await inParallel(updates, AT_ONCE, async (update) => {
      try {
        written.push(await run(update));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        refused.set(update, error);
      }
    });
    const position = await this.visible.after(written);
    raiseAll('claimUpdates', updates, (update) => refused.get(update) ?? []);
    return { position };
  }
}

/** Until it is known that an update is allowed. */
const UNSCREENED: Screening = { statusId: CANNOT_VALIDATE };

/** The key that was found in an item of a list; of an update, with the claim that may have it. */
function keyedItem(
  { timeStampEvent, programId, eventId, orderNumber, claimId }: Readonly<Record<string, unknown>>,
  index: number,
): readonly { readonly claim: KeyFields; readonly index: number; readonly owner?: number }[] {
  if (typeof timeStampEvent !== 'string' || typeof orderNumber !== 'string') return [];
  if (typeof programId !== 'number' || typeof eventId !== 'number') return [];
  const claim = { transactionDate: timeStampEvent, programId, eventId, orderNumber };
  return [{ claim, index, ...(typeof claimId === 'number' ? { owner: claimId } : {}) }];
}

/** What is wrong with the key of an item of a list (`docs/decisions.md#c4`). */
function keyFaults(
  list: string,
  { claim, isTaken, repeats }: FoundKey & { readonly claim: KeyFields },
): readonly Fault[] {
  if (isTaken) return [notUnique(claim)];
  if (repeats === undefined) return [];
  const names = 'timeStampEvent, programId, eventId and orderNumber';
  return [fault.notUnique(`${names} are those of ${list}[${repeats}]: expected each combination once`)];
}

/** Raises the faults of all items; their messages name the item. */
function raiseAll<Item>(
  name: string,
  items: readonly Item[],
  faultsIn: (item: Item) => Fault | readonly Fault[],
): void {
  const faults = items.flatMap((item, at) =>
    [faultsIn(item)].flat().map((refused) => placed(refused, `${name}[${at}]`)),
  );
  raiseFaults(faults);
}
