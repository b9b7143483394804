import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Position } from '../../kernel/event';
import { programFacts, type Screening } from '../../domain/claims/claim';
import { type ClaimsCaller, requirePublisher } from '../../domain/claims/claim-check';
import { Claims, keyFaults, raiseAll } from './claims.commands';
import { claimFaults as fault, type RefusedItems } from '../../domain/claims/faults';
import { type CheckedClaim, type CheckedRevision } from './posted-claims';
import { type CheckedRuling, rulingIn } from './posted-rulings';
import { revisedClaim, revisionFaults } from './revised-claim';
import { CANNOT_VALIDATE } from '../../domain/claims/statuses';
import { ownClaim, updateFaults } from './update-check';

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
    readonly claims: readonly CheckedClaim[],
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

/** What screening would say of each claim, in their order; raises all faults. Nothing is stored (`docs/decisions.md#c13`). */
export class CheckClaims extends Command<readonly Screening[]> {
  constructor(
    readonly claims: readonly CheckedClaim[],
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

/** Raises the faults of a post whose items are refused, with those of its keys: of claims of a publisher, or its updates. */
export class RefuseClaims extends Command<never> {
  constructor(
    readonly list: 'claims' | 'claimUpdates',
    readonly refused: RefusedItems,
    readonly caller: ClaimsCaller,
  ) {
    super();
  }
}

@CommandHandler(RefuseClaims)
class RefuseClaimsHandler implements ICommandHandler<RefuseClaims> {
  constructor(private readonly claims: Claims) {}

  async execute({ list, refused, caller }: RefuseClaims): Promise<never> {
    requirePublisher(caller);
    return await this.claims.inTurn(caller, refused.found, () => this.claims.refuse(list, refused));
  }
}

@CommandHandler(CreateClaims)
class CreateClaimsHandler implements ICommandHandler<CreateClaims> {
  constructor(private readonly claims: Claims) {}

  async execute(command: CreateClaims): Promise<FiledClaims> {
    const { claims, caller } = command;
    return await this.claims.inTurn(caller, claims, () => this.create(command));
  }

  private async create({ claims, caller }: CreateClaims): Promise<FiledClaims> {
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
    const check = () => this.claims.checked(claims, caller, this.claims.now());
    const checked = await this.claims.inTurn(caller, claims, check);
    return checked.map(({ screening }) => screening);
  }
}

/** Until it is known that an update is allowed. */
const UNSCREENED: Screening = { statusId: CANNOT_VALIDATE };

@CommandHandler(ReviseClaims)
class ReviseClaimsHandler implements ICommandHandler<ReviseClaims> {
  constructor(private readonly claims: Claims) {}

  async execute(command: ReviseClaims): Promise<Visible> {
    const { updates, caller } = command;
    return await this.claims.inTurn(caller, updates, () => this.revise(command));
  }

  private async revise({ updates, caller }: ReviseClaims): Promise<Visible> {
    requirePublisher(caller);
    const { writer, directory } = this.claims;
    const now = this.claims.now();
    const at = now.toISOString();
    const { organisationId: publisherId } = caller;
    const loaded = (await this.claims.loaded(updates)).map((update) => {
      const { state } = update.known;
      const claim = state.is === 'filed' ? revisedClaim(update, state, directory) : update.claim;
      return { ...update, claim, owner: update.claimId, publisherId };
    });
    const checked = await writer.withKeys(loaded, at);
    raiseAll('claimUpdates', checked, (update) => {
      const { claimId, version, claim } = update;
      const change = { do: 'revise', at, version, claim, screening: UNSCREENED } as const;
      const refused = updateFaults(
        { claimId, known: update.known, isRepeated: update.isRepeated },
        change,
        caller,
      );
      return [
        ...(refused.length > 0 ? refused : revisionFaults(update, claim)),
        ...keyFaults('claimUpdates', update),
      ];
    });
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

  async execute(command: RuleOnClaims): Promise<Visible> {
    const { updates, caller } = command;
    return await this.claims.inTurn(caller, updates, () => this.rule(command));
  }

  private async rule({ updates, caller }: RuleOnClaims): Promise<Visible> {
    if (caller.kind !== 'advertiser') throw fault.tokenType();
    const at = this.claims.now().toISOString();
    const loaded = (await this.claims.loaded(updates)).map(({ version, ruling: posted, ...claim }) => {
      const { state } = claim.known;
      const currency = state.is === 'filed' ? state.currencyId : undefined;
      const { ruling, faults } = rulingIn(currency ?? '', posted);
      return { ...claim, command: { do: 'rule', at, version, ruling } as const, faults };
    });
    raiseAll('claimUpdates', loaded, ({ command, faults, ...claim }) => {
      const others = updateFaults(claim, command, caller);
      return others.length > 0 ? others : faults;
    });
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
  RefuseClaimsHandler,
  ReviseClaimsHandler,
  RuleOnClaimsHandler,
  DeleteClaimHandler,
];
