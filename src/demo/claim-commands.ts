import { toTrackedOrder } from '../../projections/tracked-orders';
import { type ClaimContent, type ClaimState, programFacts, type Ruling } from '../domain/claims/claim';
import { originOf } from '../domain/claims/claim-check';
import { ClaimWriter } from '../domain/claims/claim-writer';
import { screen } from '../domain/claims/screening';
import { track } from '../processes/track-order';
import { type FollowedDirectory } from '../network/follower';
import { type StateAt, toDomainEvent } from '../kernel/decider';
import { START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { claimedTransaction, trackClaimedOrder } from '../processes/claimed-order';
import { storedAfter, type StoredTransaction } from '../domain/transactions/stored-transaction';
import { TRANSACTION, type TransactionEvent } from '../domain/transactions/transaction';
import { type DemoClaimCommands, type KnownOrder } from './claims';

/** Executes what the demo does with claims. There are no read models yet, so claims are screened against the log. */
export class ClaimCommands implements DemoClaimCommands {
  private readonly writer: ClaimWriter;

  constructor(
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
  ) {
    this.writer = new ClaimWriter(log);
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

  async file(publisherId: number, claims: readonly ClaimContent[], at: Date): Promise<readonly number[]> {
    const { directory } = this.follower;
    const filings = [];
    for (const claim of claims) {
      const origin = originOf(claim, publisherId, directory);
      filings.push({ origin, claim, screening: await this.screened(publisherId, claim, at) });
    }
    return (await this.writer.create(filings, at.toISOString())).ids;
  }

  async revise(claimId: number, claim: ClaimContent, at: Date): Promise<void> {
    const { known, version, publisherId } = await this.filed(claimId);
    const program = programFacts(originOf(claim, publisherId, this.follower.directory));
    const screening = await this.screened(publisherId, claim, at);
    const change = { at: at.toISOString(), version, claim, screening, ...program };
    await this.writer.revise(claimId, change, known);
  }

  async rule(claimId: number, ruling: Ruling, at: Date): Promise<void> {
    const { version } = await this.filed(claimId);
    await this.writer.execute(claimId, { do: 'rule', at: at.toISOString(), version, ruling });
    await this.track(claimId, at);
  }

  async autoApprove(claimId: number, at: Date): Promise<void> {
    await this.writer.execute(claimId, { do: 'autoApprove', at: at.toISOString() });
    await this.track(claimId, at);
  }

  private async screened(publisherId: number, claim: ClaimContent, now: Date) {
    const { directory } = this.follower;
    const orders = await this.ordersOf(directory.program(claim.programId)?.organisationId, claim.orderNumber);
    return screen({ publisherId, claim }, { directory, orders, now });
  }

  private async ordersOf(advertiserId: number | undefined, number: string): Promise<readonly KnownOrder[]> {
    const { directory } = this.follower;
    return (await this.orders()).filter(
      ({ orderNumber, programId }) =>
        orderNumber === number && directory.program(programId)?.organisationId === advertiserId,
    );
  }

  private async track(claimId: number, at: Date): Promise<void> {
    const parts = {
      ordersNow: (advertiserId: number, number: string) => this.ordersOf(advertiserId, number),
      orderOf: claimedTransaction,
      track: trackClaimedOrder,
    };
    const { directory } = this.follower;
    await track(claimId, parts, { log: this.log, directory, at: at.toISOString(), since: START });
  }

  private async filed(claimId: number) {
    const known: StateAt<ClaimState> = await this.writer.load(claimId);
    if (known.state.is !== 'filed') throw new Error(`demo claim ${claimId} is ${known.state.is}`);
    const { version, publisherId } = known.state;
    return { known, version, publisherId };
  }
}
