import { Injectable } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Directory } from '../directory/directory';
import { FollowedDirectory } from '../directory/follower';
import { Clock } from '../http/clock';
import { VisibleWrites } from '../http/visible-writes';
import { type Position } from '../kernel/event';
import { EventLog } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { inParallel } from '../kernel/in-parallel';
import { ReadStore } from '../kernel/read-store';
import { type ClaimContent, programFacts, type Screening } from './claim';
import { type ClaimsCaller, requirePublisher } from './claim-check';
import { UNSEEN } from './claim-keys';
import {
  ClaimWriter,
  type FoundKey,
  type NewClaim,
  notUnique,
  requireSize,
  type Written,
} from './claim-writer';
import { claimFaults as fault, placed, raiseFaults } from './faults';
import { OrderSearch } from './order-search.queries';
import { type CheckedRevision } from './posted-claims';
import { type CheckedRuling } from './posted-rulings';
import { type Claimed } from './screening';
import { screenAll } from './screening.queries';
import { CANNOT_VALIDATE } from './statuses';
import { type LoadedClaim, ownClaim, updateFaults } from './update-check';

/** The position from which lists include what was written. */
export interface Visible {
  readonly position: Position;
}

/** The ids of filed claims, in their order. */
export interface FiledClaims extends Visible {
  readonly ids: readonly number[];
}

/**
 * Files claims of a publisher, all of them or none. `claims` are what `checkClaims` has found in order; raises all faults that remain
 * (`docs/decisions.md#c3`).
 */
export class CreateClaims extends Command<FiledClaims> {
  constructor(
    readonly claims: readonly ClaimContent[],
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/** What screening would say of each claim, in their order; raises all faults. Nothing is stored (`docs/decisions.md#c13`). */
export class CheckClaims extends Command<readonly Screening[]> {
  constructor(
    readonly claims: readonly ClaimContent[],
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/**
 * Updates claims of a publisher. `updates` are what `checkRevisions` has found in order. If one of them is refused, nothing is changed,
 * and all faults are raised; otherwise each is executed on its own (`docs/decisions.md#c9`).
 */
export class ReviseClaims extends Command<Visible> {
  constructor(
    readonly updates: readonly CheckedRevision[],
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/** Rules on claims of an advertiser, in the same way. `updates` are what `checkRulings` has found in order. */
export class RuleOnClaims extends Command<Visible> {
  constructor(
    readonly updates: readonly CheckedRuling[],
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/** Deletes a claim of a publisher (Document 3, Moves that are shown). */
export class DeleteClaim extends Command<Visible> {
  constructor(
    readonly claimId: number,
    readonly version: number,
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/** Streams loaded or written at a time. */
const AT_ONCE = 256;

/** What the commands have in common. */
@Injectable()
class Claims {
  readonly writer: ClaimWriter;
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
    claims: readonly ClaimContent[],
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
    claims: readonly ClaimContent[],
    caller: ClaimsCaller,
    now: Date,
  ): Promise<readonly NewClaim[]> {
    const posted = postedBy(caller, claims).map((claim) => ({ ...claim, seen: UNSEEN }));
    return await this.screened(posted, now);
  }

  /** Each with its screening, and with its origin by the same directory. */
  async screened<Claim extends Claimed>(claims: readonly Claim[], now: Date) {
    const { search, directory } = this;
    return await screenAll(claims, { search, directory, now });
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
  ): Promise<Visible> {
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
function postedBy(caller: ClaimsCaller, claims: readonly ClaimContent[]): readonly Claimed[] {
  requirePublisher(caller);
  return claims.map((claim) => ({ publisherId: caller.organisationId, claim }));
}

/** What is wrong with the key of an item of a list (`docs/decisions.md#c4`). */
function keyFaults(
  list: string,
  { claim, isTaken, repeats }: FoundKey & { readonly claim: ClaimContent },
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

@CommandHandler(CreateClaims)
class CreateClaimsHandler implements ICommandHandler<CreateClaims> {
  constructor(private readonly claims: Claims) {}

  async execute({ claims, caller }: CreateClaims): Promise<FiledClaims> {
    const now = this.claims.now();
    // The key of a single claim is not read before it is reserved: if it is taken, that is the only fault left.
    const checked =
      claims.length === 1
        ? await this.claims.unseen(claims, caller, now)
        : await this.claims.checked(claims, caller, now);
    const { ids, written } = await this.claims.writer.create(checked, now.toISOString());
    return { ids, position: await this.claims.visible.after(written) };
  }
}

@CommandHandler(CheckClaims)
class CheckClaimsHandler implements ICommandHandler<CheckClaims> {
  constructor(private readonly claims: Claims) {}

  async execute({ claims, caller }: CheckClaims): Promise<readonly Screening[]> {
    const checked = await this.claims.checked(claims, caller, this.claims.now());
    return checked.map(({ screening }) => screening);
  }
}

/** Until it is known that an update is allowed. */
const UNSCREENED: Screening = { statusId: CANNOT_VALIDATE };

@CommandHandler(ReviseClaims)
class ReviseClaimsHandler implements ICommandHandler<ReviseClaims> {
  constructor(private readonly claims: Claims) {}

  async execute({ updates, caller }: ReviseClaims): Promise<Visible> {
    requirePublisher(caller);
    const { writer } = this.claims;
    const now = this.claims.now();
    const at = now.toISOString();
    const { organisationId: publisherId } = caller;
    const revisions = updates.map((update) => ({ ...update, owner: update.claimId, publisherId }));
    const checked = await writer.withKeys(await this.claims.loaded(revisions), at);
    raiseAll('claimUpdates', checked, (update) => [
      ...updateFaults(update, { ...update, do: 'revise', at, screening: UNSCREENED }, caller),
      ...keyFaults('claimUpdates', update),
    ]);
    const screened = await this.claims.screened(checked, now);
    return await this.claims.each(screened, async ({ claimId, version, claim, screening, origin, known }) => {
      const change = { at, version, claim, screening, ...programFacts(origin) };
      return await writer.revise(claimId, change, known);
    });
  }
}

@CommandHandler(RuleOnClaims)
class RuleOnClaimsHandler implements ICommandHandler<RuleOnClaims> {
  constructor(private readonly claims: Claims) {}

  async execute({ updates, caller }: RuleOnClaims): Promise<Visible> {
    if (caller.kind !== 'advertiser') throw fault.tokenType();
    const at = this.claims.now().toISOString();
    const rulings = updates.map(({ claimId, version, ruling }) => ({
      claimId,
      command: { do: 'rule', at, version, ruling } as const,
    }));
    const loaded = await this.claims.loaded(rulings);
    raiseAll('claimUpdates', loaded, ({ command, ...claim }) => updateFaults(claim, command, caller));
    return await this.claims.each(loaded, ({ claimId, command, known }) =>
      this.claims.writer.execute(claimId, command, known),
    );
  }
}

@CommandHandler(DeleteClaim)
class DeleteClaimHandler implements ICommandHandler<DeleteClaim> {
  constructor(private readonly claims: Claims) {}

  async execute({ claimId, version, caller }: DeleteClaim): Promise<Visible> {
    requirePublisher(caller);
    const { writer } = this.claims;
    const known = await writer.load(claimId);
    ownClaim(claimId, known.state, caller);
    const at = this.claims.now().toISOString();
    return {
      position: await this.claims.visible.after([await writer.withdraw(claimId, { at, version }, known)]),
    };
  }
}

/** What a module provides for these commands, beside `VisibleWrites`. */
export const claimHandlers = [
  Claims,
  CreateClaimsHandler,
  CheckClaimsHandler,
  ReviseClaimsHandler,
  RuleOnClaimsHandler,
  DeleteClaimHandler,
];
