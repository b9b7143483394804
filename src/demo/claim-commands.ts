import { toTrackedOrder } from '../../projections/tracked-orders';
import { claimDecider } from '../domain/claims/claim';
import { storedAfter, type StoredTransaction } from '../domain/transactions/stored-transaction';
import { TRANSACTION, type TransactionEvent } from '../domain/transactions/transaction';
import { type Clock } from '../http/clock';
import { type VisibleWrites } from '../http/visible-writes';
import { execute, toDomainEvent } from '../kernel/decider';
import { START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type FollowedDirectory } from '../network/follower';
import { OrderSearch } from '../processes/order-search';
import { track } from '../processes/track-order';
import { type PostedList } from '../services/claims/posted-list';
import {
  Claims,
  CreateClaims,
  CreateClaimsHandler,
  ReviseClaims,
  ReviseClaimsHandler,
  RuleOnClaims,
  RuleOnClaimsHandler,
} from '../services/claims/commands';
import { rejectionOf, reviewClaim } from '../services/claims/review';
import { type DemoClaimCommands, type KnownOrder, type PostedClaimUpdate } from './claims';

interface Parts {
  readonly follower: FollowedDirectory;
  readonly visible: VisibleWrites;
  readonly clock: Clock;
  /** Sets the clock. */
  readonly setTime: (at: Date) => void;
}

/** Executes what the demo does with claims. There are no read models yet: orders are looked up in the log. */
export class ClaimCommands implements DemoClaimCommands {
  private readonly search: OrderSearch;
  private readonly creating: CreateClaimsHandler;
  private readonly revising: ReviseClaimsHandler;
  private readonly ruling: RuleOnClaimsHandler;

  constructor(
    private readonly log: EventLog,
    private readonly parts: Parts,
  ) {
    const { follower, clock, visible } = parts;
    this.search = new OrderSearch(async ({ advertiserId, orderNumbers }) => {
      const orders = await this.orders();
      const own = orders.filter(
        ({ programId }) => follower.directory.program(programId)?.organisationId === advertiserId,
      );
      return new Map(orderNumbers.map((number) => [number, own.filter((one) => one.orderNumber === number)]));
    });
    const claims = new Claims(log, this.search, follower, clock, visible);
    this.creating = new CreateClaimsHandler(claims);
    this.revising = new ReviseClaimsHandler(claims);
    this.ruling = new RuleOnClaimsHandler(claims);
  }

  async orders(): Promise<readonly KnownOrder[]> {
    const stored = new Map<string, StoredTransaction>();
    for await (const { events } of this.log.readAll({ after: START, prefixes: [`${TRANSACTION}-`] }))
      for (const event of events) {
        const id = event.stream.slice(TRANSACTION.length + 1);
        stored.set(id, storedAfter(stored.get(id), toDomainEvent(event) as TransactionEvent, event.revision));
      }
    return [...stored].map(([id, one]) => {
      const { orderNumber, programId } = one.transaction;
      return { ...toTrackedOrder(id, one), orderNumber, programId };
    });
  }

  async file(organisationId: number, claims: readonly object[], at: Date): Promise<readonly number[]> {
    this.parts.setTime(at);
    const caller = { organisationId, kind: 'publisher' } as const;
    return (await this.creating.execute(new CreateClaims(listOf('claims', claims), caller))).ids;
  }

  async revise(organisationId: number, update: PostedClaimUpdate, at: Date): Promise<void> {
    this.parts.setTime(at);
    const caller = { organisationId, kind: 'publisher' } as const;
    await this.revising.execute(new ReviseClaims(listOf('claimUpdates', [update]), caller));
  }

  async rule(organisationId: number, update: PostedClaimUpdate, at: Date): Promise<void> {
    this.parts.setTime(at);
    const caller = { organisationId, kind: 'advertiser' } as const;
    await this.ruling.execute(new RuleOnClaims(listOf('claimUpdates', [update]), caller));
    await this.track(update.claimId, at);
  }

  async reject(claimId: number, statusId: number, at: Date): Promise<void> {
    const { directory } = this.parts.follower;
    const request = { claimId, ...rejectionOf(statusId, undefined) };
    await reviewClaim(request, { log: this.log, search: this.search, directory, now: at });
  }

  async autoApprove(claimId: number, at: Date): Promise<void> {
    await execute(this.log, claimDecider, claimId, { do: 'autoApprove', at: at.toISOString() });
    await this.track(claimId, at);
  }

  private async track(claimId: number, at: Date): Promise<void> {
    const ordersNow = async (advertiserId: number, orderNumber: string) => {
      const found = await this.search.find(advertiserId, new Set([orderNumber]));
      return found === 'unavailable' ? [] : (found.get(orderNumber) ?? []);
    };
    const { directory } = this.parts.follower;
    await track(claimId, ordersNow, { log: this.log, directory, at: at.toISOString(), since: START });
  }
}

function listOf(name: PostedList['name'], items: readonly object[]): PostedList {
  return { name, items, format: 'json' };
}
