import { appendFacts } from '../network/append-facts';
import { type FollowedDirectory } from '../network/follower';
import { type Clock } from '../http/clock';
import { type VisibleWrites } from '../http/visible-writes';
import { type EventLog } from '../kernel/event-log';
import { planNetwork } from '../operations/import-network';
import {
  MoveTransactions,
  MoveTransactionsHandler,
  type Recorded,
  ReportTransactions,
  ReportTransactionsHandler,
  type Results,
  Transactions,
} from '../services/transactions/commands';
import { DEMO, demoNetwork } from './network';
import { type DemoCommands } from './transactions';

interface Parts {
  readonly follower: FollowedDirectory;
  readonly visible: VisibleWrites;
  readonly clock: Clock;
  /** Sets the clock. */
  readonly setTime: (at: Date) => void;
}

const OPERATOR = { organisationId: DEMO.operator, kind: 'operator' } as const;

/** Executes what the demo does with transactions. */
export class TransactionCommands implements DemoCommands {
  private readonly transactions: Transactions;
  private readonly reporting: ReportTransactionsHandler;
  private readonly moving: MoveTransactionsHandler;

  constructor(
    private readonly log: EventLog,
    private readonly parts: Parts,
  ) {
    const { follower, visible, clock } = parts;
    this.transactions = new Transactions(log, visible);
    this.reporting = new ReportTransactionsHandler(this.transactions, follower, clock);
    this.moving = new MoveTransactionsHandler(this.transactions, follower, clock);
  }

  async setStatus(programId: number, status: 'paused' | 'closed', at: Date): Promise<void> {
    const program = demoNetwork().programs.find(({ id }) => id === programId);
    const changed = { programs: [{ ...program, status }] };
    const { follower } = this.parts;
    const { facts } = planNetwork(follower.directory, changed, { at: at.toISOString() });
    const { position } = await appendFacts(this.log, facts, follower.directory);
    await follower.reached(position);
  }

  async report(posted: readonly object[], at: Date): Promise<readonly Recorded[]> {
    this.parts.setTime(at);
    return recordedIn(await this.reporting.execute(new ReportTransactions(posted, OPERATOR)));
  }

  async move(posted: readonly object[], at: Date): Promise<readonly Recorded[]> {
    this.parts.setTime(at);
    return recordedIn(await this.moving.execute(new MoveTransactions(posted, OPERATOR)));
  }

  async endPeriods(transactionIds: readonly string[], at: Date): Promise<readonly Recorded[]> {
    const command = { do: 'endPeriod', at: at.toISOString() } as const;
    return await Promise.all(transactionIds.map((id) => this.transactions.execute(id, command)));
  }
}

function recordedIn({ results }: Results): readonly Recorded[] {
  return results.map((result) => {
    if ('faults' in result)
      throw new Error(`a demo transaction was refused: ${result.faults[0]?.message ?? ''}`);
    return result;
  });
}
