import { Injectable } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';

import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { VisibleWrites } from '../../http/visible-writes';
import { execute, load, type StateAt } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { FairQueue } from '../../runtime/fair-queue';
import { type Fault, Faults, faultsIn } from '../../kernel/fault';
import { inParallel, KeyedMutex } from '../../runtime/concurrency';
import { pacer } from '../../runtime/slices';
import {
  type NamedTransaction,
  onlyOne,
  reportedTransaction,
  transactionsWith,
} from '../../domain/transactions/find-transaction';
import { checkReport, checkTransition, type Transition, transitionCommand } from './checks';
import { stateIdOf, type StateId } from '../../domain/transactions/states';
import {
  type TransactionCommand,
  transactionDecider,
  type TransactionEvent,
  type TransactionState,
} from '../../domain/transactions/transaction';
import { legacyIdOf } from '../../domain/transactions/transaction-id';

type Done = 'created' | 'known' | 'moved' | 'unchanged';

export interface Recorded {
  readonly transactionId: string;
  readonly legacyTransactionId: string;
  readonly messageTypeId: StateId;
  readonly outcome: Done;
}

type RecordedAt = Recorded & { readonly position?: Position | undefined };

/** One result for each item, in their order. */
export interface CommandResults {
  readonly results: readonly (Recorded | { readonly faults: readonly Fault[] })[];
  /** The position from which lists include all of them. */
  readonly position: Position;
}

/** What was posted, unchecked: each item succeeds or fails on its own. */
abstract class PostedTransactions extends Command<CommandResults> {
  constructor(
    readonly posted: readonly unknown[],
    readonly caller: Pick<Caller, 'organisationId' | 'kind'>,
  ) {
    super();
  }
}

/** Reports transactions (`docs/decisions.md#t2`). */
export class ReportTransactions extends PostedTransactions {}

/** Requests transitions (`docs/decisions.md#t5`). */
export class MoveTransactions extends PostedTransactions {}

/** Streams written at a time: enough for the log to share its commits. */
const AT_ONCE = 256;

/** Further ones, for callers that have none. */
const RESERVED = 32;

@Injectable()
export class Transactions {
  /** Several items of one list may concern one transaction: they are executed in their order. */
  readonly mutex = new KeyedMutex<string>();
  /** Each transaction in memory may have some 200 KB: those of all lists are bounded, not those of each. */
  private readonly inMemory = new FairQueue({
    atOnce: AT_ONCE + RESERVED,
    perClient: AT_ONCE,
    reserved: RESERVED,
  });

  constructor(
    private readonly clock: Clock,
    readonly log: EventLog,
    private readonly visible: VisibleWrites,
  ) {}

  async inParallel<Item>(
    { organisationId }: MoveTransactions['caller'],
    items: readonly Item[],
    work: (item: Item, at: number) => Promise<void>,
  ): Promise<void> {
    const client = String(organisationId);
    await inParallel(items.entries(), AT_ONCE, ([at, item]) =>
      this.inMemory.run(client, () => work(item, at)),
    );
  }

  /** Calls `one` for each item, in parallel, and waits until lists include what was written. */
  async each<Item>(
    caller: MoveTransactions['caller'],
    posted: readonly Item[],
    one: (item: Item) => Promise<RecordedAt>,
  ): Promise<CommandResults> {
    const results: CommandResults['results'][number][] = [];
    const written: RecordedAt[] = [];
    const pace = pacer();
    await this.inParallel(caller, posted, async (item, at) => {
      const pause = pace();
      if (pause !== undefined) await pause;
      try {
        const recorded = await one(item);
        results[at] = recorded;
        written.push(recorded);
      } catch (error) {
        results[at] = { faults: faultsIn(error) };
      }
    });
    return { results, position: await this.visible.after(written) };
  }

  async execute(
    transactionId: string,
    command: TransactionCommand,
    known?: StateAt<TransactionState>,
  ): Promise<RecordedAt> {
    const { state, events, position } = await execute<TransactionCommand, TransactionState, TransactionEvent>(
      this.clock,
      this.log,
      transactionDecider,
      transactionId,
      command,
      known,
    );
    if (state.name === 'Unknown') throw fault.unknownTransaction();
    const [done, repeated] =
      command.do === 'report' ? (['created', 'known'] as const) : (['moved', 'unchanged'] as const);
    return {
      transactionId,
      legacyTransactionId: legacyIdOf(state.transaction),
      messageTypeId: stateIdOf(state.name),
      outcome: events.length > 0 ? done : repeated,
      position,
    };
  }
}

@CommandHandler(ReportTransactions)
export class ReportTransactionsHandler implements ICommandHandler<ReportTransactions> {
  constructor(
    private readonly transactions: Transactions,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  async execute({ posted, caller }: ReportTransactions): Promise<CommandResults> {
    const { directory } = this.follower;
    const now = this.clock.now();
    return await this.transactions.each(caller, posted, (item) => {
      const command = checkReport(item, { directory, caller, now });
      const { transaction } = command;
      return this.transactions.mutex.runExclusive(legacyIdOf(transaction), async () => {
        const { transactionId, known } = await reportedTransaction(this.transactions.log, transaction);
        const at = this.clock.now().toISOString();
        return await this.transactions.execute(transactionId, { ...command, at }, known);
      });
    });
  }
}

@CommandHandler(MoveTransactions)
export class MoveTransactionsHandler implements ICommandHandler<MoveTransactions> {
  constructor(
    private readonly transactions: Transactions,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  async execute({ posted, caller }: MoveTransactions): Promise<CommandResults> {
    // All are found before the first one is executed, so that those for one transaction keep their order.
    const found: (TransitionOf | { readonly faults: readonly Fault[] })[] = [];
    const named: NamedBefore = new Map();
    await this.transactions.inParallel(caller, posted, async (item, index) => {
      found[index] = await this.find(item, caller, named).catch((error: unknown) => ({
        faults: faultsIn(error),
      }));
    });
    return await this.transactions.each(caller, found, async (item) => {
      if ('faults' in item) throw new Faults(item.faults);
      return await this.transactions.mutex.runExclusive(item.transactionId, () => this.move(item, caller));
    });
  }

  private async find(
    item: unknown,
    caller: MoveTransactions['caller'],
    before: NamedBefore,
  ): Promise<TransitionOf> {
    const { programs } = this.follower.directory;
    const { log } = this.transactions;
    const { request, transactionId, legacyTransactionId = '' } = checkTransition(item, caller, programs);
    if (transactionId !== undefined) return { request, transactionId };
    const named = before.get(legacyTransactionId) ?? transactionsWith(log, programs, legacyTransactionId);
    before.set(legacyTransactionId, named);
    const own = (await named).filter(({ advertiserId }) => mayMove(caller, advertiserId));
    const only = onlyOne(legacyTransactionId, own);
    if (only === undefined) throw notFound(legacyTransactionId);
    return { request, transactionId: only.transactionId };
  }

  private async move(
    { transactionId, request }: TransitionOf,
    caller: MoveTransactions['caller'],
  ): Promise<RecordedAt> {
    const known = await load(this.transactions.log, transactionDecider, transactionId);
    const { state } = known;
    if (state.name === 'Unknown' || !mayMove(caller, state.transaction.advertiserId))
      throw notFound(transactionId);
    const at = this.clock.now().toISOString();
    const command = transitionCommand(request, state, this.follower.directory, at);
    return await this.transactions.execute(transactionId, command, known);
  }
}

/** Transactions by the legacy ids of a list, which may repeat them. */
type NamedBefore = Map<string, Promise<readonly NamedTransaction[]>>;

type TransitionOf = Pick<Transition, 'request'> & { readonly transactionId: string };

function notFound(id: string): Fault {
  return fault.unknownTransaction(`${id}: your programs have no such transaction`);
}

function mayMove({ kind, organisationId }: MoveTransactions['caller'], advertiserId: number): boolean {
  return kind === 'operator' || organisationId === advertiserId;
}
