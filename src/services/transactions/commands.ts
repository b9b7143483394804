import { Injectable } from '@nestjs/common';
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
import { inParallel, KeyedMutex, pacer } from '../../runtime/concurrency';
import {
  legacyIdOf,
  type NamedTransaction,
  onlyOne,
  reportedTransaction,
  transactionsWith,
} from '../../domain/transactions/transaction-id';
import { checkReport, checkTransition, type CheckedTransition, transitionCommand } from './checks';
import { stateIdOf, type StateId } from '../../domain/transactions/states';
import {
  type TransactionCommand,
  transactionDecider,
  type TransactionEvent,
  type TransactionState,
} from '../../domain/transactions/transaction';

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

type TransactionCaller = Pick<Caller, 'organisationId' | 'kind'>;

/** Streams written at a time: enough for the log to share its commits. */
const AT_ONCE = 256;

/** Further ones, for callers that have none. */
const RESERVED = 32;

/**
 * What may be done with transactions. What was posted is unchecked: each item succeeds or fails on its own (ADR 18).
 */
@Injectable()
export class TransactionCommands {
  /** Several items of one list may concern one transaction: they are executed in their order. */
  private readonly mutex = new KeyedMutex<string>();
  /** Each transaction in memory may have some 200 KB: those of all lists are bounded, not those of each. */
  private readonly inMemory = new FairQueue({
    atOnce: AT_ONCE + RESERVED,
    perClient: AT_ONCE,
    reserved: RESERVED,
  });

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly visible: VisibleWrites,
    private readonly follower: FollowedDirectory,
  ) {}

  /** Reports transactions (`docs/decisions.md#t2`). */
  async report(posted: readonly unknown[], caller: TransactionCaller): Promise<CommandResults> {
    const { directory } = this.follower;
    const now = this.clock.now();
    return await this.each(caller, posted, (item) => {
      const command = checkReport(item, { directory, caller, now });
      const { transaction } = command;
      return this.mutex.runExclusive(legacyIdOf(transaction), async () => {
        const { transactionId, known } = await reportedTransaction(this.log, transaction);
        const at = this.clock.now().toISOString();
        return await this.execute(transactionId, { ...command, at }, known);
      });
    });
  }

  /** Requests transitions (`docs/decisions.md#t5`). */
  async transition(posted: readonly unknown[], caller: TransactionCaller): Promise<CommandResults> {
    // All are found before the first one is executed, so that those for one transaction keep their order.
    const found: (TransitionOf | { readonly faults: readonly Fault[] })[] = [];
    const named: NamedBefore = new Map();
    await this.inParallel(caller, posted, async (item, index) => {
      found[index] = await this.find(item, caller, named).catch((error: unknown) => ({
        faults: faultsIn(error),
      }));
    });
    return await this.each(caller, found, async (item) => {
      if ('faults' in item) throw new Faults(item.faults);
      return await this.mutex.runExclusive(item.transactionId, () => this.transitionOne(item, caller));
    });
  }

  private async inParallel<Item>(
    { organisationId }: TransactionCaller,
    items: readonly Item[],
    work: (item: Item, at: number) => Promise<void>,
  ): Promise<void> {
    const client = String(organisationId);
    await inParallel(items.entries(), AT_ONCE, ([at, item]) =>
      this.inMemory.run(client, () => work(item, at)),
    );
  }

  /** Calls `one` for each item, in parallel, and waits until lists include what was written. */
  private async each<Item>(
    caller: TransactionCaller,
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

  private async find(item: unknown, caller: TransactionCaller, before: NamedBefore): Promise<TransitionOf> {
    const { programs } = this.follower.directory;
    const { request, transactionId, legacyTransactionId = '' } = checkTransition(item, caller, programs);
    if (transactionId !== undefined) return { request, transactionId };
    const named =
      before.get(legacyTransactionId) ?? transactionsWith(this.log, programs, legacyTransactionId);
    before.set(legacyTransactionId, named);
    const own = (await named).filter(({ advertiserId }) => mayChange(caller, advertiserId));
    const only = onlyOne(legacyTransactionId, own);
    if (only === undefined) throw notFound(legacyTransactionId);
    return { request, transactionId: only.transactionId };
  }

  private async transitionOne(
    { transactionId, request }: TransitionOf,
    caller: TransactionCaller,
  ): Promise<RecordedAt> {
    const known = await load(this.log, transactionDecider, transactionId);
    const { state } = known;
    if (state.name === 'Unknown' || !mayChange(caller, state.transaction.advertiserId))
      throw notFound(transactionId);
    const at = this.clock.now().toISOString();
    const command = transitionCommand(request, state, this.follower.directory, at);
    return await this.execute(transactionId, command, known);
  }
}

/** Transactions by the legacy ids of a list, which may repeat them. */
type NamedBefore = Map<string, Promise<readonly NamedTransaction[]>>;

type TransitionOf = Pick<CheckedTransition, 'request'> & { readonly transactionId: string };

function notFound(id: string): Fault {
  return fault.unknownTransaction(`${id}: your programs have no such transaction`);
}

function mayChange({ kind, organisationId }: TransactionCaller, advertiserId: number): boolean {
  return kind === 'operator' || organisationId === advertiserId;
}
