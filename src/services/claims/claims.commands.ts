import { Injectable } from '@nestjs/common';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { Clock } from '../../http/clock';
import { VisibleWrites } from '../../http/visible-writes';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { FairQueue } from '../../runtime/fair-queue';
import { Fault } from '../../kernel/fault';
import { inParallel } from '../../runtime/in-parallel';
import { ReadStore } from '../../kernel/read-store';
import { type ClaimsCaller, requirePublisher } from '../../domain/claims/claim-check';
import { type KeyFields, UNSEEN } from '../../domain/claims/claim-keys';
import {
  ClaimWriter,
  type FoundKey,
  type NewClaim,
  notUnique,
  requireSize,
  type Written,
} from '../../domain/claims/claim-writer';
import { claimFaults as fault, placed, raiseFaults, type RefusedItems } from '../../domain/claims/faults';
import { OrderSearch } from '../../processes/order-search';
import { type Claimed } from '../../domain/claims/screening';
import { type CheckedClaim } from './posted-claims';
import { screenAll } from '../../processes/screen-all';
import { type LoadedClaim } from './update-check';

/** Streams loaded or written at a time. */
const AT_ONCE = 256;

/**
 * Items of all lists that are executed. All claims that a list names, or that have its keys, are in memory, and each may have some
 * 50 KB. Of the longest lists, with 1,000 items, four are executed at a time, of one organisation two.
 */
const IN_MEMORY = { atOnce: 3_500, perClient: 1_500, reserved: 1_000 } as const;

/** What the commands have in common. */
@Injectable()
export class Claims {
  readonly writer: ClaimWriter;
  private readonly inMemory = new FairQueue(IN_MEMORY);
  private readonly search: OrderSearch;

  constructor(
    log: EventLog,
    store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
    readonly visible: VisibleWrites,
  ) {
    this.writer = new ClaimWriter(log);
    this.search = new OrderSearch(store);
  }

  get directory(): Directory {
    return this.follower.directory;
  }

  now(): Date {
    return this.clock.now();
  }

  /** New claims as they would be filed; raises all faults. */
  async checked(
    claims: readonly CheckedClaim[],
    caller: ClaimsCaller,
    now: Date,
  ): Promise<readonly NewClaim[]> {
    const found = await this.writer.withKeys(postedBy(caller, claims), now.toISOString());
    raiseAll('claims', found, (claim) => keyFaults('claims', claim));
    const checked = await this.screened(found, now);
    requireSize(checked);
    return checked;
  }

  /** New claims as they would be filed, if their keys are free; raises all other faults. */
  async unseen(
    claims: readonly CheckedClaim[],
    caller: ClaimsCaller,
    now: Date,
  ): Promise<readonly NewClaim[]> {
    const posted = postedBy(caller, claims).map((claim) => ({ ...claim, seen: UNSEEN }));
    return await this.screened(posted, now);
  }

  /** Each with its screening, and with its origin by the same directory. */
  async screened<Claim extends Claimed & CheckedClaim>(claims: readonly Claim[], now: Date) {
    const { search, directory } = this;
    const screened = await screenAll(claims, { search, directory, now });
    // Its amounts are in the currency by which they were checked.
    for (const { origin, currencyId } of screened)
      if (origin.currencyId !== currencyId)
        throw fault.notFiled('the program of the claim has just been changed: post it again');
    return screened;
  }

  /** Raises the faults of refused items, with those of the keys that were found in them (`docs/decisions.md#c3`). */
  async refuse(name: string, { ofFields, more, found }: RefusedItems): Promise<never> {
    const items = found.flatMap((fields, index) => keyedItem(fields, index));
    const keyed = await this.writer.withKeys(items, this.now().toISOString());
    const ofKeys = keyed.flatMap(({ index, ...one }) => {
      const repeats = one.repeats === undefined ? undefined : items[one.repeats]?.index;
      return keyFaults(name, { ...one, repeats }).map((refused) => placed(refused, `${name}[${index}]`));
    });
    raiseFaults([...ofFields, ...ofKeys], more);
    throw new Error('there are faults');
  }

  /** Executes a list of claims or updates once there is room for its items. */
  async inTurn<Result>(
    { organisationId }: ClaimsCaller,
    list: readonly unknown[],
    execute: () => Promise<Result>,
  ): Promise<Result> {
    return await this.inMemory.run(String(organisationId), execute, { weight: Math.max(1, list.length) });
  }

  /** The updates, each with the present state of its claim. */
  async loaded<Update extends { readonly claimId: number }>(updates: readonly Update[]) {
    const loaded: (Update & LoadedClaim)[] = [];
    const ids = new Set<number>();
    const wanted = updates.map((update) => {
      const isRepeated = ids.has(update.claimId);
      ids.add(update.claimId);
      return { update, isRepeated };
    });
    await inParallel(wanted.entries(), AT_ONCE, async ([index, { update, isRepeated }]) => {
      loaded[index] = { ...update, isRepeated, known: await this.writer.load(update.claimId) };
    });
    return loaded;
  }

  /** Executes checked updates; where another request was faster, raises the faults afterwards. */
  async each<Update>(
    updates: readonly Update[],
    run: (update: Update) => Promise<Written>,
  ): Promise<{ readonly position: Position }> {
    const written: Written[] = [];
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

/** Raises UTS_395 unless the caller is a publisher. */
function postedBy(caller: ClaimsCaller, claims: readonly CheckedClaim[]) {
  requirePublisher(caller);
  return claims.map((claim) => ({ publisherId: caller.organisationId, ...claim }));
}

interface KeyedItem {
  readonly claim: KeyFields;
  readonly index: number;
  readonly owner?: number;
}

/** The key that was found in an item of a list; of an update, with the claim that may have it. */
function keyedItem(
  { timeStampEvent, programId, eventId, orderNumber, claimId }: Readonly<Record<string, unknown>>,
  index: number,
): readonly KeyedItem[] {
  if (typeof timeStampEvent !== 'string' || typeof orderNumber !== 'string') return [];
  if (typeof programId !== 'number' || typeof eventId !== 'number') return [];
  const claim = { transactionDate: timeStampEvent, programId, eventId, orderNumber };
  return [{ claim, index, ...(typeof claimId === 'number' ? { owner: claimId } : {}) }];
}

/** What is wrong with the key of an item of a list (`docs/decisions.md#c4`). */
export function keyFaults(
  list: string,
  { claim, isTaken, repeats }: FoundKey & { readonly claim: KeyFields },
): readonly Fault[] {
  if (isTaken) return [notUnique(claim)];
  if (repeats === undefined) return [];
  return [
    fault.notUnique(
      `timeStampEvent, programId, eventId and orderNumber are those of ${list}[${repeats}]: expected each combination once`,
    ),
  ];
}

/** Raises the faults of all items; their messages say of which one. */
export function raiseAll<Item>(
  name: string,
  items: readonly Item[],
  faultsIn: (item: Item) => Fault | readonly Fault[],
): void {
  const faults = items.flatMap((item, at) =>
    [faultsIn(item)].flat().map((refused) => placed(refused, `${name}[${at}]`)),
  );
  raiseFaults(faults);
}
